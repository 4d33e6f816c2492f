"""Build the curves of one snapshot from its series: slices -> joined source -> preview -> points of other sources.

Each step is cached and extended when points are added; see store.cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.model.equal import Compared, agree, compare_series
from tuimon.store.arrays import distinct
from tuimon.store.cache import CachedCurve, KnownComparison, ViewCache
from tuimon.store.curve import Curve, Disagreement, same_time
from tuimon.store.fill import continued, pieces_ahead
from tuimon.store.index import TEXT, MetricEntry, MetricSource, SourceOrder
from tuimon.store.join import JoinedCurve, join, superseded_points
from tuimon.store.preview import previewed
from tuimon.store.segments import SeriesSlice, arrange, has_valid, slice_series, training_begin
from tuimon.store.streams import SeriesLengths, StreamView

_COMPLETE = 0.9
"""A source with fewer points than this part of those of another one is drawn only if that is text for people."""
_SHORT, _COMPARED_AGAIN = 1024, 8
"""Points up to which sources are compared whenever they have grown; longer ones once they have an eighth more."""

RANK = re.compile(r"(?<![a-z])rank[-_.]?\d+|(?:^|/)host [^/]+$", re.IGNORECASE)
"""The number of a rank in the name of a file or directory, or a host that wrote event files (reader/grouping.py)."""


class FilePart(Struct, frozen=True):
    """The points of a metric in one of several files of a source."""

    first_step: int
    last_step: int
    superseded: int
    """Number of steps whose points are not drawn; 0 if they were not counted."""


class CurveBuilder:
    """Builds the curves of one snapshot of a run. Thread-safe.

    Must not reference a Run: cached curves reference the builder and would keep the run alive.
    """

    def __init__(
        self,
        streams: Sequence[StreamView],
        sources: Mapping[str, SourceOrder],
        table: SeriesLengths,
        cache: ViewCache,
        origin: float,
    ) -> None:
        """sources: order of the streams of every source. origin: wall time at which the run begins, NaN if unknown."""
        self._streams = streams
        self._sources = sources
        self._table = table
        self._cache = cache
        self._origin = origin
        self._known_slices: dict[MetricSource, tuple[SeriesSlice, ...]] = {}

    @cached_property
    def _begins(self) -> list[int | None]:
        """First step of the training in each stream."""
        return [training_begin(stream, self._table.length) for stream in self._streams]

    def ranked(self, entry: MetricEntry) -> list[MetricSource]:
        """Return the sources of a metric that have points, best first."""
        sources = [source for source in entry.sources.values() if source.previews or self.point_count(source)]
        if len(sources) < 2:
            return sources
        if sum(source.rank > TEXT for source in sources) < 2:
            return sorted(sources, key=lambda source: (-source.rank, -self.point_count(source)))
        most = max(self.finite_count(source) for source in sources if source.rank > TEXT)
        return sorted(sources, key=lambda source: self._preference(source, most))

    def _preference(self, source: MetricSource, most: int) -> tuple[bool, bool, bool, int, int]:
        """Return a key that sorts sources: text for people last, complete ones first, exact values, the better format.

        Values are exact unless all are of single precision, as in event files. Several files are kept first, because
        they know what later attempts have superseded. Only finite points count: a table may write NaN for an empty
        cell. most: points of the source with most of them.
        """
        count = self.finite_count(source)
        is_single = len(source.series) == 1 and source.series[0][1].is_single(self.point_count(source))
        return source.rank <= TEXT, count < _COMPLETE * most, is_single, -source.rank, -count

    def point_count(self, source: MetricSource) -> int:
        """Return the number of points as logged, as far as they have been read."""
        return sum(self._table.length(series.id) for _, series in source.series)

    def finite_count(self, source: MetricSource) -> int:
        """Return the number of finite points as logged, in time proportional to the points that are new."""
        return sum(series.count_finite(self._table.length(series.id)) for _, series in source.series)

    def is_finite(self, source: MetricSource) -> bool:
        """Return whether all values of the source are finite."""
        return self.finite_count(source) == self.point_count(source)

    def has_curve(self, entry: MetricEntry) -> bool:
        """Return whether the metric has a point that is not void."""
        return any(source.previews or any(map(has_valid, self._slices(source))) for source in self.ranked(entry))

    def best(self, ranked: Sequence[MetricSource]) -> Curve | None:
        """Return the curve of the best source that has points, filled with points of the others; None if none has."""
        for source in ranked:
            if self._joined(source).length:
                order = _first(source, ranked)
                with self._cache.lock:
                    curve = self._plain(order)
                    return self._filled(order, curve) if len(order) > 1 else curve
        return None

    def from_source(self, source: MetricSource, ranked: Sequence[MetricSource]) -> Curve:
        """Return the metric as one source holds it."""
        with self._cache.lock:
            return self._plain(_first(source, ranked))

    def files(self, source: MetricSource, count_superseded: bool) -> list[tuple[StreamView, FilePart]]:
        """Return the files of a source that have points of its metric, in the order in which they began.

        [] if there is one file, or if several were written at the same time. count_superseded: builds the curve anew.
        """
        slices = self._slices(source)
        if len(slices) < 2 or len({part.writer for part in slices}) < len(slices):
            return []
        stream_of = {id(series): self._streams[position] for position, series in source.series}
        hidden = arrange(slices).hidden if count_superseded else np.empty(0, np.int64)
        ends = np.cumsum([0, *(part.length for part in slices)])
        rows = (hidden[(hidden >= begin) & (hidden < end)] - begin for begin, end in pairwise(ends.tolist()))
        return [
            (
                stream_of[id(part.series)],
                FilePart(int(part.steps.min()), int(part.steps.max()), len(distinct(part.steps[superseded]))),
            )
            for part, superseded in zip(slices, rows, strict=True)
        ]

    # Slices of series

    def _slices(self, source: MetricSource) -> tuple[SeriesSlice, ...]:
        """Return the slices of a source that have points, in the order in which its streams began."""
        known = self._known_slices.get(source)
        if known is None:
            slices = (self._slice(source, index) for index in range(len(source.series)))
            known = self._known_slices[source] = tuple(part for part in slices if part.length)
        return known

    def _slice(self, source: MetricSource, index: int) -> SeriesSlice:
        position, series = source.series[index]
        place = self._sources[source.source][position]
        length, stream = self._table.length(series.id), self._streams[position]
        begin = self._begins[position] if place.number and stream.point_count > length else None
        return slice_series(series, length, stream, place.writer, place.purge_after, begin)

    # Points of one source

    def _joined(self, source: MetricSource) -> JoinedCurve:
        """Return the points of a source as one curve: the preview of its last stream until that has been read."""
        slices = self._slices(source)
        with self._cache.lock:
            cached = self._cache.of(source)
            if source.previews and self._order(source.previews[-1][0]) >= self._last_read(source):
                cached.previewed = previewed(source.previews[-1][1], cached.previewed)
                return cached.previewed
            known, cached.previewed = cached.joined, None
            joined = join(slices, known, self._cache.shared[source.source])
            if known is None or not known.is_newer(slices):
                cached.joined = joined
            return joined

    def _last_read(self, source: MetricSource) -> tuple[int, int]:
        """Return the order of the last stream of a source that has a point in the history."""
        read = (self._order(position) for position, series in source.series if self._table.length(series.id))
        return max(read, default=(-1, -1))

    def _order(self, position: int) -> tuple[int, int]:
        return self._streams[position].info.order, position

    def _plain(self, order: tuple[MetricSource, ...]) -> Curve:
        """Return the curve of the first source of `order`, which lists all sources. Call with the lock held."""
        source = order[0]
        joined, cached = self._joined(source), self._cache.of(source)
        sources = tuple(item.source for item in order)
        inputs = (joined, sources, *map(self.point_count, order[1:]))
        known = cached.curve
        if known is not None and known.inputs == inputs and same_time(known.curve.origin, self._origin):
            return known.curve
        curve = Curve.from_arrays(
            source.name,
            *joined.points,
            index=joined.index,
            restarts=joined.restarts,
            superseded=joined.superseded,
            sources=sources,
            origin=self._origin,
            read_superseded=partial(superseded_points, self._slices(source)) if joined.superseded else None,
            superseded_curve=joined.superseded_curve,
        )
        cached.curve = CachedCurve(inputs, curve)
        return curve

    # Points of several sources

    def _filled(self, order: tuple[MetricSource, ...], curve: Curve) -> Curve:
        """Return the curve with what other sources add to it, or the curve itself. Call with the lock held."""
        source, *others = order
        best, cached = self._joined(source), self._cache.of(source)
        joined = ((self._joined(other), partial(self._compared, source, other)) for other in others)
        ahead = pieces_ahead(best, (pair for pair in joined if pair[0].length))
        if not ahead:
            return curve
        inputs = (curve, *((piece.joined.columns, piece.start, piece.stop) for piece in ahead))
        if cached.filled is None or cached.filled.inputs != inputs:
            points, restarts = continued(best, ahead)
            filled = Curve.from_arrays(
                curve.metric,
                *points,
                restarts=restarts,
                superseded=curve.superseded,
                sources=curve.sources,
                origin=curve.origin,
                read_superseded=curve.superseded_points if curve.superseded else None,
                filled=len(points[0]) - best.length,
                superseded_curve=best.superseded_curve,
            )
            cached.filled = CachedCurve(inputs, filled)
        return cached.filled.curve

    def _compared(self, best: MetricSource, other: MetricSource) -> Compared:
        """Return the comparison of two sources, of long ones that of fewer points. Call with the lock held."""
        ours, theirs, known = self._joined(best), self._joined(other), self._cache.of(best).comparisons
        columns, points = (ours.columns, theirs.columns), ours.length + theirs.length
        last = known.get(other.key)
        most = points // _COMPARED_AGAIN if points > _SHORT else 0
        if last is not None and last.columns == columns and 0 <= points - last.points <= most:
            return last.result
        slices = self._slices(best)
        result = compare_series(
            *ours.points[:2],
            *theirs.points[:2],
            _is_text(best, other),
            (lambda: superseded_points(slices)[:2]) if ours.superseded else None,
        ).without_points
        known[other.key] = KnownComparison(columns, points, result)
        return result

    def disagreements(self, ranked: Sequence[MetricSource]) -> Iterator[Disagreement]:
        """Yield the first disagreement of the best source that has points with each other one, the better first."""
        with self._cache.lock:
            best, *others = [source for source in ranked if self._joined(source).length] or ranked[:1]
            for other in others:
                if best.rank == other.rank <= TEXT:
                    continue  # two console texts are two attempts, or two workers
                if RANK.search(best.source) or RANK.search(other.source):
                    continue  # each rank logs the values of its own batch
                compared, text = self._compared(best, other), _is_text(best, other)
                axes = self._joined(best), self._joined(other), compared, text
                if compared.first is not None and not _on_another_axis(*axes):
                    yield Disagreement(*compared.first, other.source, compared.differing)


def _first(source: MetricSource, ranked: Sequence[MetricSource]) -> tuple[MetricSource, ...]:
    return (source, *(other for other in ranked if other is not source))


def _is_text(best: MetricSource, other: MetricSource) -> bool:
    """Return whether either source is text for people."""
    return min(best.rank, other.rank) <= TEXT


def _on_another_axis(ours: JoinedCurve, theirs: JoinedCurve, compared: Compared, text: bool) -> bool:
    """Return whether two sources are successive attempts, or only count steps differently.

    They count differently if most steps differ and both begin with the same values, but at other steps.
    """
    if theirs.columns.wall_times[theirs.length - 1] < ours.columns.wall_times[0]:
        return True
    if compared.differing * 2 <= compared.common:
        return False
    if min(ours.length, theirs.length) < 2 or np.array_equal(ours.columns.steps[:2], theirs.columns.steps[:2]):
        return False
    first = ours.columns.values[:2]
    return bool(first[0] != first[1]) and bool(agree(first, theirs.columns.values[:2], text).all())
