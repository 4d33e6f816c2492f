"""Makes vocabulary.json of vocabulary.toml, for people who change the latter:

    python -m tuimon.vocabulary._compile > tuimon/vocabulary/vocabulary.json

Every start would have to parse 1 400 lines of TOML and to compile some hundred regular expressions before it knew its
first name: a twentieth of the time until the first curve. Here it is done once. Three quarters of the alternatives of
patterns match a few names each, which are listed; of the others it is told what their matches begin and end with, so
that a name is held against those alone that may match it.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

SOURCE = Path(__file__).parent / "vocabulary.toml"
_MOST_NAMES = 400
"""That are listed of one alternative."""
_MOST_ENDS = 64
"""Texts of which a match begins, or ends, with one."""


def compiled() -> dict[str, Any]:
    """What vocabulary.json holds."""
    document = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    patterns = [pattern for concept in document["concept"] for pattern in concept["pattern"]]
    regexes = [re.compile(guarded(pattern)) for pattern in patterns]
    exact: dict[str, int] = {}
    opened = []
    for number, pattern in enumerate(patterns):
        for alternative in _alternatives(pattern["re"]):
            parsed = parser.parse(alternative)
            names = _edge(parsed, _MOST_NAMES)
            if names.whole:
                for name in sorted(names.texts):
                    first = next((at for at, regex in enumerate(regexes) if regex.fullmatch(name)), None)
                    if first is not None:
                        exact[name] = first
                continue
            begins, ends = _edge(parsed, _MOST_ENDS).texts, _edge(parsed, _MOST_ENDS, backwards=True).texts
            source = guarded({**pattern, "re": alternative})
            opened.append([number, source, sorted(_without_longer(begins)), sorted(_without_longer(ends, True))])
    facets = {}
    for name, number in exact.items():
        found = regexes[number].fullmatch(name)
        if found and (told := {key: value for key, value in found.groupdict().items() if value is not None}):
            facets[name] = told
    return {"document": document, "exact": exact, "facets": facets, "open": opened}


def guarded(pattern: Mapping[str, str]) -> str:
    """The regular expression of a pattern without what it excludes."""
    return (rf"(?!(?:{pattern['exclude']})\Z)" if "exclude" in pattern else "") + f"(?:{pattern['re']})"


def _alternatives(source: str) -> list[str]:
    """A regular expression cut at its top-level "|"."""
    parts, start, depth, in_class = [], 0, 0, False
    for token in re.finditer(r"\\.|[\[\]()|]", source, re.DOTALL):
        character = token[0]
        if in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif character == "|" and not depth:
            parts.append(source[start : token.start()])
            start = token.end()
    return [*parts, source[start:]]


class _Edge(NamedTuple):
    """What matches of an expression begin (or end) with: one of these texts."""

    texts: frozenset[str]
    whole: bool
    """They are the whole matches, all of them."""


_NOTHING, _ANYTHING = _Edge(frozenset({""}), True), _Edge(frozenset({""}), False)


def _edge(items: Iterable[Any], most: int, backwards: bool = False) -> _Edge:
    """Of a parsed expression (a sequence of operations)."""
    texts = _NOTHING.texts
    for operation, argument in reversed(list(items)) if backwards else items:
        part = _of_operation(operation, argument, most, backwards)
        longer = {after + before if backwards else before + after for before in texts for after in part.texts}
        if len(longer) > most:
            return _Edge(texts, False)
        texts = frozenset(longer)
        if not part.whole:
            return _Edge(texts, False)
    return _Edge(texts, True)


def _of_operation(operation: Any, argument: Any, most: int, backwards: bool) -> _Edge:
    if operation is codes.LITERAL:
        return _Edge(frozenset({chr(argument)}), True)
    if operation is codes.IN:
        return _of_class(argument, most)
    if operation is codes.SUBPATTERN:
        return _edge(argument[-1], most, backwards)
    if operation is codes.BRANCH:
        return _either(_edge(branch, most, backwards) for branch in argument[1])
    if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        least, highest, body = argument
        found = _edge(body, most, backwards)
        if (least, highest) == (0, 1):
            return _either((_NOTHING, found))
        return _Edge(found.texts, False) if least else _ANYTHING
    if operation is codes.ASSERT_NOT:
        return _NOTHING  # what it leaves out is looked at when a name is listed, or is a part of the source
    return _ANYTHING


def _of_class(members: Sequence[Any], most: int) -> _Edge:
    found: set[str] = set()
    for operation, argument in members:
        if operation is codes.LITERAL:
            found.add(chr(argument))
        elif operation is codes.RANGE and argument[1] - argument[0] < most:
            found |= {chr(code) for code in range(argument[0], argument[1] + 1)}
        else:
            return _ANYTHING
    return _Edge(frozenset(found), True)


def _either(edges: Iterable[_Edge]) -> _Edge:
    found = list(edges)
    return _Edge(frozenset().union(*(edge.texts for edge in found)), all(edge.whole for edge in found))


def _without_longer(texts: frozenset[str], backwards: bool = False) -> Iterator[str]:
    """Those that hold no other one at that end; none where one of them is empty, as any name will do then."""
    for text in texts:
        shorter = (text[cut:] if backwards else text[: len(text) - cut] for cut in range(1, len(text) + 1))
        if text and not any(one in texts for one in shorter):
            yield text


def written(found: Mapping[str, Any]) -> str:
    """As the file has it: a line an entry, so that a change can be read."""
    lines = [f"{json.dumps(key)}: {_broken(value)}" for key, value in found.items()]
    return "{" + ",\n".join(lines) + "}\n"


def _broken(value: Any) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in value) + "]"
    entries = (f"{json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}" for key, entry in value.items())
    return "{\n" + ",\n".join(entries) + "}"


if __name__ == "__main__":
    sys.stdout.write(written(compiled()))
