"""What is known of names, read once and on first use: vocabulary.toml, made ready by _compile."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

MAX_NAME = 400
"""Longer names are not matched at all, so that no name, however hostile, costs more than a bounded time."""
COMPILED = Path(__file__).parent / "vocabulary.json"


@cache
def compiled() -> dict[str, Any]:
    """document: the vocabulary as tomllib gives it. exact: of names that are listed, the number of the first pattern
    that matches. facets: the named groups of such a match, where there are any. open: of the alternatives that match
    more than can be listed, (number, regular expression, beginnings, ends): a match has one of each, where there are
    any."""
    import orjson

    found: dict[str, Any] = orjson.loads(COMPILED.read_bytes())
    return found


def document() -> dict[str, Any]:
    """The vocabulary as tomllib gives it."""
    found: dict[str, Any] = compiled()["document"]
    return found
