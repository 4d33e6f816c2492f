"""Forecast when a growing share reaches 1 (memory of a device), if its growth is more than noise."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tuimon.analysis.trend import trend
from tuimon.draw.numbers import thousands
from tuimon.model.points import Floats, Steps

_FEWEST = 20
"""Minimum number of points of the newer half of the curve."""
_MAX_POINTS = 8192
"""Maximum number of points that are used, so that the cost is bounded."""
_LEAST_RISE = 0.01
"""Minimum growth over these points."""
_FARTHEST = 4.0
"""Maximum length of a forecast, relative to the steps that it is based on."""
_CURRENT_POINTS = 5
"""Points whose median is the current share."""


class Growth(Struct, frozen=True):
    """Growth of a share, in steps from the newest point."""

    slope: float
    """Growth per step."""
    steps: float
    """Steps until the share is 1 at this rate."""
    soonest: float
    """Steps by the upper end of the 95 % interval of the slope."""
    latest: float
    """Steps by the lower end of the 95 % interval of the slope."""


def growth(steps: Steps, values: Floats, scale: float = 1.0) -> Growth | None:
    """Forecast when a share (values times scale, steps ascending) reaches 1; None if that is uncertain.

    Uses the slope of Theil & Sen over the newer half of the curve, at most 8 192 points. It must be significant by the
    test of Mann & Kendall, and both halves of these points must rise: a single rise that has ended predicts nothing.
    """
    newest = min(len(steps) - len(steps) // 2, _MAX_POINTS)
    steps, values = steps[len(steps) - newest :], values[len(steps) - newest :] * scale
    if len(steps) < _FEWEST:
        return None
    quarters = [part[np.isfinite(part)] for part in np.array_split(values, 4)]
    medians = [float(np.median(part)) for part in quarters if len(part)]
    if len(medians) < 4 or medians[3] - medians[0] < _LEAST_RISE / 2:
        return None
    if not (medians[0] < medians[1] and medians[2] < medians[3]):
        return None
    line = trend(steps, values)
    if line.direction != "rising" or line.slope_low <= 0 or line.change < _LEAST_RISE:
        return None
    finite = values[np.isfinite(values)]
    left = 1.0 - float(np.median(finite[-_CURRENT_POINTS:]))
    if left <= 0 or left / line.slope > _FARTHEST * line.steps:
        return None
    return Growth(line.slope, left / line.slope, left / line.slope_high, left / line.slope_low)


def forecast_text(forecast: Growth) -> str:
    """Return "35 steps (30 to 41)", with the two significant digits that a forecast can have."""
    until, soonest, latest = (_rounded(steps, steps) for steps in (forecast.steps, forecast.soonest, forecast.latest))
    return f"{until} steps" + (f" ({soonest} to {latest})" if soonest != latest else "")


def near_step(last: int, forecast: Growth) -> str:
    """Return the step at which the share is 1, as exact as the forecast: "670" for 267 steps after step 400."""
    return _rounded(last + forecast.steps, forecast.steps)


def _rounded(step: float, steps: float) -> str:
    """Return a number rounded to the second significant digit of a number of steps."""
    digits = max(len(str(int(steps))) - 2, 0)
    return thousands(int(round(step, -digits)))
