"""Units that are printed after numbers, and the exact factors between them.

950ms, then 1.2s       1200 ms: later values are converted to the first unit of their name
900MB, then 1.1GB      1100 MB: kB, MB, GB and TB are powers of 1000; KiB, MiB, GiB and TiB are powers of 1024
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

from tuimon.vocabulary import BYTES

_MICROSECONDS = {"us": 1, "ms": 1000, "s": 1000**2, "min": 60 * 1000**2, "h": 3600 * 1000**2}
_SIZES = (_MICROSECONDS, BYTES)


def spelled(unit: str) -> str:
    """Return a printed unit as it is shown: "s" for "sec" and "s/it", "ms" for "ms/step", otherwise as printed."""
    if "s/" in unit[:3]:
        return unit.partition("/")[0]
    return f"{unit[:-3]}s" if unit in ("sec", "Sec") or unit.endswith("/sec") else unit


def converted(value: float, unit: str, wanted: str) -> float | None:
    """Return the value in another unit, correctly rounded; None if the units have no exact factor."""
    for sizes in _SIZES:
        if unit in sizes and wanted in sizes:
            factor = Fraction(sizes[unit], sizes[wanted])
            return float(Fraction(repr(float(value))) * factor) if isfinite(value) else float(value)
    return None
