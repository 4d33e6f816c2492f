"""A comparison of runs as one JSON object, for `tuimon compare --json`.

For level, error and noise see analysis.level, for the settings of a sweep analysis.setting_effects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Struct

from tuimon.analysis.comparing import MISSING
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.setting_effects import SettingEffect, SettingEffects
from tuimon.exports._shared import without_secrets
from tuimon.exports.comparison import Comparison, Entry, MetricComparison
from tuimon.exports.documents import (
    Count,
    Direction,
    Number,
    Split,
    State,
    StepValue,
    Version,
    dumps,
    filled,
    known,
    note_entry,
    one_of,
)
from tuimon.exports.seed_table import SeedTable, as_entry
from tuimon.run_notes import RunNote


class ReachesEntry(Struct, frozen=True, kw_only=True):
    """First point at which each run reaches a value."""

    metric: str
    """Metric of the verdict, or else the first one, in the first run that logged it."""
    value: float | None
    steps: tuple[int | None, ...]
    """Step of the first point of which the median of nine, itself and the eight before, reaches the value.

    Null: none does."""
    x: tuple[float | None, ...]
    """Position of the same point on the axis of --x; null: none does, or it has no position."""


class ValueEntry(Struct, frozen=True, kw_only=True):
    """The runs with one value of a setting."""

    value: Any
    level: float | None
    """Level of the runs with this value, by the differences between runs that are otherwise equal."""
    error: float | None
    """Standard error of the level; null if unknown."""
    runs: Count


class EffectEntry(Struct, frozen=True, kw_only=True):
    """A setting that differs, and the results of the runs; no cause is shown."""

    setting: str
    """Dotted name."""
    metric: str
    """Metric of the verdict, in the first run that logged it."""
    step: int | None
    """Step up to which the levels are taken.

    Null if the runs have no steps in common or are compared along another axis."""
    x: float | None
    """Position on the axis of --x up to which the levels are taken; null if the runs have none in common."""
    values: tuple[ValueEntry, ...]
    """Values of a setting with few of them, the best level first; else empty."""
    correlation: float | None
    """Rank correlation of a number with many values with the level, else null.

    It is within runs that are otherwise equal if there are enough."""
    runs: int
    """Number of runs that are compared."""
    share: float
    """Part of the variance of the levels, or of their ranks, that goes with the setting, 0 to 1."""
    beyond_noise: bool
    """Whether noise does not explain the effect (5 %); false if the noise is unknown."""
    noise: Annotated[str, one_of("seeds", "levels", "rest", "settings")] | None
    """What the noise is measured by; null if unknown.

    seeds: runs that differ at most in seeds; levels: the standard errors of the levels; rest: what the effects leave;
    settings: runs that differ in other settings, too."""
    varies_with: tuple[str, ...]
    """Settings that this one cannot be separated from, because no two runs differ in this one only; else empty."""


class ComparedRun(Struct, frozen=True, kw_only=True):
    """A run that is compared."""

    id: int
    name: str
    path: str
    note: RunNote | None
    """The user's note about the run; null: none."""
    state: State
    failure: str | None
    """What casts doubt on the results of the run, such as a critical alert; null: nothing."""
    step: int | None
    best_checkpoint: Mapping[str, Any] | None
    final_metrics: Mapping[str, Any]


class SettingDifference(Struct, frozen=True):
    """A setting that differs."""

    setting: str
    """Dotted name."""
    values: tuple[Any, ...]
    """Of each run; null if it has no such setting."""


class FactDifference(Struct, frozen=True):
    """What the logs say about the runs themselves where it differs."""

    name: str
    values: tuple[Any, ...]
    """Of each run; null if its logs do not say it."""


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of the runs."""

    differences: tuple[SettingDifference, ...]
    same: Mapping[str, Any]
    """Settings that are equal in all runs, by dotted name."""


class Facts(Struct, frozen=True, kw_only=True):
    """What the logs say about the runs themselves."""

    differences: tuple[FactDifference, ...]
    """Host, program, arguments, commit and versions that differ."""


class RunMetric(Struct, frozen=True, kw_only=True):
    """A metric in one run."""

    name: str
    """As this run logs it."""
    unit: str
    """Of the logged values, as in `tuimon summary`."""
    points: Count
    last: Number
    """A logged value."""
    last_step: int
    best: StepValue | None
    at_common_step: float | None
    at_common_seconds: float | None
    mean: float | None
    deviation: float | None
    level: float | None
    """Mean of the last tenth of the points, or of the last 5 if that is more (at most a quarter)."""
    error: float | None
    """Standard error of the level; null if it is of one point."""
    noise: float | None
    """Standard deviation of one point."""
    level_step: int | None
    """Step up to which the level is taken; null if the runs have no steps in common."""
    level_x: float | None
    """Position on the axis of --x up to which the level is taken; null if the runs have none in common."""
    level_points: int
    """Number of points of the level."""
    trend: Direction
    rank: int | None
    """1 is the best level; null if the noise of the level is unknown."""
    joint_rank: int | None
    """Rank of the best of the runs whose difference to that one noise can explain."""
    tied: bool
    """Noise can explain the difference to the best run with the same joint rank."""


class ComparedMetricEntry(Struct, frozen=True, kw_only=True):
    """A metric in all runs."""

    name: str
    """In the first run that logged it."""
    concept: str
    """What it means; other for an unknown name."""
    split: Split
    unit: str | None
    """Of the logged values, as in `tuimon summary`; null if the runs log several."""
    better: Annotated[str, one_of("higher", "lower")] | None
    """Which values are better; null if neither."""
    common_step: int | None
    """Last step that all runs have reached."""
    common_seconds: float | None
    """Time since the start that all runs have reached."""
    runs: tuple[RunMetric | None, ...]
    """One for each run; null if it has no such metric."""


class CompareDocument(Struct, frozen=True, kw_only=True):
    """A comparison of runs. Lists by run have the order of the runs."""

    schema: Version = 1
    verdict: str
    """One sentence: which run is ahead, by how much, and what else differs; empty if nothing can be said."""
    speed: str
    """One sentence: which run takes less time for a step than the other, or than the slowest, and in which phase.

    Empty if noise explains the difference or nothing can be said."""
    at_equal_counter: str
    """One sentence: the metric of the verdict where the runs have counted as many tokens, samples or epochs.

    Empty if these hardly differ at equal steps, or are not logged."""
    axis: str
    """Axis of --x along which the runs are compared; time is duration, the time since the start."""
    reaches: ReachesEntry | None
    """First point at which each run reaches the value of --reaches; null without this option."""
    seeds: SeedTable | None
    """Runs that differ only in their seed; null without such runs."""
    effects: tuple[EffectEntry, ...]
    """Settings that differ, except seeds, with the results of at least four runs.

    At most five, the largest share first, those last that cannot be separated from others."""
    runs: tuple[ComparedRun, ...]
    config: Settings
    about: Facts
    metrics: tuple[ComparedMetricEntry, ...]


def as_json(comparison: Comparison, now: float) -> str:
    """Return the JSON object. now: wall time (s since epoch)."""
    runs = (
        ComparedRun(
            id=run.id,
            name=label,
            path=run.path,
            note=note_entry(run.path),
            state=progress_of(run, now).state,
            failure=failure or None,
            step=run.last_step,
            best_checkpoint=without_secrets(run.best_checkpoint) if run.best_checkpoint else None,
            final_metrics=without_secrets(run.final_metrics),
        )
        for run, label, failure in zip(comparison.runs, comparison.labels, comparison.failures, strict=True)
    )
    seeds, effects = comparison.table, comparison.effects
    settings = (SettingDifference(name, _values(values)) for name, values in comparison.differences)
    facts = (FactDifference(name, _values(values)) for name, values in comparison.about)
    document = filled(
        CompareDocument,
        comparison,
        axis=comparison.axis.name,
        reaches=_reaches(comparison),
        seeds=as_entry(seeds, comparison.labels) if seeds is not None else None,
        effects=tuple(_effect(effect, effects) for effect in effects.effects) if effects is not None else (),
        runs=tuple(runs),
        config=Settings(differences=tuple(settings), same=dict(comparison.same)),
        about=Facts(differences=tuple(facts)),
        metrics=tuple(_metric(metric) for metric in comparison.metrics),
    )
    return dumps(document)


def _reaches(comparison: Comparison) -> ReachesEntry | None:
    metric = comparison.main_metric
    if metric is None or comparison.reaches is None:
        return None
    steps = tuple(None if own is None else own[0] for own in comparison.reached)
    places = tuple(None if own is None else own[1] for own in comparison.reached)
    return ReachesEntry(metric=metric.name, value=known(comparison.reaches), steps=steps, x=places)


def _values(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if value is MISSING else value for value in values)


def _effect(effect: SettingEffect, effects: SettingEffects) -> EffectEntry:
    return filled(
        EffectEntry,
        effect,
        setting=effect.name,
        metric=effects.metric,
        step=effects.step if isinstance(effects.step, int) else None,
        x=effects.step,
        values=tuple(filled(ValueEntry, value) for value in effect.values),
        correlation=known(effect.rank.rho) if effect.rank is not None and not effect.values else None,
        beyond_noise=effect.is_beyond_noise,
        noise=effect.noise or None,
    )


def _metric(metric: MetricComparison) -> ComparedMetricEntry:
    return filled(
        ComparedMetricEntry,
        metric,
        concept=metric.meaning.concept,
        split=metric.meaning.split,
        unit=metric.logged_unit,
        better=metric.better or None,
        runs=tuple(_entry(entry) if entry else None for entry in metric.entries),
    )


def _entry(entry: Entry) -> RunMetric:
    summary, level = entry.summary, entry.level
    return filled(
        RunMetric,
        entry,
        name=summary.name,
        unit=summary.meaning.logged_unit,
        points=len(summary.curve),
        last=summary.last,
        last_step=summary.last_step,
        best=StepValue(*summary.best) if summary.best else None,
        at_common_step=known(entry.at_step),
        at_common_seconds=known(entry.at_time),
        mean=known(summary.numbers.mean),
        deviation=known(summary.numbers.deviation),
        level=known(level.value),
        error=known(level.error),
        noise=known(level.noise),
        level_points=level.count,
        trend=summary.trend.direction,
        rank=entry.rank or None,
        joint_rank=entry.joint_rank or None,
    )
