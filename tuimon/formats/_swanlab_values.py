"""How SwanLab writes values and times as JSON.

A number; the bare tokens NaN, Infinity and -Infinity (infinities before 0.3.12, all three again from 0.8); "NaN"; or
"INF" for both infinities (0.3.12 to 0.7: the sign is lost when it is written).
Times: "…+00:00", "…Z", or local without an offset (0.2).
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

_WORDS = {"NaN": math.nan, "INF": math.inf, "Infinity": math.inf, "-Infinity": -math.inf}


def number(value: Any) -> float | None:
    """The number that a value stands for; None where it is none (media are lists)."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return _WORDS.get(value) if isinstance(value, str) else None


def seconds(time: Any) -> float:
    """An ISO 8601 time as seconds since the epoch, NaN where it is none."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return math.nan


def step(value: Any) -> int | None:
    """A step as it was written, None where it is none."""
    return value if type(value) is int and -(2**63) <= value < 2**63 else None
