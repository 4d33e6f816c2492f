"""A run as a snapshot knows it. Everything is worked out when asked for, and kept."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from heapq import merge
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from tuimon.model.events import RunFound
from tuimon.model.machine import Machine
from tuimon.model.points import Fact, Floats, Steps
from tuimon.store.axes import COUNTERS, Scale, counter, counters_among
from tuimon.store.compare import usual_stride
from tuimon.store.curve import Curve
from tuimon.store.distinct import distinct
from tuimon.store.drawn import Drawn
from tuimon.store.index import Candidate, Entry, MergeKey, RunIndex, best_first, build_index
from tuimon.store.records import Present, StreamState, StreamView, ViewCache, state_of
from tuimon.store.shares import Shares, Table
from tuimon.store.tally import Indices

_STEP = Scale("step")
_BUSIEST = 12
"""Metrics that are asked where a run begins."""
_NEAR = 0.2
"""Sources without a common metric whose last steps differ by no more than this part are taken to count alike."""
_BEGINS_LATE = 2
"""A run whose first step is more than so many strides from 0 was not begun there."""


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
        since: float,
        present: Present,
        checkpoints: tuple[int, ...] = (),
    ) -> None:
        self.id = found.run
        self.name = found.name
        self.path = found.path
        self.version = version
        """Differs from the last snapshot's only when something of this run has changed."""
        self.watched_since = since
        """When it was found, seconds since the epoch: what it does since then was seen."""
        self.checkpoints = checkpoints
        """Steps of those on disk, ascending."""
        self._present = present
        self.structure = structure
        """Differs from the last snapshot's when a series has appeared or gone."""
        self._streams = streams
        self._table = table
        self._arrived = arrived  # facts from this number on are not ours yet
        self._cache = cache
        self._merge_key = merge_key
        self._shares = Shares(streams, table, cache)
        self._curves: dict[str, Curve] = {}

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.name!r} version {self.version}>"

    @property
    def machine(self) -> Machine | None:
        """The machine that its logs lie on, as last seen while they grow: the one thing here that does not stay as it
        was, as no log tells it."""
        return self._present.machine

    # Streams

    @cached_property
    def streams(self) -> tuple[StreamState, ...]:
        """In the order found."""
        return tuple(map(state_of, self._streams))

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

    @property
    def last_step(self) -> int | None:
        """Where the training stands: the largest last step among the metrics that are logged often.

        Often: at least a quarter as many points as the most. So a validation at a step that a resumed run has not
        reached again, a stray point and a metric with an axis of its own do not count; nor do sources that count steps
        otherwise than the main ones.
        """
        return self._last_steps.get(self._main_count)

    def last_step_of(self, source: str) -> int | None:
        """The same as that source counts steps; None where it holds no metric."""
        return self._last_steps.get(self._index.counting.of_source.get(source, -1))

    def counts_alike(self, source: str) -> bool:
        """Whether a step of that source is a step of the main ones; true for one that holds no metric."""
        return self._index.counting.of_source.get(source, self._main_count) in self._alike

    @cached_property
    def _lengths(self) -> Indices:
        """Points of every series of the index."""
        return self._of_series(self._table.lengths, self._index.previewed)

    def _of_series(self, told: Indices, previewed: Indices) -> Indices:
        """A column of the table for every series of the index; `previewed` for those that have no row in it."""
        rows = self._index.rows
        known = rows < len(told)
        return np.where(known, told[np.where(known, rows, 0)], previewed) if known.any() else previewed

    @cached_property
    def _main_count(self) -> int:
        return self._index.counting.main(self._lengths)

    @cached_property
    def _alike(self) -> frozenset[int]:
        """The groups that count as the main one does: itself, and those that stand at about the same step."""
        here = self._last_steps.get(self._main_count, 0)
        near = max(abs(here) * _NEAR, 1)
        return frozenset({self._main_count, *(g for g, step in self._last_steps.items() if abs(step - here) <= near)})

    @cached_property
    def _counts_main(self) -> npt.NDArray[np.bool_]:
        """Whether it counts as the main sources do, for every series of the index."""
        counting = self._index.counting
        return np.isin(counting.group[counting.metric], list(self._alike))

    @cached_property
    def _last_steps(self) -> Mapping[int, int]:
        """By group of sources that count alike."""
        newest = np.zeros(len(self._streams), np.bool_)
        for order in self._shares.sources.values():
            told = [
                writer
                for at, writer in zip(order.positions, order.writers, strict=True)
                if self._streams[at].point_count or self._streams[at].preview
            ]
            for at, writer in zip(order.positions, order.writers, strict=True):
                newest[at] = writer in told[-1:]
        counting, lengths = self._index.counting, self._lengths
        unread = np.array([bool(view.preview) for view in self._streams], np.bool_)
        ends = ~unread[self._index.positions] | (self._index.previewed > 0)  # a history that is being read has no end
        seen = np.flatnonzero(newest[self._index.positions] & ends & (lengths > 0))
        groups = counting.group[counting.metric[seen]]
        most = np.zeros(len(counting.ranks), np.int64)
        np.maximum.at(most, groups, lengths[seen])
        often = lengths[seen] * 4 >= most[groups]
        steps = self._of_series(self._table.last_steps, self._index.preview_steps)[seen]
        last = np.full(len(counting.ranks), np.iinfo(np.int64).min)
        np.maximum.at(last, groups[often], steps[often])
        return {group: int(last[group]) for group in distinct(groups).tolist()}

    # Metrics

    @cached_property
    def _drawn(self) -> Drawn:
        return Drawn(self._shares, self._cache, self.first_wall_time)

    @property
    def busiest_metric(self) -> str | None:
        """The metric of the longest series, the first of equals; None without any."""
        return next(iter(self.busiest_metrics), None)

    @cached_property
    def busiest_metrics(self) -> tuple[str, ...]:
        """All metrics, those of the longest series first: they tell the pace of the run. Those that only sources hold
        which count steps otherwise come last."""
        drawn, index = dict.fromkeys(self.metrics), self._index
        order = dict.fromkeys(index.names[at] for at in np.lexsort((-self._lengths, ~self._counts_main)).tolist())
        return tuple(name for name in order if name in drawn)

    @cached_property
    def main_metrics(self) -> frozenset[str]:
        """Metrics whose steps are those of the main sources: only they can stand on one axis."""
        index = self._index
        if index.main is None or index.main[0] != self._alike:
            chosen = zip(index.names, self._counts_main.tolist(), strict=True)
            index.main = self._alike, frozenset(name for name, main in chosen if main)
        return index.main[1]

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names (prefix + name as the best source writes it), those of the best source first, in the order of its file;
        without those that have no point left."""
        index = self._index
        if index.metrics is None:
            index.metrics = tuple(dict.fromkeys(compress(index.names, (self._lengths > 0).tolist())))
        if not any(step is not None for view in self._streams for step in view.body.cuts[: view.cut_count]):
            return index.metrics
        return tuple(
            name
            for name in index.metrics
            if any(self._shares.joined(one).length for one in self._shares.ranked(self._entry(name)))
        )

    def curve(self, metric: str) -> Curve:
        """What is drawn of a metric: its points in its best source, and the others' where that one has none.

        KeyError when the run has no such metric."""
        curve = self._curves.get(metric)  # a check of all detectors asks thirty times for ten
        if curve is None:
            curve = self._drawn.best(self._shares.ranked(self._entry(metric)))
            if curve is None:
                raise KeyError(metric)
            self._curves[metric] = curve
        return curve

    def points(
        self, wanted: Callable[[str], bool] = lambda metric: True, rows: int = 1 << 16
    ) -> Iterator[tuple[str, Steps, Floats, Floats]]:
        """(metric, steps, values, wall times): the curves of all metrics in the order of `metrics`, so many rows at a
        time at most, for who goes through them once. Nothing is kept; what joining a curve took is given back before
        the next one is made, and one that is just as it was logged is not made at all."""
        cache = ViewCache()
        shares = Shares(self._streams, self._table, cache)
        for entry in map(self._index.entry, self._index.members):
            if wanted(entry.name):
                for piece in self._pieces(shares, cache, shares.ranked(entry), rows):
                    yield entry.name, *piece
                cache.forget()

    def _pieces(
        self, shares: Shares, cache: ViewCache, ranked: list[Candidate], rows: int
    ) -> Iterator[tuple[Steps, Floats, Floats]]:
        as_logged = shares.as_logged(ranked)
        if as_logged is not None:
            yield from as_logged.series.columns.pieces(as_logged.length, rows)
        elif (curve := Drawn(shares, cache, self.first_wall_time).best(ranked)) is not None:
            for start in range(0, len(curve), rows):
                part = slice(start, start + rows)
                yield curve.steps[part], curve.values[part], curve.wall_times[part]

    def curve_from(self, metric: str, source: str) -> Curve:
        """The metric as that source holds it. KeyError when it does not."""
        ranked = self._shares.ranked(self._entry(metric))
        one = next((candidate for candidate in ranked if candidate.source == source), None)
        if one is None:
            raise KeyError((metric, source))
        return self._drawn.from_source(one, ranked)

    def provenance(self, metric: str) -> tuple[tuple[str, int], ...]:
        """(source, points as logged) of every source that holds the metric, the best first. KeyError as for curve."""
        shares = self._shares
        return tuple((candidate.source, shares.count(candidate)) for candidate in shares.ranked(self._entry(metric)))

    def _entry(self, metric: str) -> Entry:
        try:
            return self._index.entry(self._index.keys.get(metric) or self._merge_key(metric))
        except KeyError:
            raise KeyError(metric) from None

    @cached_property
    def _index(self) -> RunIndex:
        with self._cache.lock:
            index = self._cache.index
            if index is None or index.structure != self.structure:
                index = build_index(self._streams, self.structure, self._merge_key)
                if self._cache.index is None or self._cache.index.structure < self.structure:
                    self._cache.index = index
            return index

    # Axes

    @cached_property
    def _scales(self) -> Mapping[str, Scale]:
        found = {"step": _STEP}
        steps = [self.curve(metric).steps for metric in self.busiest_metrics[:_BUSIEST]]
        first = min((int(some[0]) for some in steps), default=0)
        if steps and first > _BEGINS_LATE * max(usual_stride(steps[0]), 1):
            found["relative step"] = Scale("relative step", first)
        if np.isfinite(self.first_wall_time):
            found |= {name: Scale(name) for name in ("time", "duration")}
        candidates: dict[str, list[str]] = {name: [] for name in COUNTERS}
        for name, metric in counters_among(self.metrics):
            candidates[name].append(metric)
        for name, metrics in candidates.items():
            scale = counter(name, (self.curve(metric) for metric in metrics))
            if scale is not None:
                found[name] = scale
        return found

    def axes(self) -> tuple[str, ...]:
        """What its curves can be drawn against, "step" first; see axes.Scale for all there are."""
        return tuple(self._scales)

    def scale(self, axis: str) -> Scale:
        """What Curve.envelope takes as an axis. KeyError when the run has no such axis."""
        return _STEP if axis == "step" else self._scales[axis]

    # Facts

    def facts(self, topic: str) -> tuple[Fact, ...]:
        """Everything the logs say about a topic (see model.points.Fact): the best source has the last word, and each
        source says it in the order of its log."""
        return tuple(fact for _, fact in self.told(topic))

    def told(self, topic: str) -> tuple[tuple[str, Fact], ...]:
        """The same, each with the source that says it."""
        return tuple((view.found.source, fact) for view in self._best_last for fact in self._said(view, topic))

    def latest(self, topic: str) -> Fact | None:
        """What the source says whose word is the newest, by its time, or by that of its points or of its file."""
        found = self.latest_from(topic)
        return found[0] if found else None

    def latest_from(self, topic: str) -> tuple[Fact, StreamState] | None:
        """The same, with the stream that says it."""
        last = [(said[-1], view) for view in self._best_last if (said := self._said(view, topic))]
        if not last:
            return None
        fact, view = max(reversed(last), key=lambda one: _said_at(*one))
        return fact, state_of(view)

    @cached_property
    def _best_last(self) -> tuple[StreamView, ...]:
        return tuple(self._streams[at] for source in reversed(best_first(self._streams)) for at in source)

    def _said(self, view: StreamView, *topics: str) -> list[Fact]:
        """What a stream says about the topics, in the order of its log."""
        every = [view.body.facts.get(topic, []) for topic in topics]
        ours = [told[: bisect_left(told, (self._arrived,))] for told in every]
        return [fact for _, fact in (merge(*ours) if len(ours) > 1 else ours[0])]

    def _all_said(self, *topics: str) -> Iterator[Fact]:
        return (fact for view in self._best_last for fact in self._said(view, *topics))

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The job's settings, merged key by key from all sources and its hparams; the best source has the last word."""
        return _merged(self._all_said("config", "hparams"))

    @cached_property
    def final_metrics(self) -> Mapping[str, Any]:
        """What the logs give as the result, merged as config is."""
        return _merged(self._all_said("final_metrics"))

    @cached_property
    def best_checkpoint(self) -> Mapping[str, Any] | None:
        """The newest word of the best source on it."""
        found = self.facts("best_checkpoint")
        return found[-1].value if found else None


def _known(times: Iterable[float]) -> list[float]:
    return [time for time in times if np.isfinite(time)]


def _said_at(fact: Fact, view: StreamView) -> tuple[float, float]:
    """When, seconds since the epoch; -inf unknown. The file's own time comes second: that of a copy means little."""
    said = view.last_wall_time if fact.wall_time is None else fact.wall_time
    changed = view.status.modified if view.status else float("nan")
    return (said if np.isfinite(said) else -np.inf), (changed if np.isfinite(changed) else -np.inf)


def _merged(facts: Iterable[Fact]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for fact in facts:
        found.update(fact.value)
    return found
