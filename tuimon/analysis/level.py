"""level(): the final level of a curve and its standard error, by which runs are compared.

Noise is the deviation of a point from the underlying curve. It is estimated from the differences d of neighbouring
points, on which a slow trend has little influence (von Neumann, "Distribution of the Ratio of the Mean Square
Successive Difference to the Variance", 1941). Medians are used instead of squares, so that a few spikes have no
influence: noise = median |d - median d| / (0.6745 sqrt 2), the factor being that of a normal distribution. If most
differences are equal, squares are used.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats

_NORMAL = 0.6744897501960817
"""Phi^-1(3/4)."""
_PART = 0.1
_FEWEST = 5
_QUARTER = 4
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Noise below this part of the largest value is a rounding error."""
_SIGNIFICANT = 2.0
"""Standard errors (95 %) that two levels must differ by."""


class Level(Struct, frozen=True):
    """Level of a curve at its end; all NaN if there is no finite point."""

    value: float
    """Mean of the last points."""
    error: float
    """Standard error of the mean: noise / sqrt(count); NaN if there are too few points."""
    noise: float
    """Standard deviation of one point; NaN if there are too few points."""
    count: int
    """Number of points of the mean."""

    def differs_from(self, other: Level) -> bool:
        """Return whether two levels differ by more than the known noise explains."""
        known = [error for error in (self.error, other.error) if math.isfinite(error)]
        return abs(self.value - other.value) > _SIGNIFICANT * math.hypot(*known)


def noise(values: Floats) -> float:
    """Return the standard deviation of a point from the underlying curve; NaN with fewer than 3 finite values."""
    finite = values[np.isfinite(values)]
    if len(finite) < 3:
        return math.nan
    scale = float(np.abs(finite).max()) or 1.0
    steps = np.diff(finite / scale)
    deviations = np.abs(steps - np.median(steps))
    middle = float(np.median(deviations))
    scaled = middle / (_NORMAL * math.sqrt(2)) if middle else math.sqrt(float(np.square(deviations).mean()) / 2)
    return scaled * scale if scaled > _ROUNDING else 0.0


def level(values: Floats) -> Level:
    """Return the level of the last tenth of the finite values, or of the last 5 (at most a quarter) if that is more."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return Level(math.nan, math.nan, math.nan, 0)
    count = max(round(len(finite) * _PART), min(_FEWEST, len(finite) // _QUARTER), 1)
    deviation = noise(finite)
    scale = float(np.abs(finite).max()) or 1.0
    mean = float((finite[-count:] / scale).mean()) * scale
    return Level(mean, deviation / math.sqrt(count), deviation, count)
