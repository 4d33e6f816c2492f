"""classify(): the concept behind a metric name, with its facets and how it should be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct, field

from tuimon.vocabulary._document import MAX_NAME, document
from tuimon.vocabulary.names import section_of, without_reducer

_NO_FACETS: Mapping[str, str] = MappingProxyType({})
_VAGUE = frozenset({"other", "known.other", "reward.val_bare"})
"""Concepts that say less about a name than any other reading of it."""
_AFTER_TRAIN = 100
"""Added to the preference of a validation series that shares a concept with the training series."""
_VALIDATION_NAMES = ("eval/", "eval_", "val/score", "val_", "validation/")
_MAX_PREFIXES = 2
"""Directories of a sub-run that are tried to be cut."""


class Rule(NamedTuple):
    """A published or house rule for the series of a concept; detectors decide which they hold it to."""

    kind: str
    """above | below | z_above | nonfinite | plateau …"""
    options: Mapping[str, Any]
    """Threshold, window and the like, as the vocabulary has them."""
    severity: str
    basis: str
    """source | house."""
    source: str


class Concept(NamedTuple):
    """One thing that training logs tell, under whatever name."""

    id: str
    label: str
    panel: str
    unit: str
    direction: str
    """up | down | neutral | band."""
    healthy: tuple[float, float] | None
    note: str
    rank: int
    """Its place in the vocabulary."""
    rules: tuple[Rule, ...]


class Meaning(Struct, frozen=True):
    """What a metric name means."""

    concept: str
    """Id of the concept: "reward.train"; "other" for an unknown name."""
    panel: str
    label: str
    """The concept's, but for names that tell it otherwise: the share of responses that were not truncated."""
    unit: str
    direction: str
    """up | down | neutral | band."""
    facets: Mapping[str, str] = field(default_factory=lambda: _NO_FACETS)
    """Named parts of the name: domain, ds, role, op, device …"""
    preference: int = 0
    """Among series of one concept the lowest is drawn first."""
    rank: int = 10_000
    """Order of the concept among concepts."""
    split: str = "train"
    """train | val: the half of the data it was measured on."""
    scale: float = 1.0
    """A logged value times this is in `unit`."""
    sign_auto: bool = False
    """True: some writers log it negated; turn it over when its first finite value is negative."""
    renamed: bool = False
    """The label is not the concept's."""


_OTHER = Meaning("other", "other", "", "1", "neutral")


@cache
def concepts() -> tuple[Concept, ...]:
    """Every concept of the vocabulary, in its order, with its rules."""
    return tuple(_concept(rank, entry) for rank, entry in enumerate(document()["concept"]))


def _concept(rank: int, entry: Mapping[str, Any]) -> Concept:
    told = ("kind", "severity", "basis", "source")
    rules = tuple(
        Rule(
            rule["kind"],
            MappingProxyType({key: value for key, value in rule.items() if key not in told}),
            rule["severity"],
            rule["basis"],
            rule["source"],
        )
        for rule in entry.get("rule", ())
    )
    healthy = tuple(entry["healthy"]) if "healthy" in entry else None
    return Concept(
        entry["id"],
        entry["label"],
        entry["panel"],
        entry["unit"],
        entry["direction"],
        healthy,
        entry.get("note", ""),
        rank,
        rules,
    )


class _Alternative(Struct, frozen=True):
    """One top-level alternative of a pattern."""

    source: str
    first: frozenset[str] | None
    """Characters that a name may begin with to match; None: any."""
    concept: Concept
    index: int
    """Of its pattern in the concept."""


@cache
def _every_alternative() -> tuple[_Alternative, ...]:
    found: list[_Alternative] = []
    for concept, entry in zip(concepts(), document()["concept"], strict=True):
        for index, pattern in enumerate(entry["pattern"]):
            guard = _guard(pattern)
            found += [
                _Alternative(guard + alternative, _first_characters(alternative), concept, index)
                for alternative in _alternatives(re.sub(r"\(\?P<\w+>", "(?:", pattern["re"]))
            ]
    return tuple(found)


@cache
def _patterns(first: str) -> tuple[re.Pattern[str], tuple[tuple[Concept, int], ...]]:
    """All patterns that a name with this first character may match, as one, and (concept, index of the pattern in it)
    of each of its groups.

    Each top-level alternative of each pattern is an alternative of the whole, closed by an empty group that tells
    which it was. A few alternatives a letter: 2 µs a name, where all of them as one regular expression took 8, and all
    patterns one by one 19; and only those are compiled that names need.
    """
    chosen = [one for one in _every_alternative() if one.first is None or first in one.first]
    whole = re.compile("|".join(f"{one.source}()" for one in chosen) or r"(?!)()")
    return whole, tuple((one.concept, one.index) for one in chosen)


def _first_characters(source: str) -> frozenset[str] | None:
    """What a text that matches the regular expression can begin with; None where that is not told at a glance."""
    if source.startswith("(?:"):
        inner, rest = _group(source)
        found = [_first_characters(alternative) for alternative in _alternatives(inner)]
        if rest[:1] in ("*", "+", "{"):
            return None
        if rest[:1] == "?":
            found.append(_first_characters(rest[1:]))
        known = [some for some in found if some is not None]
        return frozenset().union(*known) if len(known) == len(found) else None
    literal = source[:1].isalnum() or source[:1] == "_"
    return frozenset(source[0]) if literal and source[1:2] not in ("?", "*", "{") else None


def _group(source: str) -> tuple[str, str]:
    """(what is inside the group that the expression begins with, what follows it)"""
    depth, in_class = 0, False
    for token in re.finditer(r"\\.|[\[\]()]", source, re.DOTALL):
        character = token[0]
        if in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if not depth:
                return source[3 : token.start()], source[token.end() :]
    raise ValueError(f"a group without its end: {source}")


@cache
def _single(rank: int, index: int) -> re.Pattern[str]:
    """One pattern by itself, with its named groups."""
    pattern = document()["concept"][rank]["pattern"][index]
    return re.compile(f"{_guard(pattern)}(?:{pattern['re']})")


def _guard(pattern: Mapping[str, str]) -> str:
    return rf"(?!(?:{pattern['exclude']})\Z)" if "exclude" in pattern else ""


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


@lru_cache(maxsize=65536)
def classify(name: str) -> Meaning:
    """The meaning of a metric name as it was logged. Never raises; an unknown name is of the concept "other".

    The whole name is tried first. Where that says nothing definite, it is read as a series of a JSON section
    (val_history/…), as the validation twin of a training series (eval_kl), or as one of a sub-run (explorer/…).
    """
    if len(name) > MAX_NAME:
        return _OTHER
    best = _OTHER
    for reading, split in _readings(without_reducer(name)):
        meaning = _match(reading, split)
        if meaning.concept not in _VAGUE:
            return meaning
        if meaning.rank < best.rank:
            best = meaning
    return best


def _readings(name: str) -> Iterator[tuple[str, str]]:
    """(name to match, split), the likeliest first."""
    split, rest = section_of(name)
    if split:
        if split == "val":
            yield f"val/{rest}", ""
        name = rest
    yield name, split
    if name.startswith(("eval_", "val_")):
        name = name.replace("_", "/", 1)
        yield name, "val"
    namespaces, validation_words = _first_segments()
    for _ in range(_MAX_PREFIXES):
        head, slash, rest = name.partition("/")
        if not slash or not rest:
            return
        if validation_words.search(head):
            if head not in ("val", "eval"):
                yield f"val/{rest}", "val"
            yield rest, "val"
        if head in namespaces:
            return
        yield rest, split
        name = rest


@cache
def _first_segments() -> tuple[frozenset[str], re.Pattern[str]]:
    """(namespaces, a pattern for the first segments that hold validation)."""
    names = document()["names"]
    words = "|".join(names["validation_words"])
    return frozenset(names["namespaces"]), re.compile(rf"(?<![a-z])(?:{words})(?![a-z])")


@lru_cache(maxsize=65536)  # the ends of names are read as well, and are often the same
def _match(name: str, split: str) -> Meaning:
    combined, origins = _patterns(name[:1])
    found = combined.fullmatch(name)
    if found is None or found.lastindex is None:
        return _OTHER
    concept, preference = origins[found.lastindex - 1]
    pattern = document()["concept"][concept.rank]["pattern"][preference]
    facets = _facets(_single(concept.rank, preference), name)
    validation = concept.id.endswith(".val") or name.startswith(_VALIDATION_NAMES)
    if split == "val" and not validation:
        validation, preference = True, preference + _AFTER_TRAIN
    return Meaning(
        concept.id,
        concept.panel,
        pattern.get("label", concept.label),
        pattern.get("unit", concept.unit),
        pattern.get("direction", concept.direction),
        facets,
        preference,
        concept.rank,
        "val" if validation else "train",
        pattern.get("scale", 1.0),
        pattern.get("sign") == "auto",
        "label" in pattern,
    )


def _facets(regex: re.Pattern[str], name: str) -> Mapping[str, str]:
    found = regex.fullmatch(name)
    if found is None or not regex.groupindex:
        return _NO_FACETS
    facets = {key.rstrip("0123456789"): value for key, value in found.groupdict().items() if value is not None}
    return MappingProxyType(facets) if facets else _NO_FACETS
