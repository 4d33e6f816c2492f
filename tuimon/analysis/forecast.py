"""When a part that grows is the whole: a device's memory, told only where the growth is more than noise."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tuimon.analysis.trend import trend
from tuimon.draw.numbers import thousands
from tuimon.model.points import Floats, Steps

_FEWEST = 20
"""Points of the newest half of the curve that a forecast is made from, at the least."""
_MOST = 8192
"""And at the most: a longer run costs no more."""
_LEAST_RISE = 0.01
"""Part of the whole that it must have grown by over them."""
_FARTHEST = 4.0
"""A forecast reaches no farther than so many times the steps that it is made from."""
_NOW = 5


class Growth(Struct, frozen=True):
    """How a part grows, in steps from the newest point."""

    slope: float
    """Part of the whole a step."""
    steps: float
    """Until it is the whole, if it goes on."""
    soonest: float
    latest: float
    """By the 95 % interval of the slope."""


def growth(steps: Steps, values: Floats, scale: float = 1.0) -> Growth | None:
    """When a part that rises (values times scale, steps ascending) is 1; None where that is not sure.

    By Theil & Sen's slope over the newest half of the curve, at most 8 192 points, significant by Mann & Kendall's
    test, and rising in both halves of it: what rose once and stands still since foretells nothing.
    """
    newest = min(len(steps) - len(steps) // 2, _MOST)
    steps, values = steps[len(steps) - newest :], values[len(steps) - newest :] * scale
    if len(steps) < _FEWEST:
        return None
    quarters = [part[np.isfinite(part)] for part in np.array_split(values, 4)]
    medians = [float(np.median(part)) for part in quarters if len(part)]
    if len(medians) < 4 or medians[3] - medians[0] < _LEAST_RISE / 2:
        return None
    if not (medians[0] < medians[1] and medians[2] < medians[3]):
        return None
    found = trend(steps, values)
    if found.direction != "rising" or found.slope_low <= 0 or found.change < _LEAST_RISE:
        return None
    finite = values[np.isfinite(values)]
    left = 1.0 - float(np.median(finite[-_NOW:]))
    if left <= 0 or left / found.slope > _FARTHEST * found.steps:
        return None
    return Growth(found.slope, left / found.slope, left / found.slope_high, left / found.slope_low)


def soon(found: Growth) -> str:
    """ "35 steps (30 to 41)": two digits are all that a forecast is worth."""
    until, soonest, latest = map(_round, (found.steps, found.soonest, found.latest))
    return f"{until} steps" + (f" ({soonest} to {latest})" if soonest != latest else "")


def _round(steps: float) -> str:
    digits = max(len(str(int(steps))) - 2, 0)
    return thousands(int(round(steps, -digits)))
