"""summarise(): a metric in numbers, as one struct that text, JSON and HTML show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import with_training_steps
from tuimon.analysis.change import change
from tuimon.analysis.comparison_rows import BETTER
from tuimon.analysis.hidden_values import hidden_values
from tuimon.analysis.level import level
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.statistics import best, statistics
from tuimon.analysis.words import steps_text
from tuimon.draw.numbers import format_value
from tuimon.draw.table import TextColumn
from tuimon.exports.documents import Count, Direction, Number, Split, StepValue, filled, known
from tuimon.model.points import Floats, Steps
from tuimon.panels import SECONDARY_PANELS, relevant_metrics
from tuimon.store import Curve, Run
from tuimon.store.arrays import distinct
from tuimon.text import clean
from tuimon.vocabulary import unit_text

_ARROWS = {"rising": "↑", "falling": "↓"}


class TrendEntry(Struct, frozen=True, kw_only=True):
    """The change of the level of a metric from the first tenth of its points to the last one."""

    direction: Direction
    """flat if noise explains the change; unknown with too few points."""
    change: float | None = None
    error: float | None = None
    """Standard error of the change."""
    p_value: float | None = None
    """Probability with which noise alone makes such a change."""
    before: float | None = None
    """The first level."""
    after: float | None = None
    """The last level."""

    def text(self, brief: bool = False) -> str:
        """Return the direction and change, as "rising +0.5" or briefly "↑ 0.5", or "flat"; "" if neither fits."""
        if self.direction not in _ARROWS or self.change is None:
            return "flat" if self.direction == "flat" else ""
        if brief:
            return f"{_ARROWS[self.direction]} {format_value(abs(self.change))}"
        return f"{self.direction} {'+' * (self.change > 0)}{format_value(self.change)}"


class MetricEntry(Struct, frozen=True, kw_only=True):
    """A metric of a run."""

    name: str
    """As it was logged."""
    concept: str
    """What it means; other for an unknown name."""
    split: Split
    unit: str
    """Of the logged values: 1 (a plain number), frac (0 to 1), pct (percent), count, date (seconds since the epoch).

    Or as written: s, ms, tokens/s, GB."""
    points: Count
    last_step: int
    last: Number
    """A logged value."""
    min: StepValue | None
    max: StepValue | None
    best: StepValue | None
    """Null where neither more nor less is better."""
    mean: float | None
    """Of the finite values, as the next three."""
    deviation: float | None
    """Of the sample."""
    variance: float | None
    """Of the sample."""
    median: float | None
    level: float | None
    """Mean of the last tenth of the points, or of the last 5 if that is more (at most a quarter).

    Null if none of them is finite."""
    error: float | None
    """Standard error of the level; null if it is of one point."""
    level_points: int
    """Number of finite points of the level."""
    trend: TrendEntry
    """Over all points of the metric."""
    nan: Count
    """Points that are NaN, in any source."""
    infinite: Count
    """Points that are infinite, in any source."""
    superseded: Count
    """Points that a later attempt hides."""
    source: str | None
    """The source that is drawn."""
    remarks: str
    """Where points are not finite or superseded, as "3 NaN at 30 to 57, 1 NaN at 8 in other.csv"; may be empty."""

    @property
    def unit_text(self) -> str:
        """The unit as text, cleaned; "" for plain numbers, or if it is unknown."""
        return logged_unit_text(self.unit)


def summarise(run: Run, name: str, curve: Curve | None = None) -> MetricEntry:
    """Summarise one metric of a run. Raise KeyError if the run has no such metric. curve: a part of its points."""
    meaning, curve = meaning_of(run, name), curve or with_training_steps(run, name)
    better = BETTER.get(meaning.direction)
    top = best(curve.steps, curve.values, better) if better else None
    hidden = tuple(hidden_values(run, name)) if len(curve.sources) > 1 else ()
    at_end, moved = level(curve.values), change(curve.values, whole=True)
    return filled(
        MetricEntry,
        statistics(curve.values),
        name=name,
        concept=meaning.concept,
        split=meaning.split,
        unit=meaning.logged_unit,
        points=len(curve),
        last_step=int(curve.steps[-1]),
        last=float(curve.values[-1]),
        min=filled(StepValue, curve.min) if curve.min else None,
        max=filled(StepValue, curve.max) if curve.max else None,
        best=StepValue(*top) if top else None,
        level=known(at_end.value),
        error=known(at_end.error),
        level_points=at_end.count,
        trend=filled(TrendEntry, moved) if moved else TrendEntry(direction="unknown"),
        nan=curve.nan_count + sum(other.nan_count for other in hidden),
        infinite=curve.infinity_count + sum(other.infinity_count for other in hidden),
        superseded=curve.superseded,
        source=curve.sources[0] if curve.sources else None,
        remarks=", ".join(
            [
                *_nonfinite(curve.values, curve.steps),
                *([f"{curve.superseded} superseded"] if curve.superseded else []),
                *(
                    f"{part} in {clean(other.source)}"
                    for other in hidden
                    for part in _nonfinite(other.curve.values[other.rows], other.curve.steps[other.rows])
                ),
            ]
        ),
    )


def metric_summaries(run: Run) -> tuple[MetricEntry, ...]:
    """Summarise every metric of a run, in the order of `relevant_metrics`."""
    return tuple(summarise(run, name) for name in relevant_metrics(run))


def _nonfinite(values: Floats, steps: Steps) -> Iterator[str]:
    """Yield "3 NaN at 30 to 57" and "1 infinite at 30", as far as there are such values."""
    for rows, kind in ((np.isnan(values), "NaN"), (np.isinf(values), "infinite")):
        if rows.any():
            yield f"{int(rows.sum())} {kind} at {steps_text(steps[rows])}"


def logged_unit_text(unit: str) -> str:
    """Return a logged unit as text, cleaned; "" for plain numbers, or if it is unknown."""
    return clean(unit_text(unit))


def unit_columns(units: Iterable[str], need: int = 1) -> list[TextColumn]:
    """Return the column of the logged units of metrics; [] if no unit is known."""
    texts = [logged_unit_text(unit) for unit in units]
    return [TextColumn("unit", texts, need=need, left=True)] if any(texts) else []


class Entries(Struct, frozen=True):
    """The amount that a run logged of one split."""

    entries: int
    """Steps at which something of it was logged."""
    last_step: int


def entries(run: Run, split: str) -> Entries | None:
    """Count the entries of a split ("train" or "val"); return None if nothing was logged."""
    logged = [
        run.curve(name)
        for name in run.metrics
        if (meaning := meaning_of(run, name)).split == split
        and meaning.panel not in SECONDARY_PANELS
        and name in run.main_metrics
    ]
    different: list[Curve] = []
    for curve in sorted(logged, key=len, reverse=True):
        if not any(np.array_equal(curve.steps, other.steps) for other in different):
            different.append(curve)
    if not different:
        return None
    if different[0].ordinal:
        return Entries(len(different[0]), int(different[0].steps[-1]))
    steps = distinct(np.concatenate([curve.steps for curve in different]))
    return Entries(len(steps), int(steps[-1]))
