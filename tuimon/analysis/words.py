"""Durations, times and settings as text."""

from __future__ import annotations

import math

from tuimon.draw.numbers import format_bytes, format_duration, format_exact, format_fraction
from tuimon.model.points import Steps
from tuimon.text import clean, local_time


def setting_text(value: object, limit: int = 160) -> str:
    """Return the value of a setting as cleaned text of at most `limit` characters: numbers with every digit."""
    if isinstance(value, float):
        return format_exact(value, limit)
    if isinstance(value, (list, tuple)):
        return clean("[" + ", ".join(setting_text(item, limit) for item in value[:limit]) + "]", limit)
    return clean(str(value), limit)


def duration(seconds: float) -> str:
    """Format as format_duration ("3.2 s", "2 h 5 m"), but "unknown" if not finite."""
    return format_duration(seconds) if math.isfinite(seconds) else "unknown"


def silence(seconds: float) -> str:
    """Format a duration, rounded down to 5 s, and to whole minutes from one minute on: a screen that shows it is not
    drawn anew every second."""
    grain = 60 if seconds >= 60 else 5
    return duration(seconds // grain * grain if seconds >= grain else seconds)


def damage_text(parts: int, size: int, cut_short: bool = False) -> str:
    """Return "1 damaged part, 3.0 KiB". cut_short: one of the parts is a last record without its end."""
    cut = "ends within a record" if cut_short else ""
    damaged = f"{parts} damaged part{'s' * (parts != 1)}" if parts > cut_short else ""
    return " and ".join(filter(None, (damaged, cut))) + (f", {format_bytes(size)}" if size else "")


def time_of_day(when: float) -> str:
    """Format seconds since the epoch as local time of day: "17:42:03"."""
    return local_time(when) or "an invalid time"


def day(when: float) -> str:
    """Format seconds since the epoch as local date: "2026-11-21"; "" if out of range."""
    return local_time(when, "%Y-%m-%d")


def with_article(noun: str) -> str:
    """Return "a step", "an epoch"."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def steps_text(steps: Steps) -> str:
    """Return "30", "30 and 41", or, of more steps (ascending, not empty), the first and the last: "30 to 57"."""
    first, last = int(steps[0]), int(steps[-1])
    if first == last:
        return str(first)
    return f"{first} {'and' if len(steps) == 2 else 'to'} {last}"


def percentage(position: int, total: int) -> str:
    """Return how far a run is, as "72 %"; below 100 % until the total is reached."""
    fraction = position / total
    return format_fraction(min(fraction, 0.99) if fraction < 1 else fraction)
