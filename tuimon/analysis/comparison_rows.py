"""compare_rows(): a metric of several runs as rows, one for each run or group of runs that differ only in their seed.

    Row(name="lr3e-6 (3 runs)", runs=(0, 1, 2), level=0.7471, error=0.0102, place=199, rank=1, …)

All levels are taken up to one position, the last one that all runs have reached (`common_end`), and each row is
compared with the first: a single run by the difference of the curves, several runs by Student's t-test of their levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.comparing import seedless_name
from tuimon.analysis.comparison_axis import STEPS, ComparisonAxis, Place, places_of
from tuimon.analysis.level import UNKNOWN, Difference, Level, difference, difference_of_groups, level, level_value
from tuimon.analysis.statistics import best, statistics
from tuimon.model.points import Floats, Steps
from tuimon.store import Curve
from tuimon.text import clean
from tuimon.vocabulary import Meaning

BETTER = {"up": "higher", "down": "lower"}
"""Meaning.direction -> which values are better."""
DECIDING = ("reward.train", "success.train", "reward.val", "success.val", "success.accuracy", "loss.val", "loss.total")
"""Concepts that decide which run is better, the most important first."""
_SAME = 1e-9
"""Relative difference of equal positions that are no steps: epochs are sums."""
_EARLY = {"step": 0.5}
_EARLY_ELSEWHERE = 0.25
"""Part of the others' way at which a run ends early. With half the batch size, runs end after half of the tokens."""
Places = Steps | Floats
"""Positions of the points of a curve on an axis, which never fall."""


class Row(Struct, frozen=True):
    """A run, or runs that differ only in their seed."""

    name: str
    """Cleaned name, with the number of runs if there are several: "lr3e-6 (3 runs)"."""
    runs: tuple[int, ...]
    """Positions of the runs that the level is the mean of."""
    not_healthy: tuple[int, ...]
    """Positions of those of these runs with a failure."""
    without_result: tuple[int, ...]
    """Positions of runs of the group that ended early or have no finite level."""
    level: float
    """Mean of the levels of the runs, or of their best values if these are compared."""
    error: float
    """Standard error of the level: of several runs from their deviation, of a single one from its curve."""
    deviation: float
    """Standard deviation of the levels of the runs; NaN for one run."""
    low: float
    high: float
    place: Place | None
    """Position up to which the level is taken; None if it is that of all points."""
    best: tuple[int, float] | None
    """(step, value) of the best value up to there; None if neither direction is better."""
    rank: int = 0
    """1 is the best level; 0 for a row that is not compared."""
    behind: Difference = UNKNOWN
    """Difference to the first row."""
    is_tied: bool = False
    """Whether noise may explain the difference to the first row, and those of the rows between; of the first row,
    whether another one is tied."""

    @property
    def rank_text(self) -> str:
        """The rank, "1=" for rows that noise may put first, or "-" without a rank."""
        return "-" if not self.rank else "1=" if self.is_tied else str(self.rank)


class MetricRows(Struct, frozen=True):
    """A metric in several runs."""

    name: str
    """Its name in the first run that has it."""
    meaning: Meaning
    units: tuple[str, ...]
    """Unit of the numbers of each run as text; "" for plain numbers."""
    rows: tuple[Row, ...]
    """The best first, or in the order of the runs if neither direction is better; then those that ended early."""
    levels: tuple[Level | None, ...]
    """Level of each run; None if it has no such metric."""
    bests: tuple[tuple[int, float] | None, ...]
    """(step, value) of the best value of each run up to `end`; None if neither direction is better."""
    curves: tuple[Curve | None, ...]
    factors: tuple[float, ...]
    """Numbers by which the values of the curves are multiplied."""
    places: tuple[Places | None, ...]
    """Positions of the points of the curves on the axis; None if they are unknown."""
    end: Place | None
    """Position up to which the rows are compared; None if the runs have none in common."""
    axis: str
    in_steps: bool
    """Whether the steps are those of the runs; others, such as episodes, are at different places in each run."""
    kind: Literal["level", "best"]
    """What is compared: levels, or the best value of each run."""

    @property
    def better(self) -> str:
        """The better direction: "higher", "lower" or "" (neither, or not comparable)."""
        units = {unit for unit, curve in zip(self.units, self.curves, strict=True) if curve is not None}
        return BETTER.get(self.meaning.direction, "") if self.in_steps and len(units) < 2 else ""

    @property
    def unit(self) -> str:
        """Unit of the numbers; "" for plain numbers, or if the runs log different units."""
        units = {unit for unit, curve in zip(self.units, self.curves, strict=True) if curve is not None}
        return units.pop() if len(units) == 1 else ""

    @property
    def label(self) -> str:
        """What the metric is called in a sentence: "reward", "loss (val)"."""
        return clean(self.meaning.label or self.name)

    @property
    def ranked(self) -> list[Row]:
        """The rows that are compared, the best first."""
        return [row for row in self.rows if row.rank]

    def result_of(self, run: int) -> float:
        """Return the level of a run, or its best value if these are compared; NaN if it has none."""
        own, top = self.levels[run], self.bests[run]
        if self.kind == "best":
            return math.nan if top is None else top[1]
        return math.nan if own is None else own.value

    def ended_early(self, run: int) -> bool:
        """Return whether a run has not reached the position up to which the others are compared."""
        own = self.places[run]
        return self.end is not None and own is not None and own[-1] < self.end

    def row_of(self, run: int) -> Row | None:
        """Return the row that a run is a part of, or None."""
        return next((row for row in self.rows if run in row.runs), None)


def compare_rows(
    name: str,
    meaning: Meaning,
    curves: Sequence[Curve | None],
    groups: Sequence[Sequence[int]],
    labels: Sequence[str],
    *,
    factors: Sequence[float] = (),
    units: Sequence[str] = (),
    failures: Sequence[str] = (),
    axis: ComparisonAxis = STEPS,
    in_steps: bool = True,
    kind: Literal["level", "best"] = "level",
) -> MetricRows:
    """Compare a metric of several runs.

    curves: at least one point each; None for a run without the metric. groups: positions of the runs of each row.
    failures: what casts doubt on each run (`failures_of`).
    """
    scales = axis.scales or (None,) * len(curves)
    places = tuple(
        None if curve is None else places_of(curve, scale) for curve, scale in zip(curves, scales, strict=True)
    )
    having = [own for own, curve in zip(places, curves, strict=True) if curve is not None]
    end = common_end(having, axis.name)
    multiples = tuple(factors) or (1.0,) * len(curves)
    cut = [_cut(*own, end) for own in zip(curves, places, multiples, strict=True)]
    levels = tuple(None if values is None else level(values) for values in cut)
    better = BETTER.get(meaning.direction, "")
    bests = tuple(
        None if curve is None or values is None or not better else best(curve.steps[: len(values)], values, better)
        for curve, values in zip(curves, cut, strict=True)
    )
    metric = MetricRows(
        *(name, meaning, tuple(units) or ("",) * len(curves), (), levels, bests, tuple(curves), multiples, places),
        *(end, axis.name, in_steps, kind),
    )
    rows = [
        _row(metric, members, labels, failures)
        for group in groups
        if (members := tuple(run for run in group if levels[run] is not None))
    ]
    compared = [row for row in rows if math.isfinite(row.level) and not metric.ended_early(row.runs[0])]
    if metric.better:
        compared.sort(key=lambda row: row.level, reverse=better == "higher")
        if len(compared) > 1:
            compared = _ranked(metric, cut, compared)
    known = {row.runs for row in compared}
    others = sorted((row for row in rows if row.runs not in known), key=lambda row: not math.isfinite(row.level))
    return replace(metric, rows=(*compared, *others))


def common_end(places: Sequence[Places | None], axis: str = "step") -> Place | None:
    """Return the last position that all curves have reached, but for those that ended early.

    That is before half of what the second longest has reached, or a quarter on another axis than steps. None if two
    curves have no positions in common, or those of one are unknown.
    """
    known = [own for own in places if own is not None]
    if len(known) < 2 or len(known) < len(places):
        return None
    longest = sorted(known, key=lambda own: -float(own[-1]))[:2]
    if longest[1][-1] < max(own[0] for own in longest):
        return None
    first, last = min(own[0].item() for own in known), longest[1][-1].item()
    least = first + (last - first) * _EARLY.get(axis, _EARLY_ELSEWHERE)
    ends: list[Place] = [min(own[-1].item(), last) for own in known]
    return min(end for end in ends if end >= least)


def comparable_step(curves: Sequence[Curve | None]) -> int | None:
    """Return the `common_end` of curves in steps, without the runs that have none."""
    end = common_end([places_of(curve, None) for curve in curves if curve is not None])
    return None if end is None else int(end)


def level_until(curve: Curve, step: int | None) -> float:
    """Return the value of the level of a curve up to a step, or at its end, without its error.

    4,000 curves of 1,000 points take 0.05 s instead of 1.6 s, and only the last points of each are read.
    """
    return level_value(curve.values if step is None else curve.values[: curve.row_after(step)])


def main_metric(metrics: Sequence[MetricRows]) -> MetricRows | None:
    """Return the most important metric that has a better direction, or else the first one, of those that two runs have.

    Of a single run it is the metric that would decide; None without any.
    """
    shared = [m for m in metrics if sum(own is not None for own in m.levels) >= min(2, len(m.levels)) and m.in_steps]
    judged = [metric for metric in shared if metric.better]
    return min(judged or shared[:1], key=lambda metric: decision_rank(metric.meaning), default=None)


def decision_rank(meaning: Meaning) -> int:
    """Return the position of the concept of a metric in DECIDING, or its length."""
    return DECIDING.index(meaning.concept) if meaning.concept in DECIDING else len(DECIDING)


def _cut(curve: Curve | None, places: Places | None, factor: float, end: Place | None) -> Floats | None:
    """Return the values of a curve up to a position."""
    if curve is None:
        return None
    values = curve.values if places is None or end is None else curve.values[: _rows_until(places, end)]
    return values * factor if factor != 1 else values


def _rows_until(places: Places, place: Place) -> int:
    limit = place if isinstance(place, int) else place + abs(place) * _SAME
    return int(np.searchsorted(places, limit, "right"))


def _ranked(metric: MetricRows, cut: Sequence[Floats | None], rows: Sequence[Row]) -> list[Row]:
    """Return the rows, the best first, with their ranks and their differences to the first one."""
    first, *others = rows
    ranked: list[Row] = []
    for number, own in enumerate(others, 2):
        behind = _difference(metric, cut, own, first)
        is_worse = behind.is_beyond_noise(len(others)) and (behind.value < 0) is (metric.better == "higher")
        is_tied = not is_worse and all(better.is_tied for better in ranked)
        ranked.append(replace(own, rank=number, behind=behind, is_tied=is_tied))
    return [replace(first, rank=1, is_tied=any(own.is_tied for own in ranked)), *ranked]


def _difference(metric: MetricRows, cut: Sequence[Floats | None], own: Row, other: Row) -> Difference:
    """Return the difference of two rows: of two single runs that of their curves."""
    if metric.kind == "best" or len(own.runs) + len(other.runs) > 2:
        first, second = (np.array([metric.result_of(run) for run in row.runs], np.float64) for row in (own, other))
        return difference_of_groups(first, second)
    (a,), (b,) = own.runs, other.runs
    values, others, x, other_x = cut[a], cut[b], metric.places[a], metric.places[b]
    apart = UNKNOWN
    if values is not None and others is not None and x is not None and other_x is not None:
        positions = (np.asarray(p[: len(v)], np.float64) for p, v in ((x, values), (other_x, others)))
        apart = difference(next(positions), values, next(positions), others)
    return apart if apart.is_known else replace(UNKNOWN, value=own.level - other.level)


def _row(metric: MetricRows, members: tuple[int, ...], labels: Sequence[str], failures: Sequence[str]) -> Row:
    """Return the row of runs with the metric. Those that ended early have no result, unless all of them did."""
    full = tuple(run for run in members if not metric.ended_early(run) and math.isfinite(metric.result_of(run)))
    runs = full or members[:1]
    results = np.array([metric.result_of(run) for run in runs], np.float64)
    own, places = metric.levels[runs[0]], metric.places[runs[0]]
    level, deviation = float(results[0]), math.nan
    error = math.nan if own is None or metric.kind == "best" else own.error
    if len(runs) > 1:
        known = statistics(results)
        level, deviation = known.mean, known.deviation
        error = deviation / math.sqrt(len(runs))
    tops = [top for run in runs if (top := metric.bests[run]) is not None]
    sign = 1.0 if metric.meaning.direction == "down" else -1.0
    return Row(
        _name([labels[run] for run in members]),
        runs,
        tuple(run for run in runs if failures and failures[run]),
        tuple(run for run in members if run not in runs),
        level,
        error,
        deviation,
        float(results.min()),
        float(results.max()),
        places[-1].item() if places is not None and metric.ended_early(runs[0]) else metric.end,
        min(tops, key=lambda top: sign * top[1], default=None),
    )


def _name(labels: Sequence[str]) -> str:
    """Return "lr3e-6 (3 runs)", or "run4 with 2 other runs" if the names have more in them than seeds."""
    if len(labels) == 1:
        return clean(labels[0])
    common = {seedless_name(label) for label in labels}
    if len(common) == 1:
        return f"{clean(common.pop())} ({len(labels)} runs)"
    return f"{clean(labels[0])} with {len(labels) - 1} other run{'s' * (len(labels) > 2)}"
