"""classify(): the concept of a metric name, its facets, unit and direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.vocabulary import own
from tuimon.vocabulary._document import MAX_NAME, compiled
from tuimon.vocabulary.names import section_of, without_reducer
from tuimon.vocabulary.units import (
    BYTES,
    duration_unit,
    named_unit,
    spelled_unit,
    time_unit,
    unit_as_logged,
    with_seconds,
    without_time_unit,
)
from tuimon.vocabulary.words import Words, canonical, words_of

_NO_FACETS: Mapping[str, str] = MappingProxyType({})
_UNKNOWN = frozenset({"other", "known.other"})
"""Concepts of names that may be durations: a loss has no unit of time."""
_VAGUE = _UNKNOWN | {"reward.val_bare"}
"""Concepts that are used only if no other reading of a name gives a concept."""
_AFTER_TRAIN = 100
"""Added to the preference of a validation series whose concept the training has, too."""
_WORDS = 10
"""Preference of a name that is read by its words; above those of all patterns."""
_MINOR = frozenset({"known.other", "throughput.runtime"})
"""Concepts that do not replace `known.other`."""
_SPREAD_CONCEPTS = {
    (f"reward.{split}", spread): "reward.std" if spread == "std" else "reward.range"
    for split in ("train", "val")
    for spread in ("std", "min", "max")
}
"""Concepts of the statistics of rewards."""
_TIMERS = frozenset({"time.step", "time.phase"})
_VALIDATION_NAMES = ("eval/", "eval_", "val/score", "val_", "validation/")
_VALIDATION_MARKS = ("val", "eval", "test")
"""Beginnings of names that mean only "validation", if nothing else is known of the name."""
_SHARE = re.compile(r"(?:^|[_/.-])(?:ratio|rate|frac|fraction|pct|percent|percentage)(?:/mean)?$", re.IGNORECASE)
"""End of the name of a ratio. It does not have the unit of its quantity."""
_MEASURED = frozenset({"tokens", "count", "steps", "s", "ms", "min", "GiB", "nats"})
"""Units of concepts that are not ratios."""
_MAX_PREFIXES = 2
"""Maximum number of leading segments that are removed as names of sub-runs."""


class Concept(NamedTuple):
    """A quantity that training logs contain under various names."""

    id: str
    label: str
    panel: str
    unit: str
    direction: str
    """up | down | neutral | band."""
    rank: int
    """Index in the vocabulary."""


class Meaning(Struct, frozen=True):
    """Meaning of a metric name."""

    concept: str
    """Id of the concept: "reward.train"; "other" for an unknown name."""
    panel: str
    label: str
    """Label of the concept, or of the pattern if it differs: share of responses not truncated."""
    unit: str
    direction: str
    """up | down | neutral | band."""
    facets: Mapping[str, str] = field(default_factory=lambda: _NO_FACETS)
    """Named parts of the name: domain, ds, role, op, device etc."""
    preference: int = 0
    """The series of a concept with the lowest preference is drawn first."""
    rank: int = 10_000
    """Rank of the concept."""
    split: str = "train"
    """train | val: the split that the metric was measured on."""
    scale: float = 1.0
    """Factor from a logged value to `unit`."""
    sign_auto: bool = False
    """Whether some writers log it negated. The sign is flipped if the first finite value is negative."""
    renamed: bool = False
    """Whether the pattern has a label and direction of its own, unlike its concept."""

    @property
    def logged_unit(self) -> str:
        """Unit of the values as logged; "1" if only that of the converted values is known."""
        return unit_as_logged(self.unit, self.scale)


OTHER = Meaning("other", "other", "", "1", "neutral")
OTHER_VALIDATION = Meaning("other", "other", "", "1", "neutral", split="val")


@cache
def concepts() -> tuple[Concept, ...]:
    """Return all concepts, in the order of the vocabulary."""
    return tuple(Concept(**fields, rank=rank) for rank, fields in enumerate(compiled()["concepts"]))


@cache
def _regex(source: str) -> re.Pattern[str]:
    return re.compile(source)


class _OpenTemplate(Struct, frozen=True):
    """A template that matches more names than can be listed."""

    pattern: int
    """Index of its pattern."""
    source: str
    """Regular expression."""
    begins: tuple[str, ...]
    """Texts that matches begin with; empty: any text."""
    ends: tuple[str, ...]
    """Texts that matches end with; empty: any text."""
    first: str
    """First characters of `begins`."""
    last: str
    """Last characters of `ends`."""

    def match(self, name: str) -> re.Match[str] | None:
        """Match the whole name; compiles the expression only for a name with a fitting beginning and end."""
        fits = name.endswith(self.ends or "") and name.startswith(self.begins or "")
        return _regex(self.source).fullmatch(name) if fits else None


@cache
def _open_templates() -> Sequence[_OpenTemplate]:
    return [
        _OpenTemplate(
            pattern, source, tuple(begins), tuple(ends), "".join(t[0] for t in begins), "".join(t[-1] for t in ends)
        )
        for pattern, source, begins, ends in compiled()["open"]
    ]


@lru_cache(maxsize=4096)
def _templates_of(first: str, last: str) -> Sequence[_OpenTemplate]:
    """Return the templates that may match a name with this first and last character, in their order."""
    return [t for t in _open_templates() if (not t.first or first in t.first) and (not t.last or last in t.last)]


def _first_pattern(name: str) -> tuple[int, Mapping[str, str | None]] | None:
    """Return (index of the first pattern that matches, facets)."""
    content = compiled()
    if (pattern := content["exact"].get(name)) is not None:
        return pattern, content["facets"].get(name, _NO_FACETS)
    for template in _templates_of(name[:1], name[-1:]):
        if match := template.match(name):
            return template.pattern, match.groupdict()
    return None


@lru_cache(maxsize=65536)
def classify(name: str) -> Meaning:
    """Return the meaning of a metric name as it was logged. Never raises; an unknown name has the concept "other".

    A unit of memory or time in the name is that of the values, except of a ratio such as "timing_s/cache_hit_rate".
    """
    if len(name) > MAX_NAME:
        return OTHER
    name = without_reducer(name)
    if own.entries() and (user_meaning := _of_user(name)) is not None:
        return user_meaning
    meaning = _known_meaning(name)
    if meaning.unit in _MEASURED and _SHARE.search(name):
        return OTHER_VALIDATION if meaning.split == "val" else OTHER
    if meaning.scale != 1.0:
        return meaning
    unit = _unit_of_name(name, meaning.unit)
    if not unit and meaning.unit == "1" and meaning.concept in _UNKNOWN:
        unit = duration_unit(name)
    return replace(meaning, unit=unit) if unit else meaning


def _unit_of_name(name: str, known: str) -> str:
    """Return the unit in the name of a metric that has no unit otherwise, or that of memory or time in the name of a
    metric of memory or time; or ""."""
    if known == "1":
        return named_unit(name) or spelled_unit(name)
    if known == "s":
        return time_unit(name)
    return named_unit(name) if known in BYTES else ""


def _known_meaning(name: str) -> Meaning:
    """Return the meaning of a name by the vocabulary of tuimon.

    The whole name is tried first. If its meaning is vague, the name is read as a series of a JSON section
    (val_history/…), as the validation counterpart of a training series (eval_kl), or as one of a sub-run (explorer/…);
    at last its words are read ("Avg Val Loss").
    """
    if (timer := _timer_with_unit(name)) is not None:
        return timer
    best = OTHER
    as_written = tuple(_split_readings(name))
    for reading, split in dict.fromkeys((*as_written[:1], *_split_readings(canonical(name)), *as_written)):
        meaning = _match(reading, split)
        if meaning.concept not in _VAGUE:
            return meaning
        if meaning.rank < best.rank:
            best = meaning
    return _meaning_by_words(name, best)


def _timer_with_unit(name: str) -> Meaning | None:
    """Return the meaning of a timer whose name contains a unit of time, or None.

    It is that of the name without the unit, else that of the name with "_s", so that a template for "_s" matches the
    names with all units.
    """
    if name in compiled()["exact"] or not time_unit(name):
        return None
    names = (without_time_unit(name), with_seconds(name))
    spellings = dict.fromkeys((*names, *map(canonical, names)))
    readings = (_match(reading, split) for timer in spellings for reading, split in _split_readings(timer))
    return next((known for known in readings if known.concept in _TIMERS and known.split == "train"), None)


def _of_user(name: str) -> Meaning | None:
    """Return the meaning that the user's vocabulary gives to a name, or None."""
    if (matched := own.match(name)) is None:
        return None
    entry, facets = matched
    concept = _concepts_by_id().get(entry.concept)
    unit = concept.unit if concept else "1"
    by_name = entry.concept.endswith(".val") or name.startswith(_VALIDATION_NAMES)
    validation = entry.split == "val" or (not entry.split and by_name)
    return Meaning(
        concept.id if concept else "other",
        concept.panel if concept else "other",
        entry.label.format(**{key: facets.get(key, "") for key in entry.parts}) or (concept.label if concept else ""),
        entry.unit or (_unit_of_name(name, unit) if entry.scale == 1.0 else "") or unit,
        entry.direction or (concept.direction if concept else "neutral"),
        facets or _NO_FACETS,
        rank=concept.rank if concept else OTHER.rank,
        split="val" if validation else "train",
        scale=entry.scale,
        renamed=bool(entry.label and entry.direction),
    )


def _meaning_by_words(name: str, known: Meaning) -> Meaning:
    """Return the meaning that the words of a name give, or `known`, a vague one."""
    words = words_of(name)
    if words.number >= 0:
        meaning = _of_words(words)
        clear = not words.rest or name.startswith(_VALIDATION_MARKS)
        if known.concept != "known.other" or (clear and meaning.concept not in _MINOR):
            return meaning
    validation = words.mark == "val"
    if known.concept == "other" or (known.concept == "reward.val_bare" and not name.startswith("eval/")):
        return OTHER_VALIDATION if validation else OTHER
    return replace(known, split="val") if validation else known


def _of_words(words: Words) -> Meaning:
    stem = compiled()["stems"][words.number]
    validation = words.split == "val"
    id = stem.get("validation", stem["concept"]) if validation else stem["concept"]
    id = _SPREAD_CONCEPTS.get((id, words.spread), id)
    concept = _concepts_by_id()[id]
    facets = {"metric": words.stem} if stem.get("metric") else {}
    if words.rest:
        facets["ds" if validation else "component"] = words.rest
    if words.spread:
        facets["q"] = words.spread
    preference = _WORDS + (words.rest.count("_") + 2 if words.rest else 0)
    if validation and id == stem["concept"]:
        preference += _AFTER_TRAIN
    return Meaning(
        id,
        concept.panel,
        stem.get("label") or (words.stem.replace("_", " ") if stem.get("metric") else concept.label),
        stem.get("unit", concept.unit),
        "neutral" if words.spread == "std" else concept.direction,
        MappingProxyType(facets) if facets else _NO_FACETS,
        preference,
        concept.rank,
        "val" if validation else "train",
    )


@cache
def _concepts_by_id() -> dict[str, Concept]:
    return {concept.id: concept for concept in concepts()}


def _split_readings(name: str) -> Iterator[tuple[str, str]]:
    """Yield (name to match, split), the most likely reading first."""
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
        validation, namespace = _segment_kind(head)
        if validation:
            if head not in ("val", "eval"):
                yield f"val/{rest}", "val"
            yield rest, "val"
        if namespace:
            return
        yield rest, split
        name = rest


@lru_cache(maxsize=4096)
def _segment_kind(head: str) -> tuple[bool, bool]:
    """Return whether the first segment of a name (marks validation, is a namespace)."""
    namespaces, validation_words = _first_segments()
    return validation_words.search(head) is not None, head in namespaces


@cache
def _first_segments() -> tuple[frozenset[str], re.Pattern[str]]:
    """Return (namespaces, pattern of the words that mark validation)."""
    names = compiled()["names"]
    words = "|".join(names["validation_words"])
    return frozenset(names["namespaces"]), re.compile(rf"(?<![a-z])(?:{words})(?![a-z])")


@lru_cache(maxsize=65536)  # the ends of names are looked up as well, and many names have the same end
def _match(name: str, split: str) -> Meaning:
    match = _first_pattern(name)
    if match is None:
        return OTHER
    pattern, groups = match
    rank, preference, overrides = compiled()["patterns"][pattern]
    concept = concepts()[rank]
    facets = {key: value for key, value in groups.items() if value is not None}
    validation = concept.id.endswith(".val") or overrides.get("split") == "val" or name.startswith(_VALIDATION_NAMES)
    if split == "val" and not validation:
        validation, preference = True, preference + _AFTER_TRAIN
    return Meaning(
        concept.id,
        concept.panel,
        overrides["label"].format(**facets) if "label" in overrides else concept.label,
        overrides.get("unit", concept.unit),
        overrides.get("direction", concept.direction),
        MappingProxyType(facets) if facets else _NO_FACETS,
        preference,
        concept.rank,
        "val" if validation else "train",
        overrides.get("scale", 1.0),
        overrides.get("sign") == "auto",
        "label" in overrides and "direction" in overrides,
    )
