"""step_reaching(): the first step at which a noisy curve reaches a value."""

from __future__ import annotations

import numpy as np

from tuimon.analysis.windows import median_of_nine
from tuimon.store import Curve


def step_reaching(curve: Curve, value: float, falls: bool = False) -> int | None:
    """Return the step of the first point at which the median of it and the eight finite points before reaches a value;
    None if none does.

    falls: whether values at most as high count, as of a loss, instead of those at least as high.
    """
    finite = np.isfinite(curve.values)
    medians = median_of_nine(curve.values[finite], 0)
    rows = np.flatnonzero(medians <= value if falls else medians >= value)
    return int(curve.steps[finite][rows[0]]) if len(rows) else None
