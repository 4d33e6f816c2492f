"""Small pieces of text that several panels say."""

from __future__ import annotations

import math
import re

from tuimon.analysis.words import day, time_of_day
from tuimon.draw.numbers import format_value, thousands
from tuimon.model.views import Role, Span, Symbols

DATE = "date"
"""The unit of values that are seconds since the epoch."""
_UNITS = {"1": "", "frac": "", "pct": "%", "count": "", DATE: ""}
_ARROWS = {
    Symbols.BRAILLE: ("↑", "↓", "→"),
    Symbols.BLOCK: ("↑", "↓", "→"),
    Symbols.ASCII: ("+", "-", "="),
}
_UP, _DOWN, _LEVEL = 0, 1, 2


def unit_text(unit: str) -> str:
    """A unit of the vocabulary as it stands behind a number; "" for plain numbers and fractions."""
    return _UNITS.get(unit, unit)


def value_text(value: float, unit: str) -> str:
    """A value with its unit of the vocabulary: "3.2 s", "2026-11-21 17:42:03"."""
    if unit == DATE and (date := day(value)):
        return f"{date} {time_of_day(value)}"
    return format_value(value, unit_text(unit))


def plural(count: int, noun: str) -> str:
    """1 point, 2 points, 20 000 points."""
    return f"{thousands(count)} {noun}{'' if count == 1 else 's'}"


def with_article(quantity: str) -> str:
    """As it is read: a 96.6 s, an 80 s, an 11 ms."""
    vowel = quantity.startswith("8") or re.match(r"1[18](?!\d)", quantity)
    return f"{'an' if vowel else 'a'} {quantity}"


def signed_percent(fraction: float) -> str:
    """+38 %, -4 %, 0 %; one digit more below 1 %."""
    percent = fraction * 100
    if abs(percent) >= 1000:
        return f"{'+' if percent > 0 else '-'}{format_value(abs(fraction + 1))}x" if percent > 0 else "-100 %"
    text = f"{percent:+.0f}"
    return f"{'0' if text in ('+0', '-0') else text} %"


def change_span(change: float, still: float, direction: str, symbols: Symbols) -> Span:
    """How a metric moved, with an arrow; good or bad by its direction. Up to `still` it stands."""
    arrows = _ARROWS[symbols]
    if abs(change) <= still:
        return arrows[_LEVEL], Role.MUTED
    rising = change > 0
    role = Role.MUTED
    if direction in ("up", "down"):
        role = Role.GOOD if rising == (direction == "up") else Role.WARNING
    return f"{arrows[_UP if rising else _DOWN]} {format_value(abs(change))}", role


def signed(difference: float, direction: str) -> Span:
    """A difference with its sign; its role says whether that is good, where a direction is. "" for NaN."""
    if not math.isfinite(difference):
        return "", Role.MUTED
    better = direction in ("up", "down") and difference != 0
    good = (difference > 0) == (direction == "up")
    text = format_value(difference)
    return f"+{text}" if difference > 0 else text, (Role.GOOD if good else Role.WARNING) if better else Role.TEXT
