"""Numbers, bytes, fractions and durations as short text with correct significant digits.

`format_value` keeps 4 significant digits (3 below 0.1 and with a suffix or an exponent); suffixes are the decimal
ones of the SI (k, M, G, T); `format_bytes` uses binary units (IEC 80000-13: KiB, MiB, GiB, TiB).
"""

from __future__ import annotations

import math

import numpy as np

from tuimon import lazy_re as re

_SUFFIXES = ("", "k", "M", "G", "T")
_PREFIXED = re.compile(r"(?:[kKMGTP]i?B|[mkM]W|[kMG]Hz|[umµ]s|[GTPE]FLOP)(?:/.+)?")
"""Units that have a prefix and so cannot get another one."""
_MOST_DIGITS = 16
"""Digits that a decimal number in a log may have; a float64 needs 17 only if a program computed it."""
_LARGEST_FLOAT32 = 3e38
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def nonfinite(value: float) -> str:
    """Return "NaN", "Inf" or "-Inf"."""
    return "NaN" if math.isnan(value) else "Inf" if value > 0 else "-Inf"


def format_value(value: float, unit: str = "", width: int = 8) -> str:
    """Format a value in at most `width` (>= 8) cells, without the unit: 0.4523, 1.00e-05, 12.3k, NaN.

    A suffix and the unit B are a decimal unit: 64.0 GB. A unit with a prefix gets no other one: 23100 MB.
    """
    text = format_number(value, unit, width)
    if unit == "B" and text[-1] in _SUFFIXES[1:]:
        return f"{text[:-1]} {text[-1]}B"
    return f"{text} {unit}" if unit else text


def format_number(value: float, unit: str = "", width: int = 8) -> str:
    """Format a value as `format_value` does, for a place that has the unit elsewhere."""
    if not math.isfinite(value):
        return nonfinite(value)
    text = _plain(value, width)
    if text[-1] in _SUFFIXES[1:] and _PREFIXED.fullmatch(unit) and len(whole := f"{value:.0f}") <= width:
        return whole
    return text


def _plain(value: float, width: int) -> str:
    size = abs(value)
    if size < 1e4 and value == int(value):
        return str(int(value))
    if size < 1e-3 or float(f"{size:.2e}") >= 1e15:
        return next((text for digits in (2, 1, 0) if len(text := f"{value:.{digits}e}") <= width), f"{value:.0e}")
    digits = 3 if size < 0.1 or float(f"{size:.3e}") >= 1e4 else 4
    exponent = int(f"{size:.{digits - 1}e}".partition("e")[2])
    if exponent < 4:
        return f"{value:.{max(digits - 1 - exponent, 0)}f}"
    group = exponent // 3
    return f"{value / 1000.0**group:.{2 - exponent % 3}f}{_SUFFIXES[group]}"


def format_exact(value: float, most: int | None = None) -> str:
    """Format a value with the digits that a log has of it; with `most`, rounded to fit into that many characters.

    - A float32 has those that tell it from other float32: 0.02, not 0.019999999552965164.
    - Of 17 digits, which only the arithmetic of a program makes, the last two are left out.
    """
    if not math.isfinite(value):
        return nonfinite(value)
    text = str(int(value)) if value == int(value) and abs(value) < 1e15 else _digits_of(value)
    if most is None or len(text) <= most:
        return text
    return next((short for digits in range(most, 1, -1) if len(short := f"{value:.{digits}g}") <= most), text)


def _digits_of(value: float) -> str:
    """Return the shortest digits of a value that is no whole number, as a float32 if it is one."""
    if abs(value) < _LARGEST_FLOAT32 and float(single := np.float32(value)) == value:
        return str(single)
    text = repr(float(value))
    digits = text.partition("e")[0].replace(".", "").replace("-", "").lstrip("0")
    return text if len(digits) <= _MOST_DIGITS else f"{value:.15g}"


def format_count(count: float) -> str:
    """Format a count: 950, 12.3 k, 1.2 M."""
    if not math.isfinite(count):
        return nonfinite(count)
    if abs(count) < 1000:
        return f"{count:.0f}" if count == int(count) else f"{count:.1f}"
    group = min(int(math.log10(abs(count)) / 3), len(_SUFFIXES) - 1)
    if group < len(_SUFFIXES) - 1 and abs(round(count / 1000.0**group, 1)) >= 1000:
        group += 1
    return f"{count / 1000.0**group:.1f} {_SUFFIXES[group]}"


def format_bytes(count: float, unit: str = "") -> str:
    """Format bytes in the given unit, else in the most suitable one: 812 MiB, 23.4 GiB."""
    if not math.isfinite(count):
        return nonfinite(count)
    group = _BYTE_UNITS.index(unit) if unit else byte_unit(count)
    scaled = count / 1024.0**group
    return (
        f"{scaled:.1f} {_BYTE_UNITS[group]}" if group and abs(scaled) < 99.95 else f"{scaled:.0f} {_BYTE_UNITS[group]}"
    )


def byte_unit(count: float) -> int:
    """Return the exponent of 1024 for displaying `count` bytes; from 1023.5 it is the next one."""
    group = 0
    while group < len(_BYTE_UNITS) - 1 and abs(count) >= 1023.5:
        count /= 1024
        group += 1
    return group


def thousands(count: int) -> str:
    """Format a count with its digits in groups: 20 000."""
    return f"{count:,}".replace(",", " ")


def format_fraction(fraction: float) -> str:
    """Format a fraction as a percentage: 61 %, 0.4 %, 103 %."""
    if not math.isfinite(fraction):
        return nonfinite(fraction)
    percent = fraction * 100
    return f"{percent:.1f} %" if 0 < abs(percent) < 0.95 else f"{percent:.0f} %"


def format_duration(seconds: float) -> str:
    """Format a duration in its two largest units: 320 ms, 3.2 s, 42 s, 1 m 37 s, 1 h 12 m, 3 d 4 h."""
    if not math.isfinite(seconds):
        return nonfinite(seconds)
    if seconds < 0:
        return "-" + format_duration(-seconds)
    if seconds < 0.0995:
        return "0 s" if seconds == 0 else f"{seconds * 1000:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _two(whole, 60, "m", 1, "s")
    whole = round(seconds / 60) * 60
    if whole < 86400:
        return _two(whole, 3600, "h", 60, "m")
    return _two(round(seconds / 3600) * 3600, 86400, "d", 3600, "h")


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    first, rest = divmod(seconds, large)
    return f"{first} {large_name} {rest // small} {small_name}" if rest // small else f"{first} {large_name}"


def distinct_digits(a: float, b: float) -> tuple[str, str]:
    """Format two values with as few digits as distinguish them, at least two."""
    texts = "", ""
    for digits in range(2, 18):
        texts = _digits(a, digits), _digits(b, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _digits(value: float, digits: int) -> str:
    return f"{value:.{digits}g}" if math.isfinite(value) else nonfinite(value)
