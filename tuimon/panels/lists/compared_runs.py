"""compared_runs(): runs side by side, before they are laid out for a screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from tuimon.analysis.aligned_steps import counts_alike
from tuimon.analysis.compared_metric import ComparedMetric, compared_metric
from tuimon.analysis.comparing import aligned, compared_settings, distinct_names, first_name, project_of
from tuimon.analysis.comparison_axis import STEPS, ComparisonAxis, comparison_axis
from tuimon.analysis.level import Level
from tuimon.analysis.seed_means import SeedMeans, seed_means
from tuimon.analysis.verdict import deciding_metric, decision_rank, main_metric
from tuimon.panels._metrics import MetricReading, curves_and_factors, reading_of
from tuimon.panels._run_facts import headlines_first, settings_of
from tuimon.store import Run
from tuimon.text import clean


class RunComparison(Struct, frozen=True, eq=False):
    """Runs side by side, whatever the size of the screen; the first is the one that the others are compared with."""

    runs: tuple[Run, ...]
    names: tuple[str, ...]
    """Names of the runs, shortened as far as they stay distinct."""
    failures: tuple[str, ...]
    """What casts doubt on each run (`failures_of`); () if all are healthy."""
    differences: tuple[tuple[str, tuple[Any, ...]], ...]
    """Settings that differ, as (name, value in each run, or MISSING)."""
    same: int
    """Number of settings that are the same."""
    metrics: tuple[ComparedMetric, ...]
    """Metrics that at least two runs have, the most relevant first."""
    levels: tuple[tuple[tuple[Level, Level | None] | None, ...], ...]
    """For each metric and run its level, and that of the first run, both up to the last position that both have
    reached; the other is None for the first run or if it has no such metric. None for a run without the metric."""
    seeds: SeedMeans | None
    """Results of runs that differ only in their seed, on the `main_metric`; None without such runs."""
    axis: ComparisonAxis
    """Axis along which the runs are compared."""


def compared_runs(runs: Sequence[Run], failures: Sequence[str] = (), x: str = "step") -> RunComparison:
    """Compare runs. failures: what casts doubt on each run (`failures_of`). x: axis, see `comparison_axis`."""
    axis = comparison_axis(runs, x)
    names = distinct_names([clean(run.name) for run in runs])
    differences, same = compared_settings([settings_of(run) for run in runs])
    metrics = compared_metrics(runs, axis)
    levels = tuple(tuple(_levels(metric, index) for index in range(len(runs))) for metric in metrics)
    main, projects = main_metric(metrics), [project_of(run.path) for run in runs]
    means = seed_means(main, differences, projects, failures, [run.name for run in runs]) if main is not None else None
    return RunComparison(
        tuple(runs), names, tuple(failures), differences, len(same), tuple(metrics), levels, means, axis
    )


def _levels(metric: ComparedMetric, index: int) -> tuple[Level, Level | None] | None:
    """Return an item of `RunComparison.levels`."""
    own, base = metric.levels[index], metric.levels[0] if index else None
    return None if own is None else (own, None) if base is None else metric.pair(index, 0)[:2]


def compared_metrics(runs: Sequence[Run], axis: ComparisonAxis = STEPS) -> list[ComparedMetric]:
    """Return the metrics that at least two runs have, the most relevant first."""
    compared = (compared_readings(name, readings, axis) for name, readings in _aligned_readings(runs))
    return [metric for metric in compared if metric is not None]


def compared_deciding_metric(runs: Sequence[Run], axis: ComparisonAxis = STEPS) -> ComparedMetric | None:
    """Return the `deciding_metric` of `compared_metrics`; the levels of less important ones are not computed."""

    def rank(item: tuple[str, Sequence[MetricReading | None]]) -> int:
        return decision_rank(next(reading.meaning for reading in item[1] if reading is not None))

    several = [item for item in _aligned_readings(runs) if sum(reading is not None for reading in item[1]) > 1]
    compared = (compared_readings(name, readings, axis) for name, readings in sorted(several, key=rank))
    return next((metric for metric in compared if metric is not None and deciding_metric([metric]) is not None), None)


def _aligned_readings(runs: Sequence[Run]) -> Iterator[tuple[str, Sequence[MetricReading | None]]]:
    """Yield (name, reading of each run or None) of the metrics of runs, the most relevant first."""
    main = [[name for name in run.metrics if counts_alike(run, name)] for run in runs]
    for names in aligned(main, headlines_first(runs)):
        yield (
            first_name(names),
            [reading_of(run, [name]) if name else None for run, name in zip(runs, names, strict=True)],
        )


def compared_readings(
    name: str, readings: Sequence[MetricReading | None], axis: ComparisonAxis = STEPS
) -> ComparedMetric | None:
    """Return the metric of the runs with these readings; None if fewer than two runs have it."""
    known = [reading for reading in readings if reading is not None]
    if len(known) < 2:
        return None
    return compared_metric(name, known[0].meaning, *curves_and_factors(readings), axis=axis)


def best_first(comparison: RunComparison) -> list[int]:
    """Return the positions of the runs: the first run, the others by their levels of the metric of the verdict, and
    those without a level."""
    deciding = deciding_metric(comparison.metrics)
    levels = [None] * len(comparison.runs) if deciding is None else deciding.levels
    sign = 1 if deciding is not None and deciding.meaning.direction == "down" else -1

    def key(position: int) -> tuple[bool, float]:
        own = levels[position]
        return (False, sign * own.value) if own is not None and own.is_known else (True, 0.0)

    return [0, *sorted(range(1, len(levels)), key=key)]
