"""Find runs that are one training: sources that lie apart but hold the same series.

verl writes tensorboard_log/<project>/<run>, <project>/<run>.jsonl, wandb/… and its console; Lightning a CSV beside the
event files; Keras a CSVLogger beside logs/fit. The runs are joined if all of this holds:

- No format occurs in two of the runs. Runs of one sweep have the same formats, so they cost nothing and stay apart.
- Their points were logged during the same time (unless that is unknown).
- At least two thirds of the common metrics are equal at all common steps, at least 5, with at least 10 distinct values
  in all. Schedules and counters do not count: they are equal in unrelated trainings.
- The evidence is not ambiguous: not two runs of one format fit to a third run.

Runs are compared again only once one of them has twice as many points, so that the cost while files grow is bounded.
Only runs that have some of a few sampled points in common are compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from zlib import crc32

import numpy as np
from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.model.equal import compare_series, is_predictable
from tuimon.model.points import Floats, Steps
from tuimon.store.columns import PointColumns
from tuimon.store.index import TEXT
from tuimon.store.records import RunRecord
from tuimon.vocabulary import merge_key

_SAMPLED_SERIES, _SAMPLED_POINTS = 8, 64
_NOMINATIONS, _NOMINATED_SHARE = 3, 0.05
"""Sampled points that two runs must have in common before they are compared, also as a share of the smaller sample."""
_LEAST_POINTS = 10
_LEAST_STEPS, _LEAST_VALUES = 5, 10
_EQUAL_SHARE = 2 / 3
_COMPARED_POINTS = 20_000
_SEPARATORS = re.compile(r"[^a-z0-9]+")


class EqualRuns(Struct, frozen=True):
    """Runs that are one training."""

    run: int
    """Id of the run that was found first."""
    others: tuple[int, ...]
    evidence: tuple[str, ...]
    """One line for each pair that was found equal, for the user."""


class _Points(Struct):
    """The points of a series that is no schedule or counter."""

    columns: PointColumns
    length: int
    is_text: bool

    def first(self, rows: int) -> tuple[Steps, Floats]:
        """Return the steps and values of the first points, at most `rows`."""
        count = min(self.length, rows)
        return self.columns.steps[:count], self.columns.values[:count]


class _Candidate(Struct):
    """State of one run while it is compared."""

    record: RunRecord
    formats: frozenset[str]
    first: float
    last: float
    """Wall times of the first and the last point; NaN if unknown."""
    series: dict[str, _Points]
    """By _short_key, or by merge key if several have the same short key."""


class RunJoiner:
    """Finds runs to join. To be called by the writer thread of a store."""

    def __init__(self) -> None:
        self._examined: dict[int, int] = {}
        """Number of points of a run when it was last examined."""

    def find(self, runs: Sequence[RunRecord]) -> list[EqualRuns]:
        """Return the runs that have been found to be one training since the last call."""
        counts = {record.info.run: sum(stream.data.point_count for stream in record.streams) for record in runs}
        grown = {run: count for run, count in counts.items() if count > 2 * self._examined.get(run, 0)}
        if not grown:
            return []
        self._examined.update(grown)
        formats = {
            record.info.run: frozenset(stream.info.format for stream in record.streams if stream.data.point_count)
            for record in runs
            if counts[record.info.run] >= _LEAST_POINTS
        }
        if len(set(formats.values())) < 2:  # one run, or a sweep
            return []
        candidates = [
            self._candidate(record, formats[record.info.run]) for record in runs if record.info.run in formats
        ]
        equal: dict[tuple[int, int], str] = {}
        for first, second in _nominated(candidates):
            ids = first.record.info.run, second.record.info.run
            if not grown.keys().isdisjoint(ids) and (evidence := _equality(first, second)):
                equal[ids] = evidence
        return list(_unambiguous(equal, formats))

    def _candidate(self, record: RunRecord, formats: frozenset[str]) -> _Candidate:
        streams = [stream for stream in record.streams if stream.data.point_count]
        first = float(np.fmin.reduce([stream.data.first_wall_time for stream in streams]))
        last = float(np.fmax.reduce([stream.data.last_wall_time for stream in streams]))
        longest: dict[str, _Points] = {}
        for stream in streams:
            for item in stream.data.series.values():
                length, key = item.columns.length, merge_key(item.name)
                known = longest.get(key)
                if length and not is_predictable(item.name) and (known is None or known.length < length):
                    longest[key] = _Points(item.columns, length, stream.info.rank <= TEXT)
        short = Counter(map(_short_key, longest))
        series = {_short_key(key) if short[_short_key(key)] == 1 else key: longest[key] for key in longest}
        return _Candidate(record, formats, first, last, series)


def _nominated(candidates: Sequence[_Candidate]) -> Iterator[tuple[_Candidate, _Candidate]]:
    """Yield the pairs that can be one training by formats and times, with several sampled points in common."""
    by_point: dict[tuple[str, int, str], list[int]] = defaultdict(list)
    sampled: list[int] = []
    for index, candidate in enumerate(candidates):
        sampled.append(0)
        for key in sorted(candidate.series, key=lambda name: crc32(name.encode()))[:_SAMPLED_SERIES]:
            steps, values = candidate.series[key].first(_SAMPLED_POINTS)
            sampled[index] += len(steps)
            for step, value in zip(steps.tolist(), values.tolist(), strict=True):
                by_point[key, step, f"{value:.2e}"].append(index)
    votes: Counter[tuple[int, int]] = Counter()
    for indices in by_point.values():
        if 1 < len(indices) <= 16:  # a value of many runs says nothing
            votes.update(combinations(dict.fromkeys(indices), 2))
    for (left, right), count in sorted(votes.items()):
        first, second = candidates[left], candidates[right]
        least = max(_NOMINATIONS, _NOMINATED_SHARE * min(sampled[left], sampled[right]))
        if count >= least and not first.formats & second.formats and _overlap(first, second):
            yield first, second


def _short_key(key: str) -> str:
    """Return a merge key as its first and last part in small letters, because sources put different sections between
    them: train/samples/step_ms and step_ms."""
    first, _, rest = key.lower().partition("/")
    return f"{first}_{_SEPARATORS.sub('_', rest.rpartition('/')[2])}"


def _overlap(first: _Candidate, second: _Candidate) -> bool:
    """Return whether the points of two runs were logged during the same time, or whether that is unknown."""
    if np.isnan(first.last + second.last):
        return True
    common = min(first.last, second.last) - max(first.first, second.first)
    return common >= 0.5 * min(first.last - first.first, second.last - second.first)


def _equality(first: _Candidate, second: _Candidate) -> str:
    """Return the evidence that two runs are one training, or "" without enough of it."""
    equal: list[str] = []
    different = 0
    steps: set[int] = set()
    values: set[float] = set()
    for key in first.series.keys() & second.series.keys():
        one, other = first.series[key], second.series[key]
        points = *one.first(_COMPARED_POINTS), *other.first(_COMPARED_POINTS)
        compared = compare_series(*points, one.is_text or other.is_text)
        if compared.differing:
            different += 1
        elif compared.common and not _rises_evenly(compared.values):
            equal.append(key)
            steps.update(compared.steps.tolist())
            values.update(compared.values.tolist())
    if len(values) < _LEAST_VALUES or len(steps) < _LEAST_STEPS:
        return ""
    if len(equal) < _EQUAL_SHARE * (len(equal) + different):
        return ""
    shared = f"{len(equal)} of {len(equal) + different} common metrics are equal at {len(steps)} steps"
    return f"{first.record.info.name} and {second.record.info.name} are one training: {shared}"


def _rises_evenly(values: Floats) -> bool:
    """Return whether values are constant or grow by the same amount at every step."""
    changes = np.diff(values[np.isfinite(values)])
    return not len(changes) or bool(np.ptp(changes) <= 1e-9 * np.abs(changes).max())


def _unambiguous(equal: dict[tuple[int, int], str], formats: dict[int, frozenset[str]]) -> Iterator[EqualRuns]:
    """Yield the groups of runs that are connected by pairs, if no format occurs in two runs of the group."""
    groups: dict[int, set[int]] = {}
    for first, second in equal:
        group = groups.get(first, {first}) | groups.get(second, {second})
        groups.update(dict.fromkeys(group, group))
    for group in {id(group): group for group in groups.values()}.values():
        runs = sorted(group)
        count = sum(len(formats[run]) for run in runs)
        if count == len(frozenset[str]().union(*(formats[run] for run in runs))):
            evidence = tuple(text for pair, text in sorted(equal.items()) if pair[0] in group)
            yield EqualRuns(runs[0], tuple(runs[1:]), evidence)
