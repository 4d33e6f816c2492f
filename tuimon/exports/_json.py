"""Documents as JSON that every parser reads: what is not finite by its name, what is unknown as null."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import orjson

NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def dumps(document: Mapping[str, Any], compact: bool = False) -> str:
    """One object; indented, or on one line."""
    return orjson.dumps(plain(document), option=None if compact else orjson.OPT_INDENT_2).decode()


def known(value: float) -> float | None:
    """A number, or null where it is none."""
    return value if math.isfinite(value) else None


def plain(value: Any) -> Any:
    """Values that JSON has: a number that is not finite by name, text that is valid Unicode, an int that fits."""
    if isinstance(value, Mapping):
        return {_text(str(key)): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else NOT_FINITE[str(value)]
    return _text(str(value))


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
