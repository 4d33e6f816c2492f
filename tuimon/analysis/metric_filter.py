"""Patterns for the names of metrics: the filter of the screen, --metric of the commands, and rules of the user.

    reward kl           names that contain every word
    time/*_p9?          a word with * or ? is a pattern for the whole name; if none matches, for a part of the name
    kl|entropy          names that match either side of the bar, each of which is words or a pattern
    re:^val/.*acc       a regular expression that is searched for in the name; /^val.*acc/ is the same

Words that no name contains are searched for in the titles on the screen: "success (val)", "truncated responses". A name
that is only similar does not match: it is named in the message that nothing matches (`nearest`).

Case is ignored. An invalid expression, such as the unfinished "re:(", is an error in commands; the screen says so and
searches for it as plain text. An expression that could need more than O(n^4) steps for a name of length n, or that has
used up its time, is searched for as plain text, too: names come from logs, and the screen must not freeze.
"""

from __future__ import annotations

import fnmatch
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from tuimon.text import clean
from tuimon.vocabulary import classify

LONGEST_NAME = 256
"""Number of characters of a name that are matched; half of it for regular expressions."""
LONGEST_QUERY = 200
_REPEATS = 3
"""Maximum number of repetitions in a regular expression: each one can cost another power of the length of a name."""
_SECONDS = 0.25
"""CPU time (s) that a regular expression may take for all names together."""
_MAY_EXPLODE = re.compile(r"\)[*+{]|\\[1-9]|\(\?P=")
"""A repeated group, or a backreference."""

Matcher = Callable[[str], bool]


def matching(names: Sequence[str], query: str) -> list[str]:
    """Return the names that match the query of a filter on the screen.

    The rule is that of `chosen`, except that a whole name also matches the longer names that contain it.
    """
    return list(_matching(tuple(names), query.strip()[:LONGEST_QUERY].lower()))


def chosen(names: Iterable[str], patterns: Sequence[str], titles: bool = True) -> tuple[set[str], list[str]]:
    """Return (names that match one of the patterns, patterns that match no name).

    A pattern, or a part of it between bars, that is the whole name of a metric means this metric only.
    titles: whether titles are searched if no name matches.
    """
    names = tuple(dict.fromkeys(names))
    known, selected = frozenset(names), set[str]()
    unmatched = []
    for pattern in patterns:
        query = pattern.strip()[:LONGEST_QUERY]
        sides = [side.strip() for side in _sides(query)] if _source(query) is None else []
        whole = known.intersection([pattern] if pattern in known else sides)
        rest = "|".join(side for side in sides if side not in whole) if whole else query
        matches = whole if pattern in known or not rest else whole.union(_matching(names, rest.lower(), titles))
        selected.update(matches)
        if not matches:
            unmatched.append(pattern)
    return selected, unmatched


def no_match(pattern: str, names: Iterable[str], kind: str = "metric") -> str:
    """Return the error message for a pattern that matches nothing, with the nearest names."""
    if error := expression_error(pattern):
        return error
    names = tuple(names)
    near = nearest(pattern, names)
    question = f"; did you mean {' or '.join(clean(name) for name in near)}?" if near else ""
    return f"no {kind} matches {clean(pattern)}{question}"


def nearest(pattern: str, names: Iterable[str], count: int = 2) -> list[str]:
    """Return the names, at most `count`, that look most like the pattern, by the whole name or its last part."""
    return list(_nearest(pattern, tuple(names), count))


@lru_cache(maxsize=4)
def _nearest(pattern: str, names: tuple[str, ...], count: int) -> Sequence[str]:
    """Cached: a screen without a match asks at each redraw, which takes up to 0.2 s for 2,000 metrics."""
    from difflib import get_close_matches

    text = pattern.strip("*? ").lower()[:LONGEST_QUERY]
    keys: dict[str, str] = {}
    for name in names:
        for key in (name.lower(), re.split("[/.]", name.lower())[-1]):
            keys.setdefault(key[:LONGEST_NAME], name)
    return list(dict.fromkeys(keys[key] for key in get_close_matches(text, keys, count, 0.6)))


def expression_error(pattern: str) -> str:
    """Return why the regular expression of a pattern is invalid, as "invalid expression …"; "" if it is not."""
    source = _source(pattern.strip())
    if source is None:
        return ""
    try:
        re.compile(source)
    except (re.error, OverflowError, RecursionError) as error:
        return f"invalid expression {clean(pattern)}: {clean(str(error))}"
    return ""


@lru_cache(maxsize=4)
def _matching(names: tuple[str, ...], query: str, titles: bool = True) -> Sequence[str]:
    """Cached: a filter stays while a run grows, and the metrics seldom change."""
    expression = _expression(query)
    if expression is not None:
        return [name for name in names if expression(name[: LONGEST_NAME // 2].lower())]
    matches = {name for part in _sides(query) for name in _with_words(names, part.split(), titles)}
    return [name for name in names if name in matches]


def _sides(query: str) -> list[str]:
    """Return the sides of the bars of a query; without empty ones, so that "kl|" matches what "kl" does."""
    return [part for part in query.split("|") if part.strip()] or [""]


def _with_words(names: tuple[str, ...], words: Sequence[str], titles: bool) -> Sequence[str]:
    """Return the names that match one side of a bar; all names for no words."""
    if len(words) == 1 and ("*" in words[0] or "?" in words[0]):
        whole = [name for name in names if fnmatch.fnmatchcase(name[:LONGEST_NAME].lower(), words[0])]
        if whole:
            return whole
    matches = [name for name in names if _contains_all(name[:LONGEST_NAME].lower(), words)]
    if matches or not titles or not words:
        return matches
    return [name for name in names if _contains_all(_titles(name), words)]


def _titles(name: str) -> str:
    """Return the words by which the screen calls a metric: its concept, its panel, and "(val)"; "" if it is unknown."""
    meaning = classify(name)
    if not meaning.label:
        return ""
    return f"{meaning.label} | {meaning.panel.replace('_', ' ')} ({meaning.split})".lower()


def _expression(query: str) -> Matcher | None:
    """Return a matcher if the query is a regular expression, else None."""
    source = _source(query)
    if source is None:
        return None
    try:
        compiled = re.compile(source)
    except (re.error, OverflowError, RecursionError):
        return lambda name: source in name
    if len(re.findall(r"[*+}]", source)) > _REPEATS or _MAY_EXPLODE.search(source):
        return lambda name: source in name
    begun = time.thread_time()

    def matches(name: str) -> bool:
        if time.thread_time() - begun > _SECONDS:
            return source in name
        return compiled.search(name) is not None

    return matches


def _source(query: str) -> str | None:
    """Return the regular expression of a query: "re:EXPRESSION" or "/EXPRESSION/"; None for other queries."""
    if query.startswith("re:"):
        return query[3:].strip()
    return query[1:-1] if len(query) > 2 and query.startswith("/") and query.endswith("/") else None


def _contains_all(name: str, words: Sequence[str]) -> bool:
    return all(contains(name, word) for word in words)


def contains(text: str, word: str) -> bool:
    """Return whether a word is a part of a text; * and ? are wildcards. Both in lower case."""
    return fnmatch.fnmatchcase(text, f"*{word}*") if "*" in word or "?" in word else word in text
