"""What all exports say of a metric: its last value, its best, its statistics, its trend."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.statistics import Statistics, best, statistics
from tuimon.analysis.trend import Trend, trend
from tuimon.panels import ASIDE, telling
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, classify

BETTER = {"up": "higher", "down": "lower"}
"""Direction of a concept -> which of its values is the best."""


class MetricSummary(Struct, frozen=True):
    """One metric in numbers."""

    name: str
    meaning: Meaning
    curve: Curve
    best: tuple[int, float] | None
    """(step, value) of the best finite value, where the metric has a good direction."""
    numbers: Statistics
    trend: Trend
    """Over all its points."""

    @property
    def last(self) -> float:
        """The last value as logged, finite or not."""
        return float(self.curve.values[-1])

    @property
    def last_step(self) -> int:
        return int(self.curve.steps[-1])


def summarise(run: Run, name: str) -> MetricSummary:
    """One metric of a run. KeyError when the run has no such metric."""
    meaning, curve = in_context(run, classify(name)), run.curve(name)
    better = BETTER.get(meaning.direction)
    top = best(curve.steps, curve.values, better) if better else None
    return MetricSummary(name, meaning, curve, top, statistics(curve.values), trend(curve.steps, curve.values))


def in_context(run: Run, meaning: Meaning) -> Meaning:
    """The loss of a run that learns from rewards is a surrogate: it has no best."""
    if meaning.concept == "loss.total" and _learns_from_rewards(run.metrics):
        return replace(meaning, direction="neutral")
    return meaning


@lru_cache(maxsize=64)
def _learns_from_rewards(metrics: tuple[str, ...]) -> bool:
    return any(classify(name).concept == "reward.train" for name in metrics)


def metric_summaries(run: Run) -> tuple[MetricSummary, ...]:
    """Every metric of a run, in the order of `telling`."""
    return tuple(summarise(run, name) for name in telling(run.metrics))


class Entries(Struct, frozen=True):
    """What a run logged of one half of its data."""

    count: int
    """Steps at which something of it was logged."""
    last_step: int


def entries(run: Run, split: str) -> Entries | None:
    """Of the training (split "train") or of the validation ("val"); None where nothing was logged."""
    logged = [
        run.curve(name)
        for name in run.metrics
        if (meaning := classify(name)).split == split and meaning.panel not in ASIDE and name in run.main_metrics
    ]
    different: list[Curve] = []
    for curve in sorted(logged, key=len, reverse=True):
        if not any(np.array_equal(curve.steps, other.steps) for other in different):
            different.append(curve)
    if not different:
        return None
    if different[0].ordinal:
        return Entries(len(different[0]), int(different[0].steps[-1]))
    steps = np.unique(np.concatenate([curve.steps for curve in different]))
    return Entries(len(steps), int(steps[-1]))
