"""Compile the document of vocabulary.toml; see compiled_toml.py, which runs this file.

Most templates match a few names only: these are listed. Every other template becomes one regular expression with the
texts that its matches can begin and end with, so that few expressions are tried for a name.

The syntax of templates is described at the head of vocabulary.toml.
"""

from __future__ import annotations

import re  # the build of the wheel runs this file without the rest of tuimon
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_DESCRIPTION = ("id", "label", "panel", "unit", "direction")
_OVERRIDES = ("label", "unit", "direction", "scale", "sign", "split")
_WILDCARDS = {"*": "[^/]+", "**": ".+", "#": r"\d+"}
_PIECE = re.compile(
    r"\{(?:(?P<facet>[a-z]+)(?:(?P<segment>\})|:)|)|~(?P<regex>[^{}]*)|(?P<wildcard>\*\*|[*#])|(?P<text>[^{}|*#~]+)"
)


class Edges(NamedTuple):
    """Texts that a match begins and ends with; `whole`: both are the match itself."""

    begin: str
    end: str
    whole: bool


class Template(NamedTuple):
    """A parsed template: its regular expression, and the edges of each of its alternatives."""

    regex: str
    edges: tuple[Edges, ...]


_EMPTY = Template("", (Edges("", "", True),))


def parse(template: str) -> Template:
    """Parse a template. ValueError for unbalanced braces."""
    parsed, position = _parse_choice(template, 0)
    if position != len(template):
        raise ValueError(f"unbalanced braces in template {template!r}")
    return parsed


def _parse_choice(template: str, position: int) -> tuple[Template, int]:
    """Parse alternatives up to the end of the template or a closing brace; return (template, position there)."""
    alternatives = [_EMPTY]
    while position < len(template) and template[position] != "}":
        if template[position] == "|":
            alternatives.append(_EMPTY)
            position += 1
        else:
            piece, position = _parse_piece(template, position)
            alternatives[-1] = _joined_templates(alternatives[-1], piece)
    edges = tuple(edge for alternative in alternatives for edge in alternative.edges)
    return Template("|".join(alternative.regex for alternative in alternatives), edges), position


def _parse_piece(template: str, position: int) -> tuple[Template, int]:
    match = _PIECE.match(template, position)
    assert match is not None
    facet, segment, regex, wildcard, text = match.groups()
    if text is not None:
        return Template(re.escape(text), (Edges(text, text, True),)), match.end()
    if wildcard or regex is not None or segment:
        source = regex if regex is not None else _WILDCARDS[wildcard or "*"]
        return Template(f"(?P<{facet}>{source})" if facet else source, (Edges("", "", False),)), match.end()
    inner, end = _parse_choice(template, match.end())
    if not template.startswith("}", end):
        raise ValueError(f"unbalanced braces in template {template!r}")
    return Template(f"({f'?P<{facet}>' if facet else '?:'}{inner.regex})", inner.edges), end + 1


def _joined_templates(first: Template, second: Template) -> Template:
    edges = (
        Edges(a.begin + b.begin if a.whole else a.begin, a.end + b.end if b.whole else b.end, a.whole and b.whole)
        for a in first.edges
        for b in second.edges
    )
    return Template(first.regex + second.regex, tuple(dict.fromkeys(edges)))


def expressions(pattern: Mapping[str, Any]) -> Iterator[tuple[str, Template]]:
    """Yield (regular expression that rejects the exceptions, parsed template) for each template of a pattern."""
    exceptions = "|".join(parse(template).regex for template in pattern.get("except", ()))
    guard = rf"(?!(?:{exceptions})\Z)" if exceptions else ""
    for name in pattern["names"]:
        template = parse(name)
        yield f"{guard}(?:{template.regex})", template


def compile_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the program needs of a vocabulary; the keys are described in _document.py."""
    concepts = document["concept"]
    patterns = [(rank, preference, p) for rank, c in enumerate(concepts) for preference, p in enumerate(c["pattern"])]
    templates = [(number, *pair) for number, (_, _, p) in enumerate(patterns) for pair in expressions(p)]
    regexes = [(number, re.compile(source)) for number, source, _ in templates]
    exact: dict[str, int] = {}
    facets: dict[str, dict[str, str]] = {}
    opened = []
    for number, source, template in templates:
        if not all(edge.whole for edge in template.edges):
            begins, ends = {edge.begin for edge in template.edges}, {edge.end for edge in template.edges}
            opened.append([number, source, _shortest(begins), _shortest(ends, at_end=True)])
            continue
        for name in sorted({edge.begin for edge in template.edges}):
            matches = ((n, match) for n, regex in regexes if (match := regex.fullmatch(name)))
            exact[name], match = next(matches, (-1, None))
            if match is None:
                del exact[name]
            elif groups := {key: value for key, value in match.groupdict().items() if value is not None}:
                facets[name] = groups
    return {
        "names": document["names"],
        "concepts": [{key: concept[key] for key in _DESCRIPTION} for concept in concepts],
        "patterns": [
            [rank, p.get("preference", n), {key: p[key] for key in _OVERRIDES if key in p}] for rank, n, p in patterns
        ],
        "phases": document["phase"],
        "phase_names": document["phase_names"],
        "exact": exact,
        "facets": facets,
        "open": opened,
        "words": document["words"],
        "stems": [{key: value for key, value in stem.items() if key != "names"} for stem in document["stem"]],
        **_stem_tables(document["stem"]),
    }


def _stem_tables(stems: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return for each use of a stem (whole, end, begin of a name) its index in `stems`; the first entry wins."""
    tables: dict[str, dict[str, int]] = {"stem_whole": {}, "stem_end": {}, "stem_begin": {}}
    for number, stem in enumerate(stems):
        uses = {"stem_whole": True, "stem_end": stem.get("qualified"), "stem_begin": stem.get("prefix")}
        for use in (use for use, allowed in uses.items() if allowed):
            for name in stem["names"]:
                tables[use].setdefault(name, number)
    return tables


def _shortest(texts: Collection[str], at_end: bool = False) -> list[str]:
    """Return the texts that do not begin (end) with another of them; none if one is empty and so fits any name."""
    if "" in texts:
        return []
    has_edge = str.endswith if at_end else str.startswith
    return sorted(text for text in texts if not any(other != text and has_edge(text, other) for other in texts))
