"""Ticks of an axis and their labels: few, round, with as many decimals as needed to distinguish them.

Tick distances are 1, 2 or 5 times a power of ten; whole for training steps; powers of 1024 for bytes; units of clock
and calendar for times (ticks are at full minutes, full hours or midnight in local time; midnight is labelled by date).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import pairwise

from tuimon.draw.numbers import format_duration
from tuimon.model.views import Axis

_DAY = 86400
_CLOCK = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_THOUSANDS = frozenset(unit for unit, _ in _SUFFIXES)


def nice_step(span: float, n: int) -> float:
    """Return the smallest of 1, 2, 5 × 10^k that divides `span` > 0 into at most about `n` parts."""
    raw = max(span / max(n, 1), 5e-324)
    power = 10.0 ** math.floor(math.log10(raw))
    if power == 0.0:
        return raw
    for multiple in (1, 2, 5):
        if raw <= multiple * power * (1 + 1e-9):
            return multiple * power
    return 10 * power


def clock_step(span: float, n: int) -> float:
    """Return a round number of seconds, minutes, hours or days that divides `span` (s) into at most about `n` parts."""
    raw = span / max(n, 1)
    if raw > _CLOCK[-1]:
        return max(nice_step(span / _DAY, n), 1.0) * _DAY
    return nice_step(span, n) if raw < 1 else float(next(step for step in _CLOCK if raw <= step))


def multiples(low: float, high: float, step: float) -> list[float]:
    """Return the multiples of `step` from low to high, inclusive up to rounding; [low, high] if more than 1000."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if not step or last - first > 1000 or abs(first) > 2**53 or abs(last) > 2**53:
        return [low, high]
    if 1e-15 < step < 1:  # k / 10 is closer to the decimal than k * 0.1
        inverse = round(1 / step)
        if math.isclose(inverse * step, 1.0, rel_tol=1e-12):
            return [k / inverse for k in range(first, last + 1)]
    return [k * step for k in range(first, last + 1)]


def nice_ticks(low: float, high: float, n: int) -> list[float]:
    """Return about `n` round values between low and high (low < high); at least one."""
    return _at_least_two(low, high, n, nice_step)


def _at_least_two(low: float, high: float, n: int, step_for: Callable[[float, int], float]) -> list[float]:
    """Return about n multiples of a step, of a finer step if there would be fewer than two."""
    span = high - low
    if not math.isfinite(span):
        return [low, 0.0, high]
    ticks: list[float] = []
    for parts in (n, 2 * n, 4 * n):
        ticks = multiples(low, high, step_for(span, parts))
        if len(ticks) >= 2:
            break
    return ticks or [low]


def _whole_step(span: float, n: int) -> float:
    return max(1.0, nice_step(span, n))


def _log_ticks(low: float, high: float, n: int) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    decades = last - first
    if decades >= 1:
        every = max(1, math.ceil(decades / max(n, 1)))
        ticks = [_power(k) for k in range(first, last + 1, every)]
        if decades * 3 <= n:
            ticks = [m * _power(k) for k in range(first - 1, last + 1) for m in (1, 2, 5)]
        return [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)] or [low]
    inside = [m * _power(k) for k in range(first - 1, last + 2) for m in (1, 2, 5)]
    inside = [tick for tick in inside if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
    return inside if len(inside) >= 2 else nice_ticks(low, high, n)


def _power(exponent: int) -> float:
    return float(f"1e{exponent}")  # 10.0 ** -5 is not 1e-05


def axis_ticks(axis: Axis, n: int) -> list[tuple[float, str]]:
    """Return about `n` (value, label) pairs for an axis, by its scale and kind; labels are ASCII."""
    if axis.scale == "log":
        return [(tick, power_label(tick)) for tick in _log_ticks(axis.low, axis.high, n)]
    if axis.kind == "time":
        return _time_ticks(axis.low, axis.high, n)
    span = axis.high - axis.low
    if axis.kind == "duration" and math.isfinite(span):
        ticks = _at_least_two(axis.low, axis.high, n, clock_step)
        return [(tick, format_duration(tick)) for tick in ticks]
    if axis.kind == "extent":
        return [(axis.low, "lowest"), (axis.high, "highest")]
    if axis.kind == "step":
        ticks = _at_least_two(axis.low, axis.high, n, _whole_step)
    else:
        ticks = nice_ticks(axis.low, axis.high, n)
    return list(zip(ticks, tick_labels(ticks), strict=True))


def tick_labels(ticks: list[float]) -> list[str]:
    """Return labels with common decimals, suffix and exponent: 0.0 0.5 1.0, 0 50k 100k, 0.0e-5 0.5e-5 1.0e-5."""
    size = max((abs(tick) for tick in ticks), default=0.0)
    step = min((abs(b - a) for a, b in pairwise(ticks)), default=size)
    if size == 0 or not math.isfinite(step) or step == 0:
        return [power_label(tick) for tick in ticks]
    if size < 1e-3 or size >= 1e15:
        exponent = math.floor(math.log10(size) + 1e-9)
        unit, suffix = _power(exponent), f"e{exponent}"
    else:
        unit, suffix = next(((u, s) for u, s in _SUFFIXES if size >= u and size >= 99999), (1.0, ""))
    if unit == 0.0:
        return [f"{tick:.0e}" for tick in ticks]
    decimals = _decimals(step / unit)
    if unit in _THOUSANDS and decimals >= math.log10(unit) - 1:  # 123456 is shorter than 123.456k
        unit, suffix, decimals = 1.0, "", _decimals(step)
    if len(ticks) == 1:  # as many decimals as the value itself has
        scaled = ticks[0] / unit
        decimals = next((d for d in range(16) if math.isclose(round(scaled, d), scaled, rel_tol=1e-9)), 16)
    return [f"{tick / unit + 0.0:.{decimals}f}{suffix}" if tick else f"{0:.{decimals}f}" for tick in ticks]


def _decimals(step: float) -> int:
    return max(0, min(17, -math.floor(math.log10(step) + 1e-9)))


def power_label(value: float) -> str:
    """Format a value of a log axis: 1e-5, 0.01, 1, 200, 5000, 1e6."""
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.6g}"
    text = f"{value:.2e}"
    if math.isinf(float(text)):  # rounding would exceed the largest float, 1.7977e308
        text = f"{math.copysign(1.79e308, value):.2e}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def _time_ticks(low: float, high: float, n: int) -> list[tuple[float, str]]:
    try:
        offset = time.localtime(low).tm_gmtoff  # ticks on local midnight and full local hours
        local = _at_least_two(low + offset, high + offset, n, lambda span, parts: max(clock_step(span, parts), 1.0))
        step = local[1] - local[0] if len(local) > 1 else 1.0
        form = "%H:%M:%S" if step < 60 else "%H:%M" if step < _DAY else "%m-%d"
        ticks = [tick - time.localtime(tick - offset).tm_gmtoff for tick in local]  # daylight saving time
        return [(tick, _time_label(tick, form)) for tick in ticks if low <= tick <= high]
    except (OverflowError, ValueError, OSError):  # outside the range of the calendar
        return list(zip(ticks := nice_ticks(low, high, n), tick_labels(ticks), strict=True))


def _time_label(tick: float, form: str) -> str:
    local = time.localtime(round(tick))
    midnight = form == "%H:%M" and local.tm_hour == local.tm_min == 0
    return time.strftime("%m-%d" if midnight else form, local)
