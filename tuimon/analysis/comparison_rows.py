"""compare_rows(): a metric of several runs as rows, one for each run or group of runs that differ only in their seed.

    Row(name="lr3e-6 (3 runs)", runs=(0, 1, 2), level=0.7471, se=0.0102, end=199, rank=1, …)

All levels are taken up to one position, the last one that all runs have reached (`common_end`), and each row is
compared with the first: a single run by the difference of the curves, several runs by Student's t-test of their levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.comparing import seedless_name
from tuimon.analysis.comparison_axis import STEPS, ComparisonAxis, Place, equal_words, places_of
from tuimon.analysis.level import UNKNOWN, Difference, Level, difference, difference_of_groups, level, level_value
from tuimon.analysis.statistics import best, statistics
from tuimon.draw.numbers import format_number
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
    se: float
    """Standard error of the level: of several runs from their deviation, of a single one from its curve."""
    sd: float
    """Standard deviation of the levels of the runs; NaN for one run."""
    min: float
    max: float
    end: Place | None
    """Position up to which the level is taken; None if it is that of all points."""
    best: tuple[int, float] | None
    """(step, value) of the best value up to there; None if neither direction is better."""
    rank: int = 0
    """1 is the best level; 0 for a row that is not compared."""
    behind: Difference = UNKNOWN
    """Difference to the first row."""
    tied: bool = False
    """Whether noise may explain the difference to the first row, and those of the rows between; of the first row,
    whether another one is tied."""

    @property
    def n(self) -> int:
        """Number of the runs that the level is the mean of."""
        return len(self.runs)

    @property
    def rank_text(self) -> str:
        """The rank, "1=" for rows that noise may put first, or "-" without a rank."""
        return "-" if not self.rank else "1=" if self.tied else str(self.rank)


class Measured(NamedTuple):
    """A metric of one run, as it is compared."""

    curve: Curve
    """At least one point."""
    factor: float = 1.0
    """Number by which the values of the curve are multiplied."""
    unit: str = ""
    """Unit of the products as text; "" for plain numbers."""


class RunResult(Struct, frozen=True):
    """A metric in one run."""

    curve: Curve
    factor: float
    """Number by which the values of the curve are multiplied."""
    unit: str
    """Unit of the products as text; "" for plain numbers."""
    places: Places | None
    """Positions of the points of the curve on the axis; None if they are unknown."""
    values: Floats
    """The products up to the end of the comparison."""
    level: Level
    best: tuple[int, float] | None
    """(step, value) of the best of the values; None if neither direction is better."""
    value: float
    """What is compared: the level, or the best value; NaN without any."""
    ended_early: bool
    """Whether the run has not reached the position up to which the others are compared."""


class MetricRows(Struct, frozen=True):
    """A metric in several runs."""

    name: str
    """Its name in the first run that has it."""
    meaning: Meaning
    unit: str
    """Unit of the numbers; "" for plain numbers, or if the runs log different units."""
    better: str
    """The better direction: "higher", "lower" or "" (neither, or not comparable)."""
    rows: tuple[Row, ...]
    """The best first, or in the order of the runs if neither direction is better; then those that ended early."""
    runs: tuple[RunResult | None, ...]
    """The metric in each run; None if a run has no such metric."""
    end: Place | None
    """Position up to which the rows are compared; None if the runs have none in common."""
    axis: str
    in_steps: bool
    """Whether the steps are those of the runs; others, such as episodes, are at different places in each run."""
    kind: Literal["level", "best"]
    """What is compared: levels, or the best value of each run."""

    @property
    def label(self) -> str:
        """What the metric is called in a sentence: "reward", "loss (val)"."""
        return clean(self.meaning.label or self.name)

    @property
    def count(self) -> int:
        """Number of the runs that have the metric."""
        return sum(own is not None for own in self.runs)

    @property
    def ranked(self) -> list[Row]:
        """The rows that are compared, the best first."""
        return [row for row in self.rows if row.rank]

    def row_of(self, run: int) -> Row | None:
        """Return the row that a run is a part of, or None."""
        return next((row for row in self.rows if run in row.runs), None)

    def difference(self, own: Row, other: Row) -> Difference:
        """Return the difference of two rows. Of single runs it is that of their curves, else by Student's t-test."""
        first, second = ([self.runs[run] for run in row.runs] for row in (own, other))
        if self.kind == "best" or own.n + other.n > 2:
            means = (np.array([run.value for run in runs if run is not None]) for runs in (first, second))
            return difference_of_groups(*means)
        apart, (a,), (b,) = UNKNOWN, first, second
        if a is not None and b is not None and a.places is not None and b.places is not None:
            x, other_x = (np.asarray(own, np.float64) for own in (a.places, b.places))
            apart = difference(x[: len(a.values)], a.values, other_x[: len(b.values)], b.values)
        return apart if apart.is_known else replace(UNKNOWN, value=own.level - other.level)


def compare_rows(
    name: str,
    meaning: Meaning,
    given: Sequence[Measured | None],
    groups: Sequence[Sequence[int]],
    labels: Sequence[str],
    *,
    failures: Sequence[str] = (),
    axis: ComparisonAxis = STEPS,
    in_steps: bool = True,
    kind: Literal["level", "best"] = "level",
) -> MetricRows:
    """Compare a metric of several runs.

    given: the metric in each run; None for a run without it. groups: positions of the runs of each row. failures: what
    casts doubt on each run (`failures_of`).
    """
    scales = axis.scales or (None,) * len(given)
    placed = [own and (own, places_of(own.curve, scale)) for own, scale in zip(given, scales, strict=True)]
    end = common_end([own[1] for own in placed if own is not None], axis.name)
    better = BETTER.get(meaning.direction, "")
    runs = tuple(None if own is None else _result(*own, end, better, kind) for own in placed)
    of_runs = {own.unit for own in runs if own is not None}
    unit, ranked = next(iter(of_runs), "") if len(of_runs) == 1 else "", better if in_steps and len(of_runs) < 2 else ""
    metric = MetricRows(name, meaning, unit, ranked, (), runs, end, axis.name, in_steps, kind)
    rows = [row for group in groups if (row := _row(metric, group, labels, failures)) is not None]
    compared = [row for row in rows if math.isfinite(row.level) and row.end == end]
    if metric.better:
        compared.sort(key=lambda row: row.level, reverse=better == "higher")
        if len(compared) > 1:
            compared = _ranked(metric, compared)
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


def first_line(metric: MetricRows | None) -> str:
    """Return what the first two rows of a metric show. It is one sentence of at most about 20 words.

        lr3e-6 is ahead of lr1e-6: reward 0.6103 against 0.5103; one run each
        No run is ahead in reward: a 0.5103, b 0.5100, within noise; one run each

    A row is ahead if noise does not explain its difference to the next one, and if one of its runs is healthy. "" if
    nothing can be compared.
    """
    if metric is None or not metric.better or not metric.rows:
        return ""
    what = f"best {metric.label}" if metric.kind == "best" else metric.label
    if len(metric.ranked) < 2:
        row = metric.rows[0]
        level, error = (format_number(number, metric.unit) for number in (row.level, row.se))
        return f"{row.name}: mean {what} {level} ± {error} SE" if row.n > 1 else ""
    first, second = metric.ranked[:2]
    own, other = (format_number(row.level, metric.unit) for row in (first, second))
    is_alone = first.n == second.n == 1
    at = "" if metric.axis == "step" else f" at equal {equal_words(metric.axis).removesuffix(' since the start')}"
    if doubt := _doubt(metric, first, second):
        said = f"No run is ahead in {what}: {first.name} {own}, {second.name} {other}{at}, {doubt}"
    else:
        said = f"{first.name} is ahead of {second.name}: {what} {own} against {other}{at}"
    return f"{said}; one run each" if is_alone and second.behind.is_known else said


def main_metric(metrics: Sequence[MetricRows]) -> MetricRows | None:
    """Return the most important metric that has a better direction, or else the first one, of those that two runs have.

    Of a single run it is the metric that would decide; None without any.
    """
    shared = [metric for metric in metrics if metric.count >= min(2, len(metric.runs)) and metric.in_steps]
    judged = [metric for metric in shared if metric.better]
    return min(judged or shared[:1], key=lambda metric: decision_rank(metric.meaning), default=None)


def decision_rank(meaning: Meaning) -> int:
    """Return the position of the concept of a metric in DECIDING, or its length."""
    return DECIDING.index(meaning.concept) if meaning.concept in DECIDING else len(DECIDING)


def _doubt(metric: MetricRows, first: Row, second: Row) -> str:
    """Return why the first row is not ahead of the second; "" if it is."""
    if metric.kind == "best" and first.n == second.n == 1:
        return "best values have no error"
    if not second.behind.is_known:
        return "too few points to judge"
    if second.tied:
        return "equal" if first.level == second.level else "within noise"
    return "the first is not healthy" if len(first.not_healthy) == first.n else ""


def _result(given: Measured, places: Places | None, end: Place | None, better: str, kind: str) -> RunResult:
    """Return the metric in a run. better: the better direction, also of one whose rows are not ranked."""
    curve, factor, unit = given
    values = curve.values if places is None or end is None else curve.values[: _rows_until(places, end)]
    values = values * factor if factor != 1 else values
    own, top = level(values), best(curve.steps[: len(values)], values, better) if better else None
    value = own.value if kind == "level" else math.nan if top is None else top[1]
    is_early = end is not None and places is not None and bool(places[-1] < end)
    return RunResult(curve, factor, unit, places, values, own, top, value, is_early)


def _rows_until(places: Places, place: Place) -> int:
    limit = place if isinstance(place, int) else place + abs(place) * _SAME
    return int(np.searchsorted(places, limit, "right"))


def _ranked(metric: MetricRows, rows: Sequence[Row]) -> list[Row]:
    """Return the rows, the best first, with their ranks and their differences to the first one."""
    first, *others = rows
    ranked: list[Row] = []
    for number, own in enumerate(others, 2):
        behind = metric.difference(own, first)
        is_worse = behind.is_beyond_noise(len(others)) and (behind.value < 0) is (metric.better == "higher")
        tied = not is_worse and all(better.tied for better in ranked)
        ranked.append(replace(own, rank=number, behind=behind, tied=tied))
    return [replace(first, rank=1, tied=any(own.tied for own in ranked)), *ranked]


def _row(metric: MetricRows, group: Sequence[int], labels: Sequence[str], failures: Sequence[str]) -> Row | None:
    """Return the row of a group, None without the metric. Runs that ended early have no result, unless all did."""
    known = {run: own for run in group if (own := metric.runs[run]) is not None}
    if not known:
        return None
    full = tuple(run for run, own in known.items() if not own.ended_early and math.isfinite(own.value))
    runs = full or tuple(known)[:1]
    first, results = known[runs[0]], np.array([known[run].value for run in runs], np.float64)
    mean, deviation, error = float(results[0]), math.nan, math.nan if metric.kind == "best" else first.level.error
    if len(runs) > 1:
        of_runs = statistics(results)
        mean, deviation = of_runs.mean, of_runs.deviation
        error = deviation / math.sqrt(len(runs))
    tops = [top for run in runs if (top := known[run].best) is not None]
    sign = 1.0 if metric.meaning.direction == "down" else -1.0
    return Row(
        _name([labels[run] for run in known]),
        runs,
        tuple(run for run in runs if failures and failures[run]),
        tuple(run for run in known if run not in runs),
        *(mean, error, deviation, float(results.min()), float(results.max())),
        first.places[-1].item() if first.places is not None and first.ended_early else metric.end,
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
