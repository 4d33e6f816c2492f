"""Texts that several panels use: values, signed numbers, changes, plurals; and the colours of states."""

from __future__ import annotations

import math

from tuimon.analysis.words import day, time_of_day
from tuimon.draw.numbers import format_value, thousands
from tuimon.model.views import Role, Span, Symbols
from tuimon.vocabulary import DATE, unit_text

STATE_ROLES = {
    "running": Role.GOOD,
    "finished": Role.TEXT,
    "quiet": Role.WARNING,
    "unknown": Role.WARNING,
    "crashed": Role.CRITICAL,
}
"""State of a run -> role; others are muted."""


def value_text(value: float, unit: str) -> str:
    """Format a value with its unit: "3.2 s", "2026-11-21 17:42:03"."""
    if unit == DATE and (date := day(value)):
        return f"{date} {time_of_day(value)}"
    return format_value(value, unit_text(unit))


def plural(count: int, noun: str) -> str:
    """Return "1 point", "2 points", "20 000 points"."""
    return f"{thousands(count)} {noun}{'' if count == 1 else 's'}"


def signed_percent(fraction: float) -> str:
    """Format a relative change: "+38 %", "-4 %", "0 %", "+12x" from 1000 %."""
    percent = fraction * 100
    if abs(percent) >= 1000:
        return f"+{format_value(fraction + 1)}x" if percent > 0 else "-100 %"
    text = f"{percent:+.0f}"
    return f"{'0' if text in ('+0', '-0') else text} %"


def change_span(change: float, is_noise: bool, direction: str, symbols: Symbols) -> Span:
    """Return a change with an arrow, coloured by whether it is in the metric's direction: "↑ 0.0310", "→ +0.0004".

    is_noise: whether noise explains the change; its arrow is level then.
    """
    up, down, level = "^v=" if symbols is Symbols.ASCII else "↑↓→"
    if is_noise:
        return f"{level} {'+' * (change >= 0)}{format_value(change)}", Role.MUTED
    rising = change > 0
    role = Role.MUTED
    if direction in ("up", "down"):
        role = Role.GOOD if rising == (direction == "up") else Role.WARNING
    return f"{up if rising else down} {format_value(abs(change))}", role


def signed(difference: float, direction: str) -> Span:
    """Format a difference with its sign, coloured by the direction ("up" | "down" | "") of the metric; "" for NaN."""
    if not math.isfinite(difference):
        return "", Role.MUTED
    directed = direction in ("up", "down") and difference != 0
    good = (difference > 0) == (direction == "up")
    text = format_value(difference)
    return f"+{text}" if difference > 0 else text, (Role.GOOD if good else Role.WARNING) if directed else Role.TEXT
