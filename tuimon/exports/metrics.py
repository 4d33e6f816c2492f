"""Summary of a metric for all exports: last and best value, statistics, trend."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import with_training_steps
from tuimon.analysis.change import Change, change
from tuimon.analysis.comparison_rows import BETTER
from tuimon.analysis.hidden_values import HiddenValues, hidden_values
from tuimon.analysis.level import Level, level
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.statistics import Statistics, best, statistics
from tuimon.exports.table import Column
from tuimon.panels import SECONDARY_PANELS, relevant_metrics
from tuimon.store import Curve, Run
from tuimon.store.arrays import distinct
from tuimon.text import clean
from tuimon.vocabulary import Meaning, unit_text


def logged_unit_text(meaning: Meaning) -> str:
    """Return the unit of logged values as text, cleaned; "" for plain numbers, or if it is unknown."""
    return clean(unit_text(meaning.logged_unit))


def unit_columns(run: Run, names: Iterable[str]) -> list[Column]:
    """Return the column of the units of the logged values of metrics; [] if no unit is known."""
    units = [logged_unit_text(meaning_of(run, name)) for name in names]
    return [Column("unit", units, need=1, left=True)] if any(units) else []


class MetricSummary(Struct, frozen=True):
    """One metric in numbers."""

    name: str
    meaning: Meaning
    curve: Curve
    best: tuple[int, float] | None
    """(step, value) of the best finite value; None if the metric has no better direction."""
    numbers: Statistics
    trend: Change | None
    """Change of the level from the first tenth of the points to the last one; None if there are too few."""
    hidden: tuple[HiddenValues, ...] = ()
    """Values of other sources that are not finite."""

    @property
    def nan_count(self) -> int:
        """Number of NaN in all sources, each counted once."""
        return self.curve.nan_count + sum(hidden.nan_count for hidden in self.hidden)

    @property
    def infinity_count(self) -> int:
        """Number of infinities in all sources."""
        return self.curve.infinity_count + sum(hidden.infinity_count for hidden in self.hidden)

    @property
    def unit(self) -> str:
        """Unit of the logged values, as text; "" for plain numbers, or if it is unknown."""
        return logged_unit_text(self.meaning)

    @property
    def level(self) -> Level:
        """The level at the end of the run; `compare` takes it up to the last step that two runs have reached."""
        return level(self.curve.values)

    @property
    def last(self) -> float:
        """The last logged value, finite or not."""
        return float(self.curve.values[-1])

    @property
    def last_step(self) -> int:
        return int(self.curve.steps[-1])


def summarise(run: Run, name: str) -> MetricSummary:
    """Summarise one metric of a run. Raise KeyError if the run has no such metric."""
    meaning, curve = meaning_of(run, name), with_training_steps(run, name)
    better = BETTER.get(meaning.direction)
    top = best(curve.steps, curve.values, better) if better else None
    hidden = tuple(hidden_values(run, name)) if len(curve.sources) > 1 else ()
    return MetricSummary(name, meaning, curve, top, statistics(curve.values), change(curve.values, whole=True), hidden)


def metric_summaries(run: Run) -> tuple[MetricSummary, ...]:
    """Summarise every metric of a run, in the order of `relevant_metrics`."""
    return tuple(summarise(run, name) for name in relevant_metrics(run))


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
