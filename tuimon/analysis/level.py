"""At which level a curve has arrived, and how sure that is: what two runs are compared by.

Noise: how far a point lies from the curve under it, from the differences d of neighbouring points, as a slow trend
hardly moves those (von Neumann, "Distribution of the Ratio of the Mean Square Successive Difference to the Variance",
1941). Medians are taken and not squares, so that a few spikes do not count: noise = median |d - median d| / (0.6745
sqrt 2), the factor being that of a normal distribution. Where most differences are equal the squares are taken.
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
"""Of the largest value: what lies below is made by the arithmetic."""
_SURE = 2.0
"""Standard errors (95 %) that two levels must lie apart to be called different."""


class Level(Struct, frozen=True):
    """Where a curve stands at its end; all NaN without a finite point."""

    value: float
    """Mean of its last points."""
    error: float
    """Standard error of that: noise / sqrt(count); NaN where there are too few points to tell, as the next."""
    noise: float
    """Deviation of one point."""
    count: int
    """Points that were taken."""

    def differs_from(self, other: Level) -> bool:
        """Whether the two lie further apart than what is known of the noise explains."""
        known = [error for error in (self.error, other.error) if math.isfinite(error)]
        return abs(self.value - other.value) > _SURE * math.hypot(*known)


def noise(values: Floats) -> float:
    """Deviation of a point from the curve under it; NaN with fewer than 3 finite values."""
    finite = values[np.isfinite(values)]
    if len(finite) < 3:
        return math.nan
    scale = float(np.abs(finite).max()) or 1.0
    steps = np.diff(finite / scale)
    apart = np.abs(steps - np.median(steps))
    middle = float(np.median(apart))
    one = middle / (_NORMAL * math.sqrt(2)) if middle else math.sqrt(float(np.square(apart).mean()) / 2)
    return one * scale if one > _ROUNDING else 0.0


def level(values: Floats) -> Level:
    """Of the last tenth of the finite values; of 5 of them, or a quarter, where a tenth is less."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return Level(math.nan, math.nan, math.nan, 0)
    count = max(round(len(finite) * _PART), min(_FEWEST, len(finite) // _QUARTER), 1)
    one = noise(finite)
    scale = float(np.abs(finite).max()) or 1.0
    return Level(float((finite[-count:] / scale).mean()) * scale, one / math.sqrt(count), one, count)
