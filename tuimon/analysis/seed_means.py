"""seed_means(): the results of runs that differ only in their seed as groups, and which group is ahead.

The result of a group is the mean of the levels of all of its runs, also of those that are not healthy, all up to one
step. SD is the standard deviation of these levels, SE = SD / sqrt(runs). Two groups differ by

    difference ± sqrt(sum of s[i]^2 / n[a]^2 + sum of s[i]^2 / n[b]^2)

where s is the noise of each run (`run_noise`: the SD of its own group from 3 runs on) and n the number of runs; the
difference is beyond noise if Student's t says so (5 %). A group with runs that are not healthy has its result without
them, too.

If no setting is a seed, the names of the runs say which runs differ only in their seed: x_s0, x_s1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.compared_metric import ComparedMetric
from tuimon.analysis.comparing import has_fold, is_seed, numbers_folds, seedless_name, without_seed
from tuimon.analysis.comparison_axis import Place
from tuimon.analysis.matched_runs import combined, matched_runs
from tuimon.analysis.run_noise import Noise, chance_of, run_noise
from tuimon.draw.numbers import format_value
from tuimon.model.points import Floats, Steps
from tuimon.text import clean, first_names

_UNCERTAIN = 0.05
"""Probability with which noise alone is called a difference."""
SEED_HEADS = ("n", "mean", "SD", "SE", "min", "max")
"""Heads of the numbers of `seed_cells`."""


class SeedMean(Struct, frozen=True):
    """Result of runs that differ only in their seed."""

    runs: tuple[int, ...]
    """Positions of the runs."""
    mean: float
    deviation: float
    """Standard deviation of the levels of the runs (SD); NaN for one run."""
    low: float
    high: float

    @property
    def error(self) -> float:
        """Standard error of the mean (SE); NaN for one run."""
        return self.deviation / math.sqrt(len(self.runs))


class SeedGroup(Struct, frozen=True):
    """Runs that differ only in their seed."""

    every: SeedMean
    """Result of all runs that have one."""
    failed: tuple[int, ...]
    """Positions of the runs that are not healthy, a part of `every`."""
    healthy: SeedMean | None
    """Result without the runs that are not healthy; None if there are none or no others."""
    missing: tuple[int, ...]
    """Positions of the runs without a result: they ended too early, or their levels are not finite."""
    settings: tuple[Any, ...]
    """Values of the settings of `SeedMeans.settings`."""


class Difference(Struct, frozen=True):
    """Difference of the means of two groups."""

    value: float
    error: float
    """Standard error of the difference; NaN if neither enough seeds nor enough points of the curves are known."""
    is_beyond_noise: bool
    noise: str
    """Measure of the noise: "own" deviations of the groups, "pooled" over all groups, or "levels" of the runs."""


class SeedMeans(Struct, frozen=True):
    """The groups, the best first, or in the order of their runs if the metric has no better direction."""

    metric: ComparedMetric
    groups: tuple[SeedGroup, ...]
    settings: tuple[str, ...]
    """Names of the settings that differ between the groups."""
    step: Place | None
    """Step, or position on another axis, up to which the levels are taken, if some runs go on; else None."""
    limit: Place | None
    """Step, or position on another axis, up to which the levels are taken; None if the runs have no steps in common."""
    by_name: bool = False
    """Whether no run logs a seed that differs, so that the groups are those of the names."""
    part: str = "seed"
    """What the runs of a group differ in: "seed", or "fold" of a cross-validation."""
    results: str = "levels"
    """What the results of the runs are: their "levels" or "best values"."""

    @property
    def reason(self) -> str:
        """Text that says that the groups are those of the names; "" if a setting shows them."""
        return f"by their names: no logged {self.part} differs" if self.by_name else ""

    @property
    def points(self) -> str:
        """How many points the levels are means of, if some are single points: "1 point each" or "1 to 5 points"."""
        levels = self.metric.levels_until(self.limit)
        counts = [level.count for group in self.groups for run in group.every.runs if (level := levels[run])]
        if self.results != "levels" or min(counts) > 1:
            return ""
        return "1 point each" if max(counts) == 1 else f"1 to {max(counts)} points"

    def name_of(self, labels: Sequence[str], runs: Sequence[int]) -> str:
        """Return "lr3e-6 (3 seeds)", or "run4 with 2 other seeds" if the names have more in them than seeds."""
        name, count = labels[runs[0]], len(runs)
        if count == 1:
            return clean(name)
        common = {seedless_name(labels[index]) for index in runs}
        if len(common) == 1:
            return f"{clean(common.pop())} ({count} {self.part}s)"
        return f"{clean(name)} with {count - 1} other {self.part}{'s' * (count > 2)}"

    def difference(self, first: SeedMean, second: SeedMean, without: Iterable[int] = ()) -> Difference:
        """Return the difference of two groups. without: positions of runs that are not considered at all."""
        left_out = frozenset(without)
        levels = self.metric.levels_until(self.limit)
        cells = {run: cell for cell, group in enumerate(self.groups) for run in group.every.runs if run not in left_out}
        known = [levels[run] for run in cells]
        results = np.array([level.value for level in known if level], np.float64)
        errors = np.array([level.error for level in known if level], np.float64)
        failed = {run for group in self.groups for run in group.failed}
        healthy = np.array([run not in failed for run in cells], np.bool_)
        scale = float(np.abs(results).max()) or 1.0  # so that no square overflows
        codes: Steps = np.unique(list(cells.values()), return_inverse=True)[1]
        noise = run_noise(results / scale, codes, errors / scale, healthy)
        rows = {run: row for row, run in enumerate(cells)}
        weights = np.zeros(len(cells))
        for sign, mean in ((1.0, first), (-1.0, second)):
            weights[[rows[run] for run in mean.runs]] = sign / len(mean.runs)
        value = float(weights @ (results / scale))
        error, freedom = noise.error(weights)
        is_beyond = value != 0 and (error == 0 or chance_of(value / error, freedom) < _UNCERTAIN)
        return Difference(value * scale, error * scale, is_beyond, _measure(noise, weights))


def _measure(noise: Noise, weights: Floats) -> str:
    if noise.source != "seeds":
        return "levels"
    return "pooled" if noise.is_pooled(np.flatnonzero(weights)) else "own"


def seed_means(
    metric: ComparedMetric,
    settings: Sequence[tuple[str, Sequence[Any]]],
    projects: Sequence[str] = (),
    failures: Sequence[str] = (),
    names: Sequence[str] = (),
    kind: str = "levels",
) -> SeedMeans | None:
    """Return the groups; None if no runs differ only in their seed.

    settings: (name, value in each run) that differ. projects: project of each run, see `project_of`; runs of different
    ones are in different groups. Without it, all are of one project. failures: what casts doubt on each run
    (`failures_of`). names: whole names of the runs, which have the seeds if no setting is a seed. kind: what the
    levels of the metric are, "levels" or "best values".
    """
    seeds = [name for name, _ in settings if is_seed(name)]
    by_name, named = not seeds, [name for name in names if without_seed(name) != name]
    if by_name and not named:
        return None
    part = "fold" if all(map(numbers_folds, seeds) if seeds else map(has_fold, named)) else "seed"
    having = [index for index, level in enumerate(metric.levels) if level is not None]
    runs = matched_runs([(name, [values[index] for index in having]) for name, values in settings])
    cells = runs.cells if settings else np.zeros(len(having), np.int64)
    if by_name:
        cells = combined(cells, _codes_of_names([names[index] for index in having]))
    if projects:
        cells = combined(cells, _codes([projects[index] for index in having]))
    members: dict[int, list[int]] = {}
    for index, cell in zip(having, cells.tolist(), strict=True):
        members.setdefault(cell, []).append(index)
    step = _comparable_step(metric, tuple(members.values()), failures)
    levels = metric.levels_until(step)
    results = {index: level.value for index, level in enumerate(levels) if level and math.isfinite(level.value)}
    rows = {index: row for row, index in enumerate(having)}
    groups = [
        _group(group, results, failures, tuple(values[rows[group[0]]] for values in runs.values.values()))
        for group in members.values()
        if any(index in results for index in group)
    ]
    if all(len(group.every.runs) < 2 for group in groups):
        return None
    if metric.meaning.direction in ("up", "down"):
        groups.sort(key=lambda group: group.every.mean, reverse=metric.meaning.direction == "up")
    goes_on = len({end for end in metric.ends if end is not None}) > 1
    return SeedMeans(metric, tuple(groups), tuple(runs.values), step if goes_on else None, step, by_name, part, kind)


def _comparable_step(metric: ComparedMetric, groups: Sequence[Sequence[int]], failures: Sequence[str]) -> Place | None:
    """Return the last position that the groups are compared at, see `ComparedMetric.comparable_step`.

    On another axis than steps it is the last one that all groups of healthy runs reach: with half the batch size, whole
    groups end after half of the tokens. In steps a group that ends that early was stopped and has no result.
    """
    step = metric.comparable_step
    if step is None or metric.axis == "step":
        return step
    is_failed = [bool(failures and failures[index]) for index in range(len(metric.levels))]
    healthy = ([index for index in group if not is_failed[index]] for group in groups)
    ends = [metric.comparable_step_of(group) for group in healthy if len(group) > 1]
    reached = min((end for end in ends if end is not None), default=step)
    begins = max(own[0].item() for own in metric.places if own is not None)
    return min(step, reached) if begins <= reached else step


def _codes_of_names(names: Sequence[str]) -> Steps:
    """Return numbers that are equal where names differ only in their seed; names without a seed have their own."""
    bare = [without_seed(name) for name in names]
    return _codes([own if own != name else index for index, (name, own) in enumerate(zip(names, bare, strict=True))])


def _codes(keys: Sequence[str | int]) -> Steps:
    """Return numbers that are equal where the keys are."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], np.int64)


def _group(
    members: Sequence[int], results: dict[int, float], failures: Sequence[str], settings: tuple[Any, ...]
) -> SeedGroup:
    known = tuple(index for index in members if index in results)
    failed = tuple(index for index in known if failures and failures[index])
    rest = tuple(index for index in known if index not in failed)
    healthy = _mean(rest, results) if failed and rest else None
    missing = tuple(index for index in members if index not in results)
    return SeedGroup(_mean(known, results), failed, healthy, missing, settings)


def _mean(runs: tuple[int, ...], results: dict[int, float]) -> SeedMean:
    values = np.array([results[run] for run in runs], np.float64)
    scale = float(np.abs(values).max()) or 1.0
    deviation = float((values / scale).std(ddof=1)) * scale if len(runs) > 1 else math.nan
    return SeedMean(runs, float((values / scale).mean()) * scale, deviation, float(values.min()), float(values.max()))


def names_of(labels: Sequence[str], runs: Sequence[int]) -> str:
    """Return "a", "a and b" or "a, b and 3 more"."""
    names = [clean(labels[run]) for run in runs]
    return first_names(names, 2) if len(names) > 2 else " and ".join(names)


class MeanRow(Struct, frozen=True):
    """A row of the table of groups."""

    name: str
    result: SeedMean
    group: SeedGroup
    left_out: tuple[int, ...]
    """Positions of the runs that are not healthy and not a part of the result."""
    remark: str
    """Runs that are left out or have no result."""


def mean_rows(means: SeedMeans, labels: Sequence[str]) -> Iterator[MeanRow]:
    """Yield a row for each group, and one without the runs that are not healthy for a group with such runs."""
    for group in means.groups:
        name = means.name_of(labels, group.every.runs)
        missing = f"{names_of(labels, group.missing)} without a result" if group.missing else ""
        failed = f"with {names_of(labels, group.failed)}, not healthy" if group.failed else ""
        yield MeanRow(name, group.every, group, (), "; ".join(filter(None, (failed, missing))))
        if group.healthy is not None:
            without = f"without {names_of(labels, group.failed)}"
            yield MeanRow(means.name_of(labels, group.healthy.runs), group.healthy, group, group.failed, without)


def seed_title(means: SeedMeans, word: str) -> str:
    """Return the heading of the table. word: what the steps of the runs count."""
    metric = means.metric
    until = f" up to {metric.place_text(means.step, word)}" if means.step is not None else ""
    reason = f" ({means.reason})" if means.by_name else ""
    runs = f"runs that differ only in their {means.part}{reason}"
    results = f"{means.results} ({means.points})" if means.points else means.results
    return f"{clean(metric.name)}{until}: mean, SD and SE of the {results} of {runs}"


def seed_cells(row: MeanRow) -> list[str]:
    """Return the numbers of a row in the order of SEED_HEADS, rounded."""
    own = row.result
    numbers = (own.mean, own.deviation, own.error, own.low, own.high)
    return [str(len(own.runs)), *("-" if math.isnan(number) else format_value(number) for number in numbers)]
