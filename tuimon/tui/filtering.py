"""Which metrics a typed filter means.

    reward kl           names that hold every word, or, where none does, that hold the letters of every word in order
    time/*_p9?          a word with * or ? is a pattern for a part of the name
    re:^val/.*acc       a regular expression that is found in the name; so is /^val.*acc/

Case is ignored. A pattern that says nothing yet ("re:(") is no error: it holds the names that its text is found in.
Regular expressions of the kinds that may take longer than a name is long to the fourth are looked for as text, too,
and so is one that has taken too long already: names come from logs, and a screen must not freeze over them.
"""

from __future__ import annotations

import fnmatch
import re
import time
from collections.abc import Callable, Sequence
from functools import lru_cache

LONGEST_NAME = 256
"""Characters of a name that are looked at; by a regular expression, half as many."""
LONGEST_QUERY = 200
_REPEATS = 3
"""Repetitions in a regular expression: each more could cost another power of a name's length."""
_SECONDS = 0.25
"""For all names together."""
_MAY_EXPLODE = re.compile(r"\)[*+{]|\\[1-9]|\(\?P=")
"""A group that is repeated, a reference to one."""

Holds = Callable[[str], bool]


def matching(names: Sequence[str], query: str) -> list[str]:
    """The names that a query means; those that hold its words as they stand, or else those nearest to it first."""
    return list(_matching(tuple(names), query.strip()[:LONGEST_QUERY].lower()))


@lru_cache(maxsize=4)
def _matching(names: tuple[str, ...], query: str) -> Sequence[str]:
    """Kept: a filter stands while a run grows, and its names seldom change."""
    expression = _expression(query)
    if expression is not None:
        return [name for name in names if expression(name[: LONGEST_NAME // 2].lower())]
    words = query.split()
    found = [name for name in names if _holds_all(name[:LONGEST_NAME].lower(), words)]
    if found or not words:
        return found
    near = ((_spread(name[:LONGEST_NAME].lower(), words), place, name) for place, name in enumerate(names))
    return [name for spread, _, name in sorted(one for one in near if one[0] >= 0)]


def _expression(query: str) -> Holds | None:
    """The regular expression that a query is; None: it is none."""
    if query.startswith("re:"):
        source = query[3:].strip()
    elif len(query) > 2 and query.startswith("/") and query.endswith("/"):
        source = query[1:-1]
    else:
        return None
    try:
        compiled = re.compile(source)
    except (re.error, OverflowError, RecursionError):
        return lambda name: source in name
    if len(re.findall(r"[*+}]", source)) > _REPEATS or _MAY_EXPLODE.search(source):
        return lambda name: source in name
    begun = time.thread_time()

    def holds(name: str) -> bool:
        if time.thread_time() - begun > _SECONDS:
            return source in name
        return compiled.search(name) is not None

    return holds


def _holds_all(name: str, words: Sequence[str]) -> bool:
    return all(fnmatch.fnmatchcase(name, f"*{word}*") if "*" in word or "?" in word else word in name for word in words)


def _spread(name: str, words: Sequence[str]) -> int:
    """Over how many characters the letters of all the words are spread, each word's in order; -1: they are not."""
    total = 0
    for word in words:
        at = begin = name.find(word[0])
        for letter in word[1:]:
            if at < 0:
                break
            at = name.find(letter, at + 1)
        if at < 0:
            return -1
        total += at - begin
    return total
