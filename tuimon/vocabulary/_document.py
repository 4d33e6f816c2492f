"""vocabulary.toml, read once and on first use."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

MAX_NAME = 400
"""Longer names are not matched at all, so that no name, however hostile, costs more than a bounded time."""


@cache
def document() -> dict[str, Any]:
    """The vocabulary as tomllib gives it."""
    import tomllib

    return tomllib.loads((Path(__file__).parent / "vocabulary.toml").read_text(encoding="utf-8"))
