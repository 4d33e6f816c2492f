"""trend(): direction, slope and significance of a trend; turn(): the step at which a curve turned against its trend;
change(): last points against those before them.

Slope: Theil & Sen, the median of the slopes between all pairs of points, with its distribution-free interval (Sen,
"Estimates of the regression coefficient based on Kendall's tau", JASA 63, 1968). Significance: Mann & Kendall, the
excess of rising over falling pairs against its variance without a trend, ties counted (Kendall, "Rank Correlation
Methods", 1975). Neither assumes normal noise, and a few spikes have little influence.

Neighbouring points of a training curve are not independent, so such tests overestimate the significance. A long curve
is therefore first reduced to the medians of at most 128 segments, which are nearly independent.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats, Steps
from tuimon.store.arrays import median

_SEGMENTS = 128
_FEWEST = 6
"""Number of points from which a trend can be significant: five that rise have a p-value of 0.027, six of 0.0085."""
_FEWEST_NOISE = 6
"""Number of points from which the noise of a change is estimated."""
_FEW_POINTS = 8.0
"""Relative error of the noise of n points, times n, by which a standard error is increased."""
_PARTS = 4
"""Number of parts of a curve whose levels are compared."""
_ERRORS = 4.0
"""Standard errors by which the levels of two parts may differ by chance."""
_END_DEVIATIONS = 6.0
"""Standard deviations of the noise by which the last point may differ from the first by chance."""
_OPPOSITE = {"rising": "falling", "falling": "rising"}
_TURN = 0.1
"""Part of the change of a trend that the newest half must change in the other direction to be a turn."""
SIGNIFICANT = 0.01
"""A trend is significant if its p-value is below this."""


class Trend(Struct, frozen=True):
    """Trend of a curve."""

    direction: str
    """rising | falling | flat (the level is the same throughout) | varying (a peak, say: no straight line fits) |
    unknown (fewer than 6 finite points)."""
    slope: float
    """Change per step. This and the numbers below are NaN if unknown."""
    slope_low: float
    """Lower end of the 95 % confidence interval of the slope."""
    slope_high: float
    """Upper end of the 95 % confidence interval of the slope."""
    p_value: float
    """Probability of such an order of points without a trend, two-sided."""
    change: float
    """Slope times `steps`."""
    steps: int
    """Steps from the first to the last point."""
    count: int
    """Number of finite points."""


class Change(Struct, frozen=True):
    """Difference of the last points from those before them."""

    before: float
    """Median of the `count` points before the last `count`."""
    after: float
    """Median of the last `count` points."""
    difference: float
    """after - before."""
    ratio: float
    """difference / |before|; NaN if `before` is 0."""
    count: int
    """Number of finite points on each side."""


def trend(steps: Steps, values: Floats, last: int | None = None) -> Trend:
    """Return the trend of all points, or of the last `last`; steps ascending, arrays of one length."""
    if last is not None:
        steps, values = steps[max(0, len(steps) - last) :], values[max(0, len(values) - last) :]
    finite = np.isfinite(values)
    # Steps are subtracted as integers, and values scaled, so that neither precision nor range is lost.
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
    slope = median(slopes)
    excess = float(np.sign(rise).sum())
    z = 0.0 if deviation == 0 else (excess - math.copysign(1.0, excess)) / deviation if excess else 0.0
    p_value = math.erfc(abs(z) / math.sqrt(2))
    margin = 1.96 * deviation
    low = slopes[max(0, math.floor((len(slopes) - margin) / 2))]
    high = slopes[min(len(slopes) - 1, math.ceil((len(slopes) + margin) / 2))]
    if p_value < SIGNIFICANT and slope:
        direction = "rising" if slope > 0 else "falling"
    else:
        direction = "flat" if _is_level(y) else "varying"
    return Trend(direction, slope, float(low), float(high), p_value, slope * covered, int(covered), count)


def turn(steps: Steps, values: Floats, whole: Trend) -> int | None:
    """Return the step of the best value for the trend if the newest half of the points goes against it; else None.

    whole: the result of `trend` for these points. A turn is significant, and undoes a tenth of the change.
    """
    if whole.direction not in _OPPOSITE:
        return None
    quarters = change(values, len(values) // 4)
    if quarters is None or quarters.difference * whole.slope >= 0:  # the common case, without a second trend
        return None
    half = trend(steps, values, last=len(values) // 2)
    if half.direction != _OPPOSITE[whole.direction] or abs(half.change) < _TURN * abs(whole.change):
        return None
    worst = math.copysign(math.inf, -whole.slope)
    best = np.where(np.isfinite(values), values, worst)
    return int(steps[best.argmax() if whole.slope > 0 else best.argmin()])


def _is_level(y: Floats) -> bool:
    """Return whether the medians of the parts of a curve are equal within its noise, and its ends roughly so."""
    parts = np.array_split(y, _PARTS if len(y) >= 3 * _PARTS else 3)
    levels = [median(part) for part in parts]
    deviation = min(_noise(y), _noise(np.diff(y)) / math.sqrt(3))  # the first is too large for a smooth curve
    error = 1.2533 * deviation * math.sqrt(2 / len(parts[-1]))
    return max(levels) - min(levels) <= _ERRORS * error and abs(y[-1] - y[0]) <= _END_DEVIATIONS * deviation


def _noise(finite: Floats) -> float:
    """Return the standard deviation of the noise of values. Noise is the median deviation of the differences of
    neighbours, so that a steady rise or fall is not noise; 1.48 times it is the standard deviation of normally
    distributed noise."""
    with np.errstate(over="ignore", invalid="ignore"):  # values near the largest float
        steps = np.diff(finite)
        return 1.4826 * median(np.abs(steps - median(steps))) / math.sqrt(2)


def change(values: Floats, count: int) -> Change | None:
    """Compare the median of the last `count` finite values with that of as many before; None if there are too few."""
    finite = values[np.isfinite(values)]
    if count < 1 or len(finite) < 2 * count:
        return None
    before, after = median(finite[-2 * count : -count]), median(finite[-count:])
    ratio = (after - before) / abs(before) if before else float("nan")
    return Change(before, after, after - before, ratio, count)


def change_noise(values: Floats, count: int) -> float:
    """Return the standard error of `change(values, count)` from the noise of the values; 0 if it is unknown.

    The error of a median depends on the density of the noise there, which is lower for uniform noise than for normal
    noise of the same deviation, and which some dozens of points do not show. If the noise has one peak, in the middle,
    its interquartile range and sqrt(3) times its standard deviation are upper limits of the error of a median, times
    the root of the number of points. Both are exact for uniform noise, and the first is 8 % too large for normal noise.
    """
    finite = values[np.isfinite(values)]
    if count < 1 or len(finite) < _FEWEST_NOISE:
        return 0.0
    most = math.sqrt(3) * _noise(finite)
    with np.errstate(over="ignore", invalid="ignore"):  # values near the largest float
        return min(most, _interquartile_range(finite)) * (1 + _FEW_POINTS / len(finite)) * math.sqrt(2 / count)


def _interquartile_range(finite: Floats) -> float:
    """Return the interquartile range of the noise: of the halves of the values, without their level and slope."""
    size = len(finite) // 2
    part = size // 2
    halves = finite[-2 * size :].reshape(2, size)
    rises = _middle(halves[:, -part:]) - _middle(halves[:, :part])
    halves = halves - rises.sum() / (2 * (size - part)) * np.arange(size)
    return 2 * median(np.abs(halves - _middle(halves)).ravel())


def _middle(rows: Floats) -> Floats:
    """Return the median of each row, as a column."""
    ordered, half = np.sort(rows, axis=1), rows.shape[1] // 2
    result: Floats = ordered[:, half - 1 + rows.shape[1] % 2 : half + 1].mean(axis=1, keepdims=True)
    return result


def _reduced(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the medians of at most 128 segments of equal length; the first one also includes the remainder."""
    if len(x) <= _SEGMENTS:
        return x, y
    size = -(-len(x) // _SEGMENTS)
    begin = len(x) - (len(x) // size - 1) * size
    return _medians(x, begin, size), _medians(y, begin, size)


def _medians(values: Floats, begin: int, size: int) -> Floats:
    rest = np.median(values[begin:].reshape(-1, size), axis=1)
    return np.concatenate(([np.median(values[:begin])], rest))


def _kendall_deviation(y: Floats) -> float:
    """Return the standard deviation of the excess of rising pairs without a trend, corrected for ties."""
    n = len(y)
    _, ties = np.unique(y, return_counts=True)
    variance = n * (n - 1) * (2 * n + 5) - int((ties * (ties - 1) * (2 * ties + 5)).sum())
    return math.sqrt(variance / 18)
