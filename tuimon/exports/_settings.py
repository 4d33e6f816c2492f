"""Settings of a run (config, best checkpoint, final metrics) as names and short texts, without their secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuimon.analysis.comparing import flat
from tuimon.draw.numbers import format_value
from tuimon.redact import redacted
from tuimon.text import clean


def opened(told: Mapping[str, Any], show_secrets: bool = False) -> Mapping[str, Any]:
    """What may be shown of it."""
    return told if show_secrets else redacted(told)


def shown(value: object, limit: int = 160) -> str:
    """A value as a person reads it, cleaned."""
    if isinstance(value, float):
        return format_value(value)
    return clean(str(value), limit)


__all__ = ["flat", "opened", "shown"]
