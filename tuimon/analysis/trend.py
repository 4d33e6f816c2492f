"""Is a curve rising or falling, how fast, and is that more than noise?

Slope: Theil & Sen, the median of the slopes between all pairs of points, with its distribution-free interval (Sen,
"Estimates of the regression coefficient based on Kendall's tau", JASA 63, 1968). Significance: Mann & Kendall, the
excess of rising over falling pairs against its variance without a trend, ties counted (Kendall, "Rank Correlation
Methods", 1975). Neither asks for normal noise, and a few spikes do not move them.

Neighbouring points of a training curve are not independent, which makes tests of this kind too sure of themselves; a
long curve is therefore first reduced to the medians of at most 128 stretches, which are nearly so.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.analysis.middle import median
from tuimon.model.points import Floats, Steps

_STRETCHES = 128
_FEWEST = 5
SIGNIFICANT = 0.01
"""Below this probability of so much order by chance a trend is called one."""


class Trend(Struct, frozen=True):
    """The direction of a curve over a stretch of it."""

    direction: str
    """rising | falling | flat (no trend that stands out from the noise) | unknown (fewer than 5 finite points)."""
    slope: float
    """Per step; NaN if unknown, as the numbers below."""
    slope_low: float
    slope_high: float
    """Between them lies the slope with 95 % confidence."""
    p_value: float
    """How probable so much order is without a trend, two-sided."""
    change: float
    """Slope times the steps covered."""
    steps: int
    """From the first to the last point."""
    count: int
    """Finite points."""


class Change(Struct, frozen=True):
    """The last points against those before them."""

    before: float
    """Median of the `count` points before the last `count`."""
    after: float
    """Median of the last `count` points."""
    difference: float
    """after - before."""
    ratio: float
    """difference / |before|; NaN where before is 0."""
    count: int
    """Finite points on each side."""


def trend(steps: Steps, values: Floats, last: int | None = None) -> Trend:
    """Over all points, or over the last `last` of them; steps ascending, arrays of one length."""
    if last is not None:
        steps, values = steps[max(0, len(steps) - last) :], values[max(0, len(values) - last) :]
    finite = np.isfinite(values)
    # Whole steps are subtracted as such, values scaled: neither precision nor range is lost.
    x = (steps[finite] - steps[0]).astype(np.float64) if len(steps) else np.empty(0)
    y = values[finite]
    count = len(y)
    nan = float("nan")
    if count < _FEWEST or x[0] == x[-1]:
        return Trend("unknown", nan, nan, nan, nan, nan, int(x[-1] - x[0]) if count else 0, count)
    covered = float(x[-1] - x[0])
    scale = float(np.abs(y).max()) or 1.0
    x, y = _reduced(x, y / scale)
    first, second = np.triu_indices(len(x), 1)
    rise, run = y[second] - y[first], x[second] - x[first]
    deviation = _kendall_deviation(y)
    slopes = np.sort(rise[run > 0] / run[run > 0]) * scale
    slope = float(np.median(slopes))
    excess = float(np.sign(rise).sum())
    z = 0.0 if deviation == 0 else (excess - math.copysign(1.0, excess)) / deviation if excess else 0.0
    p_value = math.erfc(abs(z) / math.sqrt(2))
    margin = 1.96 * deviation
    low = slopes[max(0, math.floor((len(slopes) - margin) / 2))]
    high = slopes[min(len(slopes) - 1, math.ceil((len(slopes) + margin) / 2))]
    direction = "flat" if p_value >= SIGNIFICANT or slope == 0 else "rising" if slope > 0 else "falling"
    return Trend(direction, slope, float(low), float(high), p_value, slope * covered, int(covered), count)


def change(values: Floats, count: int) -> Change | None:
    """The median of the last `count` finite values against that of as many before; None when there are not so many."""
    finite = values[np.isfinite(values)]
    if count < 1 or len(finite) < 2 * count:
        return None
    before, after = median(finite[-2 * count : -count]), median(finite[-count:])
    ratio = (after - before) / abs(before) if before else float("nan")
    return Change(before, after, after - before, ratio, count)


def _reduced(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The medians of at most 128 stretches of equal length; the first takes what is left over."""
    if len(x) <= _STRETCHES:
        return x, y
    each = -(-len(x) // _STRETCHES)
    begin = len(x) - (len(x) // each - 1) * each
    return _medians(x, begin, each), _medians(y, begin, each)


def _medians(values: Floats, begin: int, each: int) -> Floats:
    rest = np.median(values[begin:].reshape(-1, each), axis=1)
    return np.concatenate(([np.median(values[:begin])], rest))


def _kendall_deviation(y: Floats) -> float:
    """Of the excess of rising pairs, when there is no trend; groups of equal values make it smaller."""
    n = len(y)
    _, ties = np.unique(y, return_counts=True)
    variance = n * (n - 1) * (2 * n + 5) - int((ties * (ties - 1) * (2 * ties + 5)).sum())
    return math.sqrt(variance / 18)
