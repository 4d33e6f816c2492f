"""Compare runs: align their metrics, rank the runs on each metric, and find the settings that differ."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import common_step_name, counts_alike
from tuimon.analysis.compared_metric import ComparedMetric, compared_metric
from tuimon.analysis.comparing import common_step, compared_settings, first_name, flat, project_of
from tuimon.analysis.comparison_axis import STEPS, ComparisonAxis, Place, comparison_axis
from tuimon.analysis.comparison_limits import limits
from tuimon.analysis.equal_counter import at_equal_counter
from tuimon.analysis.level import Level
from tuimon.analysis.reaching import row_reaching
from tuimon.analysis.run_states import failures_of
from tuimon.analysis.seed_means import SeedMeans, seed_means
from tuimon.analysis.setting_effects import SettingEffects, effects_on
from tuimon.analysis.speed import speed_difference
from tuimon.analysis.verdict import deciding_metric, main_metric, verdict
from tuimon.analysis.words import setting_text
from tuimon.draw.numbers import format_duration, format_exact, format_value
from tuimon.exports._across_runs import metrics_across, run_labels
from tuimon.exports._shared import without_secrets
from tuimon.exports.metrics import BETTER, MetricSummary, summarise
from tuimon.model.alerts import Alert
from tuimon.panels import comparable_facts
from tuimon.store import Curve, Run, Scale
from tuimon.text import clean
from tuimon.vocabulary import Meaning, unit_text


class Entry(Struct, frozen=True):
    """One run on one metric."""

    summary: MetricSummary
    level: Level
    level_step: int | None
    """Step up to which the level is taken; None if the runs have no steps in common."""
    level_x: float | None
    """Position on the axis of the comparison up to which the level is taken; None if the runs have none in common."""
    at_step: float
    """Value at the common step; NaN if the run has none."""
    at_time: float
    """Value at the common time since the start; NaN if the run has none."""
    rank: int
    """1 is the best level; 0 if the metric has no better direction or the noise of the level is unknown."""
    joint_rank: int
    """Rank that the run shares with the best run from which noise can explain its difference; 0 without a rank."""
    is_joint: bool
    """Whether several runs have this joint rank."""

    @property
    def tied(self) -> bool:
        """Whether a better run has the same joint rank, so that noise can explain the difference to it."""
        return self.joint_rank < self.rank

    @property
    def rank_text(self) -> str:
        """The joint rank, with "=" if other runs have it, too, or "-" without a rank."""
        return f"{self.joint_rank}{'=' * self.is_joint}" if self.rank else "-"

    @property
    def error_text(self) -> str:
        """The standard error of the level, or the reason why it is unknown."""
        points = {0: "not finite", 1: "1 point"}
        return points.get(self.level.count) or format_value(self.level.error)


class MetricComparison(Struct, frozen=True):
    """One metric in all runs."""

    name: str
    """Its name in the first run that logged it."""
    meaning: Meaning
    common_step: int | None
    """Last step that all runs with the metric have reached."""
    common_seconds: float
    """Longest time since the start (s) that all runs with the metric have reached; NaN if unknown."""
    entries: tuple[Entry | None, ...]
    """One per run, in order; None if the run has no such metric."""
    compared: ComparedMetric

    @property
    def better(self) -> str:
        """The better direction: "higher", "lower" or "" (no direction)."""
        return BETTER.get(self.meaning.direction, "")

    @property
    def logged_unit(self) -> str | None:
        """Unit of the logged values, as Meaning.logged_unit; None if the runs log several units."""
        units = {entry.summary.meaning.logged_unit for entry in self.entries if entry is not None}
        return units.pop() if len(units) == 1 else None

    @property
    def unit(self) -> str:
        """Unit of the logged values, as text; "" for plain numbers, or if the runs log several units."""
        return clean(unit_text(self.logged_unit or ""))

    @property
    def shared(self) -> int:
        """Number of runs that have the metric."""
        return sum(entry is not None for entry in self.entries)

    def ranked(self, names: Sequence[str]) -> list[tuple[str, Entry]]:
        """Return (name, entry) of the runs that have the metric, the best first if there is a better direction."""
        pairs = [(name, entry) for name, entry in zip(names, self.entries, strict=True) if entry is not None]
        return sorted(pairs, key=lambda pair: pair[1].rank or len(pairs) + 1) if self.better else pairs


class Comparison(Struct, frozen=True):
    """The result of `compare`."""

    runs: tuple[Run, ...]
    labels: tuple[str, ...]
    """Names of the runs, made unique."""
    differences: tuple[tuple[str, tuple[Any, ...]], ...]
    """Settings that differ, as (name, value in each run, or MISSING)."""
    same: tuple[tuple[str, Any], ...]
    """Settings that all runs share, as (name, value)."""
    about: tuple[tuple[str, tuple[Any, ...]], ...]
    """What else differs between the runs: host, program, arguments, git commit, versions, as the settings."""
    metrics: tuple[MetricComparison, ...]
    """The most important first."""
    failures: tuple[str, ...]
    """What casts doubt on the results of each run, see `failures_of`; "" for a healthy run."""
    seeds: SeedMeans | None = None
    """Results of runs that differ only in their seed, on the `main_metric`; None without such runs."""
    best_seeds: SeedMeans | None = None
    """As `seeds`, with the best value of each run as its result, if that was asked for."""
    reaches: float | None = None
    """Value of the `main_metric` of which the first step is asked for."""
    axis: ComparisonAxis = STEPS
    """Axis along which the runs are compared."""

    @property
    def verdict(self) -> str:
        """One sentence: which run is ahead, and what else differs most, or the result of runs that differ only in their
        seed; "" if nothing decides it."""
        compared = [metric.compared for metric in self.metrics]
        means = self.table if self.table is not None and len(self.table.groups) == 1 else self.seeds
        return verdict(self.labels, compared, self.differences, common_step_name(self.runs), means, self.failures)

    @property
    def table(self) -> SeedMeans | None:
        """Results of runs that differ only in their seed: of the best values if they were asked for, or the levels."""
        return self.best_seeds or self.seeds

    @property
    def speed(self) -> str:
        """One sentence: which run takes less time for a step, and in which phase; "" if noise explains it."""
        return speed_difference(self.labels, self.runs)

    @property
    def at_equal_counter(self) -> str:
        """One sentence: the metric of the verdict at equal tokens, samples or epochs, if they differ at equal steps."""
        return at_equal_counter(self.labels, self.runs, self.deciding)

    @property
    def deciding(self) -> ComparedMetric | None:
        """The metric of the verdict; None if no metric with a better direction is known of two runs."""
        return deciding_metric([metric.compared for metric in self.metrics])

    @property
    def main_metric(self) -> ComparedMetric | None:
        """The metric of the verdict, or else the first one; None without a metric that two runs have."""
        return main_metric([metric.compared for metric in self.metrics])

    @property
    def reached(self) -> tuple[tuple[int, Place | None] | None, ...]:
        """(step, position on the axis) of the first point at which each run reaches the value of `reaches`.

        See `row_reaching`. None for a run that does not reach it; () without the value.
        """
        metric, value = self.main_metric, self.reaches
        if metric is None or value is None:
            return ()
        falls = metric.meaning.direction == "down"
        return tuple(
            None
            if curve is None or (row := row_reaching(curve, value, falls)) is None
            else (int(curve.steps[row]), own[row].item() if own is not None else None)
            for curve, own in zip(metric.curves, metric.places, strict=True)
        )

    @property
    def reached_texts(self) -> list[str]:
        """Step at which each run reaches the value of `reaches`, or exact position on another axis; or "never"."""
        if self.axis.name == "step":
            return ["never" if own is None else str(own[0]) for own in self.reached]
        return ["never" if own is None else self._place_text(*own) for own in self.reached]

    def _place_text(self, step: int, place: Place | None) -> str:
        if place is None:
            return f"step {step}"
        return format_duration(place) if self.axis.name == "duration" else format_exact(place)

    @property
    def effects(self) -> SettingEffects | None:
        """Effects of the settings that differ between at least four runs on the metric of the verdict."""
        return effects_on(self.deciding, self.differences, self.failures)

    @property
    def limits(self) -> str:
        """Up to which steps the runs of the verdict are compared; "" if up to the ends of all."""
        compared = [metric.compared for metric in self.metrics if metric.shared > 1]
        return limits(self.labels, compared, word=common_step_name(self.runs))


def compare(
    runs: Sequence[Run],
    selected: Collection[str] | None = None,
    show_secrets: bool = False,
    alerts: Iterable[Alert] = (),
    reaches: float | None = None,
    x: str = "step",
    best: bool = False,
) -> Comparison:
    """Compare runs.

    selected: names of the metrics to compare; None: all metrics. alerts: those of the runs. reaches: see `Comparison`.
    x: axis along which they are compared, see `comparison_axis`. best: also compute `Comparison.best_seeds`.
    """
    axis = comparison_axis(runs, x)

    def wanted(names: Sequence[str | None]) -> bool:
        return selected is None or any(name in selected for name in names)

    differences, same = compared_settings([without_secrets(run.config, show_secrets) for run in runs])
    about, _ = compared_settings([without_secrets(comparable_facts(run), show_secrets) for run in runs])
    metrics = tuple(_metric(runs, names, axis) for names in metrics_across(runs) if wanted(names))
    failures = failures_of([run.id for run in runs], alerts)
    main = main_metric([metric.compared for metric in metrics])
    projects = [project_of(run.path) for run in runs]
    names = [run.name for run in runs]
    seeds = seed_means(main, differences, projects, failures, names) if main is not None else None
    tops = next((_best_values(metric) for metric in metrics if best and metric.compared is main), None)
    best_seeds = seed_means(tops, differences, projects, failures, names, "best values") if tops is not None else None
    return Comparison(
        tuple(runs), run_labels(runs), differences, same, about, metrics, failures, seeds, best_seeds, reaches, axis
    )


def _best_values(metric: MetricComparison) -> ComparedMetric | None:
    """Return the metric with the best value of each run in place of its level; None without a better direction."""
    if not metric.better:
        return None
    tops = [entry.summary.best if entry is not None else None for entry in metric.entries]
    factors = metric.compared.factors
    levels = tuple(
        Level(top[1] * factor, 0.0, 0.0, 1) if top else None for top, factor in zip(tops, factors, strict=True)
    )
    return ComparedMetric(metric.name, metric.meaning, levels)


def checkpoint_rows(comparison: Comparison, limit: int) -> list[tuple[str, list[str]]]:
    """Return (name, cell of each run) of the best checkpoints, or final metrics, without secrets; cleaned."""
    checkpoints = [dict(flat(without_secrets(run.best_checkpoint or run.final_metrics))) for run in comparison.runs]
    keys = dict.fromkeys(key for checkpoint in checkpoints for key in checkpoint)
    return [(clean(key), [setting_text(c[key], limit) if key in c else "" for c in checkpoints]) for key in keys]


# ---------------------------------------------------------------------- metrics


def _metric(runs: Sequence[Run], names: Sequence[str | None], axis: ComparisonAxis) -> MetricComparison:
    summaries = [summarise(run, name) if name else None for run, name in zip(runs, names, strict=True)]
    present = [summary for summary in summaries if summary is not None]
    meaning = next((summary.meaning for summary in present if summary.best), present[0].meaning)
    curves = [summary.curve for summary in present]
    step = common_step(curves) if len(curves) > 1 else None
    clocks = [run.scale("duration") if run.has_axis("duration") else Scale("duration") for run in runs]
    seconds = _common_seconds([(s.curve, clock) for s, clock in zip(summaries, clocks, strict=True) if s is not None])
    in_steps = all(counts_alike(run, name) for run, name in zip(runs, names, strict=True) if name)
    all_curves = [summary.curve if summary else None for summary in summaries]
    compared = compared_metric(first_name(names), meaning, all_curves, in_steps=in_steps, axis=axis)
    ranks = _ranks(compared.levels, BETTER.get(meaning.direction) if in_steps else None)
    entries = [
        Entry(
            summary,
            run_level,
            compared.step_of_end(index),
            end,
            summary.curve.value_at(step) if step is not None else math.nan,
            _value_after(summary.curve, seconds, clock) if math.isfinite(seconds) else math.nan,
            *rank,
        )
        if summary is not None and run_level is not None
        else None
        for index, (summary, run_level, end, rank, clock) in enumerate(
            zip(summaries, compared.levels, compared.ends, ranks, clocks, strict=True)
        )
    ]
    return MetricComparison(compared.name, meaning, step, seconds, tuple(entries), compared)


def _ranks(levels: Sequence[Level | None], better: str | None) -> list[tuple[int, int, bool]]:
    """Return (rank, joint rank, whether it is joint) for each level; see Entry.

    A level joins the group above it if noise can explain its difference to the best level of that group. Comparing it
    with the level just above it would join all levels of a long list in which each is close to the next.
    """
    ranks = [(0, 0, False)] * len(levels)
    known = [(i, item) for i, item in enumerate(levels) if item is not None and item.is_known]
    if better is None or len(known) < 2:
        return ranks
    known.sort(key=lambda pair: pair[1].value, reverse=better == "higher")
    groups: list[list[tuple[int, Level]]] = []
    for i, item in known:
        if groups and item.is_within_noise_of(groups[-1][0][1]):
            groups[-1].append((i, item))
        else:
            groups.append([(i, item)])
    rank = 0
    for group in groups:
        joint_rank = rank + 1
        for i, _ in group:
            rank += 1
            ranks[i] = (rank, joint_rank, len(group) > 1)
    return ranks


def last_values(metric: MetricComparison) -> list[str]:
    """Return the last value of each run with its unit; "" for a run without the metric."""
    return [format_value(e.summary.last, e.summary.unit) if e is not None else "" for e in metric.entries]


def _common_seconds(curves: Sequence[tuple[Curve, Scale]]) -> float:
    spans = [span for curve, clock in curves if (span := curve.limits(clock)) is not None]
    if len(curves) < 2 or len(spans) < len(curves):
        return math.nan
    last = min(high for _, high in spans)
    return last if last >= max(low for low, _ in spans) and last > 0 else math.nan


def _value_after(curve: Curve, seconds: float, clock: Scale) -> float:
    """Return the latest value that was logged within `seconds` of the start of the run, or NaN."""
    times = curve.x_of_rows(np.arange(len(curve)), clock)
    before = np.flatnonzero(times <= seconds)
    return float(curve.values[before[np.argmax(times[before])]]) if len(before) else math.nan
