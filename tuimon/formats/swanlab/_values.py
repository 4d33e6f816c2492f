"""SwanLab's JSON values and times.

A value is a number; a bare NaN, Infinity or -Infinity (infinities before 0.3.12, all three again from 0.8); "NaN"; or
"INF" for both infinities (0.3.12 to 0.7, which do not write the sign). Times are "…+00:00", "…Z", or local without an
offset (0.2).
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

_WORDS = {"NaN": math.nan, "INF": math.inf, "Infinity": math.inf, "-Infinity": -math.inf}


def number(value: Any) -> float | None:
    """Return the value as a number, or None if it is not one (media are lists)."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return _WORDS.get(value) if isinstance(value, str) else None


def seconds(time: Any) -> float:
    """Convert an ISO 8601 time to seconds since the epoch, NaN if it is invalid."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return math.nan


def step(value: Any) -> int | None:
    """Return the step as written, or None if it is not a 64-bit integer."""
    return value if type(value) is int and -(2**63) <= value < 2**63 else None
