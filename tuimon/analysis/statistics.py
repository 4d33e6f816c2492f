"""How values are spread."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats, Steps

_MAD_TO_DEVIATION = 1.4826
"""1 / Phi^-1(3/4): makes the median absolute deviation estimate the standard deviation of a normal distribution
(Rousseeuw & Croux, "Alternatives to the Median Absolute Deviation", JASA 88, 1993)."""


class Statistics(Struct, frozen=True):
    """Over the finite values; all NaN when there is none."""

    count: int
    """Finite values."""
    left_out: int
    """Values that are not finite."""
    mean: float
    variance: float
    """Of the sample (divided by count - 1); 0 for one value."""
    deviation: float
    median: float
    spread: float
    """Robust deviation: 1.4826 x the median absolute deviation from the median."""
    min: float
    max: float


def statistics(values: Floats, last: int | None = None) -> Statistics:
    """Of all values, or of the last `last` of them."""
    inside = values if last is None else values[max(0, len(values) - last) :]
    finite = inside[np.isfinite(inside)]
    left_out = len(inside) - len(finite)
    if len(finite) == 0:
        nan = float("nan")
        return Statistics(0, left_out, nan, nan, nan, nan, nan, nan, nan)
    # Scaled, so that squares of values near the largest float do not overflow; by a power of two, which rounds nothing.
    scale = math.ldexp(1.0, math.frexp(float(np.abs(finite).max()))[1] - 1)
    scaled = finite / scale
    # Equal values do not deviate, though their mean may be rounded.
    deviation = 0.0 if finite.min() == finite.max() else float(scaled.std(ddof=1))
    median = float(np.median(scaled))
    spread = _MAD_TO_DEVIATION * float(np.median(np.abs(scaled - median)))
    with np.errstate(over="ignore"):
        variance = float(np.square(np.float64(deviation) * scale))
    return Statistics(
        len(finite),
        left_out,
        float(scaled.mean()) * scale,
        variance,
        deviation * scale,
        median * scale,
        spread * scale,
        float(finite.min()),
        float(finite.max()),
    )


def best(steps: Steps, values: Floats, direction: str) -> tuple[int, float] | None:
    """(step, value) of the best finite value, the first of equals; direction: lower | higher is better.

    None when no value is finite. ValueError for another direction.
    """
    if direction not in ("lower", "higher"):
        raise ValueError(f"no direction {direction!r}: lower or higher")
    finite = np.isfinite(values)
    if not finite.any():
        return None
    if direction == "lower":
        at = int(np.where(finite, values, np.inf).argmin())
    else:
        at = int(np.where(finite, values, -np.inf).argmax())
    return int(steps[at]), float(values[at])
