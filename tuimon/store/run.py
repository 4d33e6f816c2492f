"""A run in one snapshot. Everything is computed on demand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import compress

import numpy as np
import numpy.typing as npt

from tuimon.model.links import Link
from tuimon.model.machine import Machine
from tuimon.model.points import Floats, Indices, Steps
from tuimon.store.arrays import usual_stride
from tuimon.store.axes import COUNTERS, METRIC_AXIS, Scale, counter_candidates, counter_scale
from tuimon.store.cache import ViewCache
from tuimon.store.curve import Curve, Disagreement
from tuimon.store.curve_builder import CurveBuilder, FilePart
from tuimon.store.index import TEXT, MetricEntry, Names, RunIndex, build_index
from tuimon.store.last_steps import last_steps
from tuimon.store.records import RunRecord
from tuimon.store.run_facts import RunFacts
from tuimon.store.streams import Present, SeriesLengths, StreamView
from tuimon.vocabulary import classify, merge_key

_STEP = Scale("step")
_BUSIEST = 12
"""Number of metrics from which the first step of a run is determined."""
_NEAR = 0.2
"""Sources without a common metric are taken to count alike if their last steps differ at most by this fraction."""
_BEGINS_LATE = 2
"""A run has relative steps if its first step is more than this many strides from 0."""


class Run(RunFacts):
    """Output of one training job in one snapshot. Immutable; any thread may read it.

    Cached properties are those that panels request several times a redraw and that take more than 10 us on a run of
    10,000 metrics or 300 streams. Curves and their parts are cached from snapshot to snapshot, in store.cache.
    """

    def __init__(self, record: RunRecord, table: SeriesLengths, fact_count: int, live: Present) -> None:
        """fact_count: number of facts in the store; later facts of the streams do not belong to this snapshot."""
        self.id = record.info.run
        self.name = record.name or record.info.name
        self.path = record.info.path
        self.directory = record.info.directory or record.info.path
        """Path of its files on this machine."""
        self.version = record.version
        """Differs from the previous snapshot's only if the run has changed."""
        self.checkpoints = record.checkpoints
        """Steps of the checkpoints on disk, ascending."""
        self.ranks = record.ranks
        """The ranks of the job, or None if the logs of at most one are known."""
        self.joined_ids = record.joined_ids
        """Ids of runs that were found to be the same training and are a part of this one."""
        self.join_evidence = record.join_evidence
        """Why they are, one line for each pair of runs."""
        self.structure = record.structure
        """Differs from the previous snapshot's if a series has appeared or disappeared."""
        self._live = live
        super().__init__(tuple(stream.view() for stream in record.streams), fact_count)
        self._table = table
        self._cache = record.cache
        self._curves: dict[str, Curve] = {}
        self._disagreements: dict[str, tuple[Disagreement, ...]] = {}
        self._metric_scales: dict[str, Scale | None] = {}

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.name!r} version {self.version}>"

    @property
    def machine(self) -> Machine | None:
        """Latest status of the machine that the logs lie on, while they grow. Changes, unlike the rest of the run."""
        return None if self.link else self._live.machine

    @property
    def link(self) -> Link | None:
        """The link to the machine that the run is on; None for this machine. Changes, unlike the rest of the run."""
        return self._live.link_of(self.directory) if self._live.mirrors else None

    @property
    def is_reading(self) -> bool:
        """Whether the history of the runs is still being read. Changes, unlike the rest of the run."""
        return self._live.is_reading

    def last_heard(self, now: float) -> float:
        """Return the time (s) until which the state of the run is known: `now`, or the loss of the link."""
        return self._live.last_heard(self.directory, self.streams, now)

    @cached_property
    def point_count(self) -> int:
        """Number of points as logged, over all streams."""
        return sum(view.point_count for view in self.streams)

    @cached_property
    def first_wall_time(self) -> float:
        """Lowest wall time of a point (s since the epoch); NaN if unknown."""
        return min(_finite(view.first_wall_time for view in self.streams), default=math.nan)

    @cached_property
    def last_wall_time(self) -> float:
        """Highest wall time of a point (s since the epoch); NaN if unknown."""
        return max(_finite(view.last_wall_time for view in self.streams), default=math.nan)

    @property
    def duration(self) -> float:
        """Time (s) from the first to the last point; NaN if unknown."""
        return self.last_wall_time - self.first_wall_time

    @property
    def last_change(self) -> float:
        """Time of the last change of a file (s since the epoch); NaN if unknown."""
        return max(_finite(view.status.changed for view in self.streams if view.status), default=math.nan)

    # Steps

    @property
    def last_step(self) -> int | None:
        """Largest last step among the metrics that are logged often, or None without points.

        Often means at least a quarter as many points as the metric with most points. This excludes a validation at a
        step that a resumed run has not reached again, a stray point, and a metric with an axis of its own. Sources that
        count steps differently from the main ones are ignored.
        """
        return self._last_steps.get(self._main_group)

    def last_step_of(self, source: str) -> int | None:
        """Return the last step as one source counts steps; None if it has no metric."""
        return self._last_steps.get(self._index.step_groups.of_source.get(source, -1))

    def has_main_steps(self, source: str) -> bool:
        """Return whether a source counts steps as the main sources do; True for one without metrics."""
        return self._index.step_groups.of_source.get(source, self._main_group) in self._main_like_groups

    @cached_property
    def _lengths(self) -> Indices:
        """Number of points of every series of the index."""
        return self._of_series(self._table.lengths, self._index.previewed)

    def _of_series(self, column: Indices, previewed: Indices) -> Indices:
        """Return a column of the table for every series of the index; `previewed` for series without a row."""
        rows = self._index.rows
        known = rows < len(column)
        return np.where(known, column[np.where(known, rows, 0)], previewed) if known.any() else previewed

    @cached_property
    def _main_group(self) -> int:
        return self._index.step_groups.main(self._lengths)

    @cached_property
    def _main_like_groups(self) -> frozenset[int]:
        """Step groups that count as the main one does: the main one, and those with about the same last step."""
        last = self._last_steps.get(self._main_group, 0)
        distance = max(abs(last) * _NEAR, 1)
        near = (group for group, step in self._last_steps.items() if abs(step - last) <= distance)
        return frozenset({self._main_group, *near})

    def _has_main_steps(self) -> npt.NDArray[np.bool_]:
        """Return for every series of the index whether it counts as the main sources do."""
        groups = self._index.step_groups
        return np.isin(groups.group[groups.metric], list(self._main_like_groups)) & ~self._index.along_other_axis

    @cached_property
    def _last_steps(self) -> Mapping[int, int]:
        """Last step by step group."""
        steps = self._of_series(self._table.last_steps, self._index.preview_steps)
        return last_steps(self.streams, self._index, self.sources.values(), self._lengths, steps)

    # Metrics

    @cached_property
    def _index(self) -> RunIndex:
        with self._cache.lock:
            index = self._cache.index
            if index is None or index.structure != self.structure:
                index = build_index(self.streams, self.structure)
                if self._cache.index is None or self._cache.index.structure < self.structure:
                    self._cache.index = index
            return index

    @property
    def busiest_metric(self) -> str | None:
        """The metric with most points, the first of equals; None without metrics."""
        return next(iter(self.busiest_metrics), None)

    @cached_property
    def busiest_metrics(self) -> tuple[str, ...]:
        """All metrics, those with most points first, from which the pace of the run is estimated.

        Metrics that only sources with different steps hold come last.
        """
        main, counts = self.main_metrics, self.point_counts
        return tuple(sorted(self.metrics, key=lambda metric: (metric not in main, -counts[metric])))

    @property
    def main_metrics(self) -> frozenset[str]:
        """Metrics whose steps are those of the main sources; only these can share an axis."""
        index, groups = self._index, self._main_like_groups
        if index.main is None or index.main[0] != groups:
            index.main = groups, frozenset(compress(index.names, self._has_main_steps().tolist()))
        return index.main[1]

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that have points: prefix + name as the best source writes it.

        Those of the best source come first, in the order of its file.
        """
        index = self._index
        if index.metrics is None:
            index.metrics = Names(dict.fromkeys(compress(index.names, (self._lengths > 0).tolist())))
        if not any(view.start_count or any(step is not None for step in view.cuts) for view in self.streams):
            return index.metrics
        return Names(name for name in index.metrics if self._builder.has_curve(self._entry(name)))

    @cached_property
    def point_counts(self) -> Mapping[str, int]:
        """Number of points of each metric as logged, in the source with most of them: {"train/loss": 1200}."""
        sources = [self.streams[position].info.source for position in self._index.positions.tolist()]
        logged: dict[tuple[str, str], int] = {}
        for key, length in zip(zip(self._index.names, sources, strict=True), self._lengths.tolist(), strict=True):
            logged[key] = logged.get(key, 0) + length
        counts: dict[str, int] = {}
        for (metric, _), count in logged.items():
            counts[metric] = max(count, counts.get(metric, 0))
        return counts

    @cached_property
    def tracked_metrics(self) -> tuple[str, ...]:
        """Names of the metrics without the words of console text for what another log has a metric of.

        Console text prints `reward:0.66` every ten steps where a tracker logs critic/rewards/mean at each: charts,
        detectors and headlines take the tracker's. A word for which no other log has a metric stays.
        """
        index = self._index
        ranks: dict[str, int] = {}
        for name, position in zip(index.names, index.positions.tolist(), strict=True):
            ranks[name] = max(ranks.get(name, 0), self.streams[position].info.rank)
        printed = {name for name in self.metrics if ranks[name] <= TEXT}
        if not printed or len(printed) == len(self.metrics):
            return self.metrics
        logged = {_quantity(name) for name in self.metrics if name not in printed}
        return Names(name for name in self.metrics if name not in printed or _quantity(name) not in logged)

    @cached_property
    def _builder(self) -> CurveBuilder:
        return CurveBuilder(self.streams, self.sources, self._table, self._cache, self.first_wall_time)

    def curve(self, metric: str) -> Curve:
        """Return a metric as drawn: its best source, filled with points of the others.

        Raises KeyError if the run has no such metric.
        """
        curve = self._curves.get(metric)  # detectors and panels request each of them several times a redraw
        if curve is None:
            curve = self._builder.best(self._builder.ranked(self._entry(metric)))
            if curve is None:
                raise KeyError(metric)
            self._curves[metric] = curve
        return curve

    def curve_from(self, metric: str, source: str) -> Curve:
        """Return a metric as one source holds it. Raises KeyError if the source does not hold it."""
        ranked = self._builder.ranked(self._entry(metric))
        for candidate in ranked:
            if candidate.source == source:
                return self._builder.from_source(candidate, ranked)
        raise KeyError((metric, source))

    def sources_with_nonfinite(self, metric: str) -> list[str]:
        """Return the sources that hold a NaN or infinity of a metric, the best one first."""
        ranked = self._builder.ranked(self._entry(metric))
        return [candidate.source for candidate in ranked if not self._builder.is_finite(candidate)]

    def points(
        self, wanted: Callable[[str], bool] = lambda metric: True, rows: int = 1 << 16
    ) -> Iterator[tuple[str, Steps, Floats, Floats]]:
        """Yield (metric, steps, values, wall times) of all wanted curves in the order of `metrics`, for exports.

        Each item has at most `rows` points. Memory used for joining a curve is freed before the next one is built.
        """
        cache = ViewCache()
        builder = CurveBuilder(self.streams, self.sources, self._table, cache, self.first_wall_time)
        for entry in map(self._index.entry, self._index.members):
            if wanted(entry.name) and (curve := builder.best(builder.ranked(entry))) is not None:
                for start in range(0, len(curve), rows):
                    part = slice(start, start + rows)
                    yield entry.name, curve.steps[part], curve.values[part], curve.wall_times[part]
                del curve
                cache.clear_metrics()

    def provenance(self, metric: str) -> tuple[tuple[str, int], ...]:
        """Return (source, points as logged) of every source that holds a metric, best first.

        Raises KeyError if the run has no such metric.
        """
        builder = self._builder
        return tuple((source.source, builder.point_count(source)) for source in builder.ranked(self._entry(metric)))

    def disagreements(self, metric: str) -> tuple[Disagreement, ...]:
        """Return the first step at which each other source of a metric has another value than the drawn one.

        Raises KeyError if the run has no such metric.
        """
        found = self._disagreements.get(metric)  # those of all metrics are requested in each redraw
        if found is None:
            found = tuple(self._builder.disagreements(self._builder.ranked(self._entry(metric))))
            self._disagreements[metric] = found
        return found

    def files(self, metric: str, count_superseded: bool = False) -> tuple[tuple[StreamView, FilePart], ...]:
        """Return the files of a metric with its points in them, in the order in which they began: those of the best
        source that has several.

        () if each has one file, or several that were written at the same time. count_superseded: builds the curve anew.
        Raises KeyError if the run has no such metric.
        """
        for source in self._builder.ranked(self._entry(metric)):
            if files := self._builder.files(source, count_superseded):
                return tuple(files)
        return ()

    def names_in_files(self, metric: str) -> Iterator[tuple[int, str]]:
        """Yield (number of the stream, name in its file) of every series that is merged into a metric.

        Raises KeyError if the run has no such metric.
        """
        for source in self._entry(metric).sources.values():
            for position, _ in source.series:
                info = self.streams[position].info
                yield info.stream, source.name.removeprefix(info.prefix)

    def _entry(self, metric: str) -> MetricEntry:
        try:
            return self._index.entry(self._index.keys.get(metric) or merge_key(metric))
        except KeyError:
            raise KeyError(metric) from None

    # Axes

    @cached_property
    def _scales(self) -> Mapping[str, Scale]:
        scales = {} if self.counts_no_steps else {"step": _STEP}
        steps = [self.curve(metric).steps for metric in self.busiest_metrics[:_BUSIEST]]
        first = min((int(metric_steps[0]) for metric_steps in steps), default=0)
        if steps and first > _BEGINS_LATE * max(usual_stride(steps[0]), 1):
            scales["relative step"] = Scale("relative step", first)
        if np.isfinite(self.first_wall_time):
            scales |= {"time": Scale("time"), "duration": Scale("duration")}
        candidates: dict[str, list[str]] = {name: [] for name in COUNTERS}
        for name, metric in counter_candidates(self.metrics):
            candidates[name].append(metric)
        for name, metrics in candidates.items():
            scale = counter_scale(name, ((curve.steps, curve.values) for curve in map(self.curve, metrics)))
            if scale is not None:
                scales[name] = scale
        return scales

    @cached_property
    def counts_no_steps(self) -> bool:
        """Whether all points are measurements of machines, whose steps are a clock."""
        of_machine = {view.info.of_machine for view in self.streams if view.point_count}
        return of_machine == {True} and math.isfinite(self.first_wall_time)

    def axes(self) -> tuple[str, ...]:
        """Return the names of the axes that its curves can be drawn against, the usual one first; see Scale.name."""
        return tuple(self._scales)

    def scale(self, axis: str) -> Scale:
        """Return an axis for Curve.envelope. Raises KeyError if the run has no such axis."""
        return _STEP if axis == "step" else self._metric_scale(axis) or self._scales[axis]

    def has_axis(self, axis: str) -> bool:
        """Return whether curves can be drawn against an axis: one of `axes`, or a metric that does not fall."""
        return axis == "step" or self._metric_scale(axis) is not None or axis in self._scales

    def _metric_scale(self, axis: str) -> Scale | None:
        """Return the axis "metric:NAME", or None if it is another axis or the metric is not a counter."""
        name = axis.removeprefix(METRIC_AXIS)
        if name == axis or name not in self.metrics:
            return None
        if axis not in self._metric_scales:
            curve = self.curve(name)
            self._metric_scales[axis] = counter_scale(axis, [(curve.steps, curve.values)])
        return self._metric_scales[axis]


def _finite(times: Iterable[float]) -> list[float]:
    return [time for time in times if math.isfinite(time)]


def _quantity(metric: str) -> tuple[object, ...]:
    """Return what a metric measures: concept, split and facets; the name itself if the vocabulary does not know it."""
    meaning = classify(metric)
    if meaning.concept in ("other", "known.other"):
        return (metric,)
    return (
        meaning.concept,
        meaning.split,
        *sorted((key, value) for key, value in meaning.facets.items() if value != "mean"),
    )
