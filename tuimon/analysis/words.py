"""Durations and times as a person says them."""

from __future__ import annotations

import math
import time

_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def duration(seconds: float) -> str:
    """Two parts at most: "0.35 s", "42 s", "3 min 20 s", "2 h 5 min", "12 d"; "unknown" for what is not finite."""
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds < 1:
        return f"{seconds:.2g} s" if seconds < 0.995 else "1 s"
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    for index, (size, unit) in enumerate(_UNITS[:-1]):
        smaller, smaller_unit = _UNITS[index + 1]
        count = round(seconds / smaller)
        if count * smaller < size:
            continue
        whole, rest = divmod(count, round(size / smaller))
        return f"{whole} {unit}" + (f" {rest} {smaller_unit}" if rest and whole < 10 else "")
    return f"{round(seconds)} s"


def silence(seconds: float) -> str:
    """A duration in whole minutes once it is one, so that what is shown of it does not change every second."""
    return duration(seconds if seconds < 60 else seconds // 60 * 60)


def time_of_day(when: float) -> str:
    """Local time of day: "17:42:03". `when`: seconds since the epoch."""
    try:
        return time.strftime("%H:%M:%S", time.localtime(when))
    except (OverflowError, ValueError, OSError):
        return "a time beyond the clock"


def day(when: float) -> str:
    """Local date: "2026-11-21"; "" where the calendar has none. `when`: seconds since the epoch."""
    try:
        return time.strftime("%Y-%m-%d", time.localtime(when))
    except (OverflowError, ValueError, OSError):
        return ""


def last_sign(last_point: float, last_change: float) -> str:
    """The newest sign of life in words: "last point at 17:42:03", or when its files last changed where no log tells
    when its points were written; "" where nobody knows. Seconds since the epoch, NaN unknown."""
    known = last_point if math.isfinite(last_point) else last_change
    if not math.isfinite(known):
        return ""
    return f"{'last point' if math.isfinite(last_point) else 'files changed'} at {time_of_day(known)}"
