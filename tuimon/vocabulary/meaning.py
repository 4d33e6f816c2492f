"""classify(): the concept behind a metric name, with its facets and how it should be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct, field

from tuimon.vocabulary._document import MAX_NAME, compiled, document
from tuimon.vocabulary.names import section_of, without_reducer

_NO_FACETS: Mapping[str, str] = MappingProxyType({})
_VAGUE = frozenset({"other", "known.other", "reward.val_bare"})
"""Concepts that say less about a name than any other reading of it."""
_AFTER_TRAIN = 100
"""Added to the preference of a validation series that shares a concept with the training series."""
_VALIDATION_NAMES = ("eval/", "eval_", "val/score", "val_", "validation/")
_EDGE = 8
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


@cache
def _regex(source: str) -> re.Pattern[str]:
    return re.compile(source)


class _Open(Struct, frozen=True):
    """An alternative of a pattern that matches more names than can be listed."""

    place: int
    """Among all of them, in the order of the vocabulary."""
    number: int
    """Of the pattern."""
    source: str
    begins: tuple[str, ...]
    """What a match begins with one of; without any: with anything."""
    ends: tuple[str, ...]

    def match(self, name: str) -> re.Match[str] | None:
        """Compiles it no sooner than for a name that begins and ends as it wants."""
        fits = name.endswith(self.ends or "") and name.startswith(self.begins or "")
        return _regex(self.source).fullmatch(name) if fits else None


class _Edges:
    """Open patterns by what their matches begin, or end, with: by its first, or last, _EDGE characters."""

    def __init__(self, texts: Iterable[tuple[str, _Open]], backwards: bool = False) -> None:
        self._found: dict[str, list[_Open]] = {}
        for text, one in texts:
            self._found.setdefault(text, []).append(one)
        cuts = {size: slice(-size, None) if backwards else slice(size) for size in sorted(map(len, self._found))}
        self._gate = next(iter(cuts.values()))
        self._cuts: dict[str, list[slice]] = {}
        """Of names that pass the gate, which is as narrow as the shortest text, the parts to look at."""
        for text in self._found:
            known = self._cuts.setdefault(text[self._gate], [])
            if cuts[len(text)] not in known:
                known.append(cuts[len(text)])

    def like(self, name: str) -> Sequence[_Open]:
        """Those that a name may match by that."""
        cuts = self._cuts.get(name[self._gate])
        return [one for cut in cuts for one in self._found.get(name[cut], ())] if cuts else ()


@cache
def _open() -> tuple[_Edges, _Edges, tuple[_Open, ...]]:
    """(by their beginnings, by their ends where they may begin with anything, those that tell neither)"""
    every = [
        _Open(at, number, source, tuple(b), tuple(e)) for at, (number, source, b, e) in enumerate(compiled()["open"])
    ]
    begins = ((text, one) for one in every for text in {begin[:_EDGE] for begin in one.begins})
    ends = ((text, one) for one in every if not one.begins for text in {end[-_EDGE:] for end in one.ends})
    return _Edges(begins), _Edges(ends, True), tuple(one for one in every if not one.begins and not one.ends)


@cache
def _patterns() -> tuple[tuple[Concept, int, Mapping[str, Any]], ...]:
    """(concept, number in the concept, pattern), in their order."""
    entries = zip(concepts(), document()["concept"], strict=True)
    return tuple((concept, *told) for concept, entry in entries for told in enumerate(entry["pattern"]))


def _first_pattern(name: str) -> tuple[int, Mapping[str, str | None]] | None:
    """(the number of the first pattern that matches, its named groups). A name that is not listed is held against those
    alone whose matches begin and end as it does, so that no other regular expression is compiled."""
    known = compiled()
    if (listed := known["exact"].get(name)) is not None:
        return listed, known["facets"].get(name, _NO_FACETS)
    beginning, ending, others = _open()
    best: tuple[_Open, re.Match[str]] | None = None
    for one in (*others, *beginning.like(name), *ending.like(name)):
        if (best is None or one.place < best[0].place) and (found := one.match(name)):
            best = one, found
    return (best[0].number, best[1].groupdict()) if best else None


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
    for _ in range(_MAX_PREFIXES):
        head, slash, rest = name.partition("/")
        if not slash or not rest:
            return
        validation, namespace = _of_head(head)
        if validation:
            if head not in ("val", "eval"):
                yield f"val/{rest}", "val"
            yield rest, "val"
        if namespace:
            return
        yield rest, split
        name = rest


@lru_cache(maxsize=4096)
def _of_head(head: str) -> tuple[bool, bool]:
    """Of the first segment of a name: (does it tell of validation, is it a namespace)."""
    namespaces, validation_words = _first_segments()
    return validation_words.search(head) is not None, head in namespaces


@cache
def _first_segments() -> tuple[frozenset[str], re.Pattern[str]]:
    """(namespaces, a pattern for the first segments that hold validation)."""
    names = document()["names"]
    words = "|".join(names["validation_words"])
    return frozenset(names["namespaces"]), re.compile(rf"(?<![a-z])(?:{words})(?![a-z])")


@lru_cache(maxsize=65536)  # the ends of names are read as well, and are often the same
def _match(name: str, split: str) -> Meaning:
    found = _first_pattern(name)
    if found is None:
        return _OTHER
    number, groups = found
    concept, preference, pattern = _patterns()[number]
    facets = {key.rstrip("0123456789"): value for key, value in groups.items() if value is not None}
    validation = concept.id.endswith(".val") or name.startswith(_VALIDATION_NAMES)
    if split == "val" and not validation:
        validation, preference = True, preference + _AFTER_TRAIN
    return Meaning(
        concept.id,
        concept.panel,
        pattern.get("label", concept.label),
        pattern.get("unit", concept.unit),
        pattern.get("direction", concept.direction),
        MappingProxyType(facets) if facets else _NO_FACETS,
        preference,
        concept.rank,
        "val" if validation else "train",
        pattern.get("scale", 1.0),
        pattern.get("sign") == "auto",
        "label" in pattern,
    )
