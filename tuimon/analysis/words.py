"""Durations and times as a person says them."""

from __future__ import annotations

import math
import time

from tuimon.draw.numbers import format_duration


def duration(seconds: float) -> str:
    """As format_duration ("3.2 s", "2 h 5 m"), but "unknown" for what is not finite."""
    return format_duration(seconds) if math.isfinite(seconds) else "unknown"


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
