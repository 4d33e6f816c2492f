"""Limits of an axis: round, padded, and stable while a run grows.

If the limits of a chart do not change, few of its cells do. The x axis therefore ends at a round value beyond the last
point, and y limits are rounded to multiples of a step.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence

import numpy as np

from tuimon.draw.ticks import clock_step, nice_step
from tuimon.model.points import Floats
from tuimon.model.views import Envelope

Limits = tuple[float, float]
_MOST = sys.float_info.max
_LEAST = 5e-324
_NARROW = 4.0
"""Ratio of highest to lowest value up to which a log scale has limits close to the data instead of 1, 2, 5, 10."""
_FENCE = 3.0
_USUAL = 0.95
"""Fraction of the values that are never outliers, so that a slow change at the end is not cut off."""
_NEAR = 0.1
"""Values this close to the robust range, as a part of it, are included."""


def y_limits(envelopes: Iterable[Envelope], scale: str = "linear", include: Sequence[float] = ()) -> Limits:
    """Return limits (low < high, finite) that include every finite value of the envelopes and of `include`.

    Linear limits are padded to a round value, but the padding does not cross zero. On a log scale only positive values
    count. Without values the limits are (0, 1), or (0.1, 1) on a log scale.
    """
    values = np.concatenate([finite_values(envelopes), np.asarray(include, dtype=np.float64)])
    if scale == "log":
        values = values[values > 0]
        return _log_limits(float(values.min()), float(values.max())) if len(values) else (0.1, 1.0)
    return _linear_limits(float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)


def finite_values(envelopes: Iterable[Envelope]) -> Floats:
    """Return the finite lows and highs of all columns."""
    arrays = [array for e in envelopes for array in (e.low, e.high)]
    values = np.concatenate(arrays) if arrays else np.empty(0)
    return values[np.isfinite(values)]


def robust_limits(envelopes: Iterable[Envelope], scale: str = "linear") -> Limits | None:
    """Return the lowest and highest value that are not outliers, or None without values or if the quartiles coincide.

    At most 2.5 % of the values on each side are outliers (one point of a short curve), and none that is within a tenth
    of the range from it. Outliers are farther from the quartiles than three times their distance (the outer fences of
    Tukey, "Exploratory Data Analysis", 1977). On a log scale the logarithms are used.
    """
    values = finite_values(envelopes)
    if scale == "log":
        values = np.log10(values[values > 0])
    if not len(values):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        lower, upper = np.quantile(values, (0.25, 0.75))
        fence = _FENCE * (upper - lower)
        inside = values[(values >= lower - fence) & (values <= upper + fence)]
    if not fence > 0 or not len(inside):
        return None
    ordered = np.sort(values)
    left_out = min(max(2, int((1 - _USUAL) / 2 * len(values))), (len(values) - 1) // 2)
    low = min(float(ordered[left_out]), float(inside.min()))
    high = max(float(ordered[-1 - left_out]), float(inside.max()))
    with np.errstate(over="ignore", invalid="ignore"):
        near = _NEAR * (high - low)
        inside = values[(values >= low - near) & (values <= high + near)]
    low, high = min(low, float(inside.min(initial=low))), max(high, float(inside.max(initial=high)))
    return (10.0**low, min(10.0**high, _MOST)) if scale == "log" else (low, high)


def _linear_limits(low: float, high: float) -> Limits:
    span = high - low
    if low == high == 0:
        return 0.0, 1.0
    if not math.isfinite(span):
        return max(-_MOST, min(low * 1.05, low)), min(_MOST, max(high * 1.05, high))
    if span <= max(abs(low), abs(high)) * 1e-12:  # a constant, except for rounding
        span = abs(high) * 0.4
        padded = low - span / 2, high + span / 2
    else:
        padded = low - span * 0.02, high + span * 0.02
    step = nice_step(span, 20)
    new_low, new_high = _round_down(padded[0], step), -_round_down(-padded[1], step)
    if low >= 0 > new_low:
        new_low = 0.0
    if high <= 0 < new_high:
        new_high = 0.0
    if not new_low < new_high or new_low > low or new_high < high:
        new_low, new_high = low, max(high, low + max(abs(low) * 1e-9, _LEAST))
    return max(new_low, -_MOST), min(new_high, _MOST)


def _round_down(value: float, step: float) -> float:
    multiple = math.floor(value / step + 1e-9) if abs(value) < step * 2.0**53 else None
    if multiple is None:
        return value
    inverse = round(1 / step) if 1e-15 < step < 1 else 0
    rounded = multiple / inverse if inverse else multiple * step
    return rounded if math.isfinite(rounded) else value


def _log_limits(low: float, high: float) -> Limits:
    if high / low < 1.01:
        low, high = low / 2 or low, min(high * 2, _MOST)
    elif high / low < _NARROW:
        near = _linear_limits(low, high)
        return (near[0] if near[0] > 0 else low), near[1]
    return _power_below(low), _power_above(high)


def _power_below(value: float) -> float:
    """Return the largest 1, 2 or 5 times a power of ten that is not above a positive value."""
    exponent = math.floor(math.log10(value))
    candidates = [v for m in (1, 2, 5) if 0 < (v := float(f"{m}e{exponent}")) <= value * (1 + 1e-9)]
    return min([*candidates[-1:], value])


def _power_above(value: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is not below a positive value."""
    exponent = math.floor(math.log10(value))
    candidates = [v for m in (1, 2, 5, 10) if (v := float(f"{m}e{exponent}")) >= value * (1 - 1e-9)]
    return min(max([*candidates[:1], value]), _MOST)


def x_limits(first: float, last: float, kind: str = "step") -> Limits:
    """Return limits from the first to a round value beyond the last x (both finite, first <= last).

    The upper limit moves in steps of an eighth to a third of the span, so a growing run only adds to the drawing.
    """
    span = last - first
    if not math.isfinite(span):
        return first, last
    if span <= 0:
        span = 1.0 if kind in ("step", "time", "duration") else max(abs(last) * 0.1, 1e-300)
    if kind in ("time", "duration"):
        step = clock_step(span, 8)
        return first, first + max(math.ceil(span / step - 1e-9), 1) * step if first + step > first else first + span
    step = nice_step(span, 8)
    if kind == "step":
        step = max(step, 1.0)
    low, high = min(math.floor(first / step) * step, first), max(math.ceil(last / step) * step, last)
    return (low, high) if low < high else (low, low + step if low + step > low else math.nextafter(low, math.inf))
