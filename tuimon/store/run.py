"""A run as a snapshot knows it. Everything is worked out when asked for, and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from heapq import merge
from typing import Any

import numpy as np
import numpy.typing as npt

from tuimon.model.events import RunFound, StreamFound, StreamStatus
from tuimon.model.points import Fact
from tuimon.store.curve import Curve
from tuimon.store.index import Candidate, Entry, MergeKey, RunIndex, SourceOrder, build_index, order_sources, part
from tuimon.store.join import hidden, join
from tuimon.store.records import StreamView, ViewCache
from tuimon.store.segments import Part


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One row a series: what the owner has published."""

    lengths: npt.NDArray[np.int64]
    last_steps: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StreamState:
    """A stream and how it stands."""

    found: StreamFound
    status: StreamStatus | None
    """None until the reader has told."""
    point_count: int
    """Points as logged, those that no curve shows among them."""


class Run:
    """What one training job wrote, frozen. Any thread may read it; what it works out is shared with later snapshots."""

    def __init__(
        self,
        found: RunFound,
        version: int,
        structure: int,
        streams: tuple[StreamView, ...],
        table: Table,
        arrived: int,
        cache: ViewCache,
        merge_key: MergeKey,
    ) -> None:
        self.id = found.run
        self.name = found.name
        self.path = found.path
        self.version = version
        """Differs from the last snapshot's only when something of this run has changed."""
        self._structure = structure
        self._streams = streams
        self._table = table
        self._arrived = arrived  # facts from this number on are not ours yet
        self._cache = cache
        self._merge_key = merge_key
        self._curves: dict[tuple[str, str], Curve] = {}

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.name!r} version {self.version}>"

    # Streams

    @cached_property
    def streams(self) -> tuple[StreamState, ...]:
        """In the order found."""
        return tuple(StreamState(view.found, view.status, view.point_count) for view in self._streams)

    @property
    def point_count(self) -> int:
        """Points as logged, over all streams."""
        return sum(view.point_count for view in self._streams)

    @cached_property
    def first_wall_time(self) -> float:
        """Seconds since the epoch; NaN unknown. So are the next two."""
        return min(_known(view.first_wall_time for view in self._streams), default=float("nan"))

    @cached_property
    def last_wall_time(self) -> float:
        """Of the newest point."""
        return max(_known(view.last_wall_time for view in self._streams), default=float("nan"))

    @cached_property
    def last_change(self) -> float:
        """When the newest of its files was last changed."""
        return max(_known(view.status.modified for view in self._streams if view.status), default=float("nan"))

    @cached_property
    def last_step(self) -> int | None:
        """Where the training stands: the largest last step among the metrics that are logged often.

        Often: at least a quarter as many points as the most. So a validation at a step that a resumed run has not
        reached again, a stray point and a metric with an axis of its own do not count.
        """
        newest = np.zeros(len(self._streams), np.bool_)
        for order in self._sources.values():
            told = [
                writer
                for at, writer in zip(order.positions, order.writers, strict=True)
                if self._streams[at].point_count
            ]
            for at, writer in zip(order.positions, order.writers, strict=True):
                newest[at] = writer in told[-1:]
        index = self._index
        rows = index.rows[newest[index.positions] & (index.rows < len(self._table.lengths))]
        lengths = self._table.lengths[rows]
        if not lengths.any():
            return None
        return int(self._table.last_steps[rows[(lengths > 0) & (lengths * 4 >= lengths.max())]].max())

    # Metrics

    @property
    def busiest_metric(self) -> str | None:
        """The metric of the longest series, the first of equals; None without any."""
        return next(iter(self.busiest_metrics), None)

    @cached_property
    def busiest_metrics(self) -> tuple[str, ...]:
        """All metrics, those of the longest series first: they tell the pace of the run."""
        drawn = dict.fromkeys(self.metrics)
        index = self._index
        known = index.rows < len(self._table.lengths)
        lengths = np.where(known, self._table.lengths[np.where(known, index.rows, 0)], 0) if drawn else np.empty(0)
        order = dict.fromkeys(index.names[at] for at in np.argsort(-lengths, kind="stable").tolist())
        return tuple(name for name in order if name in drawn)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names (prefix + name as written) in the order found; without those that have no point left."""
        index = self._index
        if index.metrics is None:
            index.metrics = tuple(entry.name for entry in index.entries.values() if self._ranked(entry))
        if not any(step is not None for view in self._streams for step in view.body.cuts[: view.cut_count]):
            return index.metrics
        return tuple(
            name for name in index.metrics if any(len(self._drawn(one)) for one in self._ranked(self._entry(name)))
        )

    def curve(self, metric: str) -> Curve:
        """What is drawn of a metric: its points in its best source. KeyError when the run has no such metric."""
        ranked = self._ranked(self._entry(metric))
        if not ranked:
            raise KeyError(metric)
        best = next((candidate for candidate in ranked if len(self._drawn(candidate))), None)
        if best is None:
            raise KeyError(metric)
        return self._drawn(best, (best, *(other for other in ranked if other is not best)))

    def curve_from(self, metric: str, source: str) -> Curve:
        """The metric as that source holds it. KeyError when it does not."""
        ranked = self._ranked(self._entry(metric))
        best = next((candidate for candidate in ranked if candidate.source == source), None)
        if best is None:
            raise KeyError((metric, source))
        return self._drawn(best, (best, *(other for other in ranked if other is not best)))

    def provenance(self, metric: str) -> tuple[tuple[str, int], ...]:
        """(source, points as logged) of every source that holds the metric, the best first. KeyError as for curve."""
        return tuple((candidate.source, self._count(candidate)) for candidate in self._ranked(self._entry(metric)))

    def _entry(self, metric: str) -> Entry:
        try:
            return self._index.entries[self._index.keys.get(metric) or self._merge_key(metric)]
        except KeyError:
            raise KeyError(metric) from None

    def _ranked(self, entry: Entry) -> list[Candidate]:
        """The candidates that have points, the best first."""
        found = [candidate for candidate in entry.candidates.values() if self._count(candidate)]
        return found if len(found) < 2 else sorted(found, key=lambda one: (-one.rank, -self._count(one)))

    def _drawn(self, candidate: Candidate, ranked: tuple[Candidate, ...] = ()) -> Curve:
        key = (candidate.source, candidate.name)
        with self._cache.lock:
            curve = self._curves.get(key)
            if curve is None or (ranked and len(curve.sources) != len(ranked)):
                curve = self._curves[key] = self._draw(candidate, ranked or (candidate,))
            return curve

    def _draw(self, candidate: Candidate, ranked: tuple[Candidate, ...]) -> Curve:
        key = (candidate.source, candidate.name)
        parts = self._parts(candidate)
        before = self._cache.joined.get(key)
        joined = join(parts, before)
        if before is None or not before.is_newer(parts):
            self._cache.joined[key] = joined
        sources = tuple(one.source for one in ranked)
        last, curve = self._cache.curves.get(key, (None, None))
        origin = self.first_wall_time
        if (
            last is joined
            and curve is not None
            and curve.sources == sources
            and (curve.origin == origin or origin != origin)
        ):
            return curve
        columns, length = joined.columns, joined.length
        curve = Curve.of(
            candidate.name,
            columns.steps[:length],
            columns.values[:length],
            columns.wall_times[:length],
            index=joined.index,
            restarts=joined.restarts,
            superseded=joined.superseded,
            sources=sources,
            origin=origin,
            hidden=partial(hidden, parts) if joined.superseded else None,
        )
        self._cache.curves[key] = joined, curve
        return curve

    def _parts(self, candidate: Candidate) -> tuple[Part, ...]:
        order = self._sources[candidate.source]
        place = {position: number for number, position in enumerate(order.positions)}
        return tuple(
            part(
                series,
                self._length(series.id),
                self._streams[position],
                order.writers[place[position]],
                order.purge_behind[place[position]],
            )
            for position, series in candidate.series
            if self._length(series.id)
        )

    def _count(self, candidate: Candidate) -> int:
        return sum(self._length(series.id) for _, series in candidate.series)

    def _length(self, row: int) -> int:
        return int(self._table.lengths[row]) if row < len(self._table.lengths) else 0

    @cached_property
    def _sources(self) -> dict[str, SourceOrder]:
        return order_sources(self._streams)

    @cached_property
    def _index(self) -> RunIndex:
        with self._cache.lock:
            index = self._cache.index
            if index is None or index.structure != self._structure:
                index = build_index(self._streams, self._structure, self._merge_key)
                if self._cache.index is None or self._cache.index.structure < self._structure:
                    self._cache.index = index
            return index

    # Facts

    def facts(self, topic: str) -> tuple[Fact, ...]:
        """Everything the logs say about a topic (see model.points.Fact), oldest first."""
        return tuple(fact for _, fact in merge(*(self._told(view, topic) for view in self._streams)))

    def latest(self, topic: str) -> Fact | None:
        """The newest of them."""
        last = [told[-1] for view in self._streams if (told := self._told(view, topic))]
        return max(last, key=lambda one: one[0])[1] if last else None

    def _told(self, view: StreamView, topic: str) -> list[tuple[int, Fact]]:
        told = view.body.facts.get(topic, [])
        count = len(told)
        while count and told[count - 1][0] >= self._arrived:
            count -= 1
        return told[:count]

    def _by_rank(self, *topics: str) -> Iterator[Fact]:
        """Facts of the best source last; of one rank, in the order of arrival."""
        found = [
            (view.found.rank, number, fact)
            for view in self._streams
            for topic in topics
            for number, fact in self._told(view, topic)
        ]
        return (fact for _, _, fact in sorted(found, key=lambda one: one[:2]))

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The job's settings, merged key by key from all sources and its hparams; the best source has the last word."""
        return _merged(self._by_rank("config", "hparams"))

    @cached_property
    def final_metrics(self) -> Mapping[str, Any]:
        """What the logs give as the result, merged as config is."""
        return _merged(self._by_rank("final_metrics"))

    @cached_property
    def best_checkpoint(self) -> Mapping[str, Any] | None:
        """The newest word of the best source on it."""
        found = list(self._by_rank("best_checkpoint"))
        return found[-1].value if found else None


def _known(times: Iterable[float]) -> list[float]:
    return [time for time in times if np.isfinite(time)]


def _merged(facts: Iterable[Fact]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for fact in facts:
        found.update(fact.value)
    return found
