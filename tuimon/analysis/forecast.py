"""Forecast when a growing share reaches 1 (memory of a device), if its growth is more than noise."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tuimon.analysis.change import change
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
_APART = 0.9
"""Distance of the middles of the first and the last tenth, as part of the whole."""


class Growth(Struct, frozen=True):
    """Growth of a share, in steps from the newest point."""

    slope: float
    """Growth per step."""
    steps: float
    """Steps until the share is 1 at this rate."""
    soonest: float
    """Steps if the growth is two standard errors greater."""
    latest: float
    """Steps if the growth is two standard errors less."""


def growth(steps: Steps, values: Floats, scale: float = 1.0) -> Growth | None:
    """Forecast when a share (values times scale, steps ascending) reaches 1; None if that is uncertain.

    By the change of the level over the newer half of the curve, at most 8,192 points, which noise must not explain.
    Both halves of these points must rise: a single rise that has ended predicts nothing.
    """
    newest = min(len(steps) - len(steps) // 2, _MAX_POINTS)
    steps, values = steps[len(steps) - newest :], values[len(steps) - newest :] * scale
    if len(steps) < _FEWEST:
        return None
    quarters = [part[np.isfinite(part)] for part in np.array_split(values, 4)]
    medians = [float(np.median(part)) for part in quarters if len(part)]
    if len(medians) < 4 or not (medians[0] < medians[1] and medians[2] < medians[3]):
        return None
    rise, covered = change(values, whole=True), int(steps[-1] - steps[0])
    if rise is None or rise.direction != "rising" or rise.change < _LEAST_RISE:
        return None
    left = 1.0 - rise.after
    slope, least, most = (own / (_APART * covered) for own in (rise.change, *rise.interval))
    if left <= 0 or left / slope > _FARTHEST * covered or least <= 0:
        return None
    return Growth(slope, left / slope, left / most, left / least)


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
