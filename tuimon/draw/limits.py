"""The limits of an axis: round, padded, and steady while a run grows.

A chart whose limits stay is redrawn by a few cells; one whose limits slide is redrawn whole. So x ends at a round
value ahead of the last point, and y grows at once but shrinks only when the curve has left half of it empty.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence

import numpy as np

from tuimon.draw.ticks import clock_step, nice_step
from tuimon.model.views import Envelope

Limits = tuple[float, float]
_MOST = sys.float_info.max
_LEAST = 5e-324


def y_limits(envelopes: Iterable[Envelope], scale: str = "linear", include: Sequence[float] = ()) -> Limits:
    """Limits (low < high, finite) that hold every finite value of the envelopes and of `include`.

    Linear limits are padded to a round value and do not cross zero for the padding's sake. On a log scale only
    positive values count. Without a value: (0, 1), log (0.1, 1)."""
    found = [array for e in envelopes for array in (e.low, e.high)]
    values = np.concatenate([*found, np.asarray(include, dtype=np.float64)])
    values = values[np.isfinite(values)]
    if scale == "log":
        values = values[values > 0]
        return _log_limits(float(values.min()), float(values.max())) if len(values) else (0.1, 1.0)
    return _linear_limits(float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)


def _linear_limits(low: float, high: float) -> Limits:
    span = high - low
    if low == high == 0:
        return 0.0, 1.0
    if not math.isfinite(span):
        return max(-_MOST, min(low * 1.05, low)), min(_MOST, max(high * 1.05, high))
    if span <= max(abs(low), abs(high)) * 1e-12:  # a constant, or one but for rounding
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
    below, above = math.floor(math.log10(low)), math.floor(math.log10(high))
    lows = [v for m in (1, 2, 5) if 0 < (v := float(f"{m}e{below}")) <= low * (1 + 1e-9)]
    highs = [v for m in (1, 2, 5, 10) if (v := float(f"{m}e{above}")) >= high * (1 - 1e-9)]
    return min([*lows[-1:], low]), min(max([*highs[:1], high]), _MOST)


def x_limits(first: float, last: float, kind: str = "step") -> Limits:
    """Limits from the first to a round value ahead of the last x (both finite, first <= last).

    The upper limit moves in steps of an eighth to a third of the span, so a growing run is an append."""
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
