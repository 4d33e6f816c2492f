"""row_reaching(): the first point at which a noisy curve reaches a value."""

from __future__ import annotations

import numpy as np

from tuimon.analysis.windows import median_of_nine
from tuimon.store import Curve


def row_reaching(curve: Curve, value: float, falls: bool = False) -> int | None:
    """Return the row of the first point at which the median of it and the eight finite points before reaches a value;
    None if none does.

    falls: whether values at most as high count, as of a loss, instead of those at least as high.
    """
    finite = np.flatnonzero(np.isfinite(curve.values))
    medians = median_of_nine(curve.values[finite], 0)
    rows = np.flatnonzero(medians <= value if falls else medians >= value)
    return int(finite[rows[0]]) if len(rows) else None
