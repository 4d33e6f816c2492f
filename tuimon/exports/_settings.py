"""Settings of a run (config, best checkpoint, final metrics) as names and short texts, without their secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tuimon.draw.numbers import format_value
from tuimon.redact import redacted
from tuimon.text import clean

_DEPTH = 6


def opened(told: Mapping[str, Any], show_secrets: bool = False) -> Mapping[str, Any]:
    """What may be shown of it."""
    return told if show_secrets else redacted(told)


def flat(settings: Mapping[str, Any], prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of every setting in it."""
    for key, value in settings.items():
        if isinstance(value, Mapping) and value and depth:
            yield from flat(value, f"{prefix}{key}.", depth - 1)
        else:
            yield f"{prefix}{key}", value


def shown(value: object, limit: int = 160) -> str:
    """A value as a person reads it, cleaned."""
    if isinstance(value, float):
        return format_value(value)
    return clean(str(value), limit)
