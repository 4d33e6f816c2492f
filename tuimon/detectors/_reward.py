"""Whether a reward is near its highest: then there is little left to explore, and little to win."""

from __future__ import annotations

import numpy as np

from tuimon.analysis.concepts import curves
from tuimon.store import Curve, Run

NEAR = 0.9
_LATEST = 20


def near_ceiling(run: Run, row_step: int | None = None) -> bool:
    """Whether the latest rewards (up to a step) are 90 % of the highest there can be, as far as that is known: 1 where
    success is logged, or where all rewards lie between 0 and 1, unless one of them is far below."""
    for concept in ("success.train", "reward.train"):
        for curve in curves(run, concept):
            ceiling = 1.0 if concept == "success.train" else _ceiling(curve)
            latest = _until(curve, row_step)[-_LATEST:]
            if ceiling is not None and len(latest):
                return bool(np.median(latest) >= NEAR * ceiling)
    return False


def _until(curve: Curve, step: int | None) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    end = len(curve) if step is None else int(np.searchsorted(curve.steps, step, "right"))
    values = curve.values[max(0, end - 4 * _LATEST) : end]
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = values[np.isfinite(values)]
    return found


def _ceiling(curve: Curve) -> float | None:
    lowest, highest = curve.min, curve.max
    if lowest is None or highest is None:
        return None
    return 1.0 if lowest.value >= 0 and highest.value <= 1 else None
