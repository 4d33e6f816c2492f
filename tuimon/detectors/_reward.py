"""near_ceiling(): whether the reward has almost reached its maximum, so that little is left to explore or to gain."""

from __future__ import annotations

import numpy as np

from tuimon.analysis.concepts import curves
from tuimon.model.points import Floats
from tuimon.store import Curve, Run

_NEAR = 0.9
"""Part of the maximum from which on a reward is near it."""
_NEWEST = 20


def near_ceiling(run: Run, until_step: int | None = None) -> bool:
    """Return whether the median of the newest rewards (up to a step) is at least 90 % of the maximum.

    The maximum is 1 for success rates, and for rewards that all lie between 0 and 1; otherwise it is unknown.
    """
    for concept in ("success.train", "reward.train"):
        for curve in curves(run, concept):
            newest = _finite_until(curve, until_step)[-_NEWEST:]
            if len(newest) and (concept == "success.train" or _within_unit_range(curve)):
                return bool(np.median(newest) >= _NEAR)
    return False


def _finite_until(curve: Curve, step: int | None) -> Floats:
    end = len(curve) if step is None else int(np.searchsorted(curve.steps, step, "right"))
    values = curve.values[max(0, end - 4 * _NEWEST) : end]
    finite: Floats = values[np.isfinite(values)]
    return finite


def _within_unit_range(curve: Curve) -> bool:
    lowest, highest = curve.min, curve.max
    return lowest is not None and highest is not None and lowest.value >= 0 and highest.value <= 1
