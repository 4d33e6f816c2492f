"""The first points of a log, and whether two logs have equal values at equal steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from tuimon.model.equal import compare_series, is_predictable
from tuimon.model.points import Floats, Steps

_COMPARED_METRICS = 3
"""Maximum number of metrics that are compared."""

Values = dict[str, dict[int, float]]
"""Values by metric and step."""


class Beginning(Struct, frozen=True):
    """The first points of a log."""

    values: Values
    """Values by metric and step; at least one point."""
    steps: Sequence[int]
    """All steps, ascending."""
    times: Mapping[int, float] = {}
    """Wall time (s since the epoch) by step, of the steps whose time is logged."""

    @property
    def stride(self) -> int:
        """Distance of the first two steps; 1 if there is only one."""
        return self.steps[1] - self.steps[0] if len(self.steps) > 1 else 1

    @property
    def is_from_scratch(self) -> bool | None:
        """Whether it begins at the first step at which a training can log; None if that is unknown."""
        if self.steps[0] <= 1:
            return True
        return self.steps[0] <= self.stride if len(self.steps) > 1 else None


class EqualMetrics(Struct):
    """The metrics of two logs that have common steps, without schedules and counters."""

    steps: int = 0
    """Largest number of common steps of a metric."""
    metrics: int = 0
    different: int = 0
    """Number of metrics with different values at more than one in ten of the common steps."""


def compared(before: Values, after: Values) -> EqualMetrics:
    """Compare the first metrics, which is enough, because a directory can have many files."""
    result = EqualMetrics()
    for metric in sorted(before.keys() & after.keys()):
        if is_predictable(metric):
            continue
        points = compare_series(*_columns(before[metric]), *_columns(after[metric]))
        result.steps = max(result.steps, points.common)
        result.metrics += points.common > 0
        result.different += points.differing > 0.1 * points.common
        if result.metrics == _COMPARED_METRICS:
            break
    return result


def _columns(points: Mapping[int, float]) -> tuple[Steps, Floats]:
    return np.array(list(points), np.int64), np.array(list(points.values()), np.float64)
