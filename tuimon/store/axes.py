"""Axes of curves: steps, wall time, or a counter that the run logs itself (epoch, samples, tokens).

A counter never goes back while steps go on, so each border of a chart's bins is converted to a step: no point needs an
x of its own, and the cost depends on the number of bins.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from msgspec import Struct, field

from tuimon import lazy_re as re
from tuimon.model.points import Floats, Indices, Steps
from tuimon.vocabulary import classify, understood_metrics

METRIC_AXIS = "metric:"
"""Beginning of the name of an axis that is a metric of the run: "metric:env_steps"."""
COUNTERS = {"epoch": "progress.epoch", "samples": "progress.samples", "tokens": "progress.tokens"}
"""Axis -> concept of its counter."""
_OTHER_NAMES = {
    "tokens": re.compile(r"(?:train/)?(?:tokens|(?:seen|consumed|cumulative)[_ ]tokens|tokens[_ ](?:seen|consumed))"),
    "samples": re.compile(r"(?:train/)?(?:seen[_ ]samples|samples[_ ](?:seen|consumed))"),
}
"""Axis -> names of its counter in some logs. In others they are counts of a single step, so that they have no concept
of a counter, and `counter_scale` decides by the values."""
_RISING = 0.95
"""Minimum fraction of non-decreasing points for a metric to count as a cumulative counter."""


class Scale(Struct, frozen=True, eq=False):
    """Mapping from points to positions along an axis; `Run.scale` returns those of a run."""

    name: str
    """step | relative step | time (s since the epoch) | duration (s since the run's first point) |
    epoch | samples | tokens | metric:NAME."""
    zero: int = 0
    """The step at which a relative step is 0."""
    steps: Steps = field(default_factory=lambda: np.empty(0, np.int64))
    """Steps at which a counter was logged, strictly ascending."""
    counts: Floats = field(default_factory=lambda: np.empty(0))
    """Values of the counter at `steps`, never falling."""

    @property
    def is_time(self) -> bool:
        """Whether positions depend on wall times instead of steps."""
        return self.name in ("time", "duration")

    @property
    def is_counter(self) -> bool:
        """Whether positions come from the table of a counter."""
        return self.name in COUNTERS or self.name.startswith(METRIC_AXIS)

    def positions(self, steps: Steps) -> Floats:
        """Return the positions of steps; a counter's last value at or before the step, NaN before its first."""
        if not self.is_counter:
            return steps.astype(np.float64) - self.zero
        rows = np.searchsorted(self.steps, steps, "right") - 1
        result = np.full(len(steps), np.nan)
        result[rows >= 0] = self.counts[rows[rows >= 0]]
        return result

    def edges(self, steps: Steps, borders: Floats) -> Indices:
        """Return the first row of each bin along a counter and the end of the last one, which includes its border.

        Steps must ascend.
        """
        rows = np.searchsorted(self.counts, borders, "left")
        rows[-1] = np.searchsorted(self.counts, borders[-1], "right")
        inside = rows < len(self.steps)
        edges = np.full(len(borders), len(steps), np.int64)
        edges[inside] = np.searchsorted(steps, self.steps[rows[inside]], "left")
        return edges


def standard_scale(name: str) -> Scale:
    """Return an axis that does not depend on a run. Raises ValueError for other names."""
    if name not in ("step", "time", "duration"):
        raise ValueError(f"unknown axis {name!r}: expected step, time, duration or a Scale from Run.scale")
    return Scale(name)


def counter_scale(name: str, metrics: Iterable[tuple[Steps, Floats]]) -> Scale | None:
    """Return an axis from the first of some metrics, given as (steps, values), that is a cumulative counter.

    A metric that only repeats the step is skipped, and one that was measured for each step alone. None if no metric is
    left.
    """
    for all_steps, all_values in metrics:
        finite = np.isfinite(all_values)
        steps, values = all_steps[finite], all_values[finite]
        if len(steps) < 2 or (values == steps).all():
            continue
        rising = np.diff(values) >= 0
        if values[-1] <= values[0] or rising.mean() < _RISING:
            continue
        last = np.append(steps[1:] != steps[:-1], True)  # the last of equal steps counts
        return Scale(name, 0, steps[last], np.maximum.accumulate(values)[last])
    return None


@lru_cache(maxsize=64)
def counter_candidates(metrics: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return (axis, metric) for metrics whose names denote a counter of the training, preferred names first."""
    axes = {concept: axis for axis, concept in COUNTERS.items()}
    candidates, understood = [], understood_metrics(metrics)
    for place, name in enumerate(metrics):
        if name in understood:
            meaning = classify(name)
            if meaning.concept in axes and meaning.split == "train":
                candidates.append((False, meaning.preference, place, axes[meaning.concept], name))
        for axis, names in _OTHER_NAMES.items():
            if names.fullmatch(name.lower()):
                candidates.append((True, 0, place, axis, name))
    return tuple((axis, name) for *_, axis, name in sorted(candidates))
