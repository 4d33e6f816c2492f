"""Which metrics a typed filter means."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable


def matching(names: Iterable[str], query: str) -> list[str]:
    """Names that hold every word of the query, in any case; a word with * or ? is a pattern for a part of the name."""
    words = [word.lower() for word in query.split()]

    def holds(name: str) -> bool:
        return all(
            fnmatch.fnmatchcase(name, f"*{word}*") if "*" in word or "?" in word else word in name for word in words
        )

    return [name for name in names if holds(name.lower())]
