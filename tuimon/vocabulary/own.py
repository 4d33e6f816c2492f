"""Meanings of names by the user: `vocabulary.toml` beside config.toml.

    [[metric]]
    names = ["team/{ds}_goodness", "goodness_*"]     # templates, as at the head of the program's vocabulary.toml
    concept = "reward.val"                           # see docs/formats.md; without it: a metric like any other
    label = "goodness {ds}"
    unit = "frac"
    direction = "up"                                 # up | down | neutral | band
    scale = 0.01                                     # factor from a logged value to the unit
    split = "val"                                    # train | val

Only `names` is required. The first entry that matches the whole name wins, before the program's own vocabulary. Nothing
is read before the first name is classified.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct, ValidationError, convert

from tuimon.config import vocabulary_path
from tuimon.errors import UsageError
from tuimon.vocabulary.units import BYTES, SECONDS

DIRECTIONS = ("up", "down", "neutral", "band")
SPLITS = ("train", "val")


class _Metric(Struct, forbid_unknown_fields=True):
    """A table of the file."""

    names: Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1)]
    concept: str = ""
    label: str = ""
    unit: str = ""
    direction: str = ""
    split: str = ""
    scale: float = 1.0


class _File(Struct, forbid_unknown_fields=True):
    metric: list[_Metric] = []


class OwnMeaning(NamedTuple):
    """An entry of the file. "" and 1.0: as the concept has it."""

    expressions: tuple[re.Pattern[str], ...]
    parts: frozenset[str]
    """Named parts of the templates, which the label may contain."""
    concept: str
    label: str
    unit: str
    direction: str
    split: str
    scale: float


def load(path: Path, known: Mapping[str, Any], units: frozenset[str]) -> tuple[OwnMeaning, ...]:
    """Return the entries of a file; () if there is none. Raise UsageError for an invalid one.

    known: the ids of the concepts. units: the names of units.
    """
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    import tomllib  # not imported if there is no file

    try:
        metrics = convert(tomllib.loads(text), _File).metric
    except ValidationError as error:
        keys = f"The file has tables [[metric]] with the keys {', '.join(_Metric.__struct_fields__)}."
        raise UsageError(f"{path}: {error}", keys) from error
    except ValueError as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    return tuple(
        _entry(metric, f"{path}: [[metric]] number {number}", known, units) for number, metric in enumerate(metrics, 1)
    )


def _entry(metric: _Metric, where: str, known: Mapping[str, Any], units: frozenset[str]) -> OwnMeaning:
    from tuimon.vocabulary._compile import expressions

    for key, allowed in (("concept", known), ("direction", DIRECTIONS), ("split", SPLITS), ("unit", units)):
        value = getattr(metric, key)
        if value and value not in allowed:
            from difflib import get_close_matches

            near = get_close_matches(value, list(allowed), 1)
            meant = f"Did you mean {near[0]!r}?" if near else f"It can be: {', '.join(sorted(allowed)[:30])}."
            raise UsageError(f"{where}: not a {key}: {value!r}", meant)
    if not metric.scale:
        raise UsageError(f"{where}: scale must be a number other than 0")
    try:
        compiled = tuple(re.compile(expression) for expression, _ in expressions({"names": metric.names}))
        parts = frozenset(part for expression in compiled for part in expression.groupindex)
        metric.label.format(**dict.fromkeys(parts, ""))
    except (ValueError, re.error) as error:
        raise UsageError(f"{where}: {error}") from None
    except (KeyError, IndexError) as error:
        raise UsageError(f"{where}: label: no name has the part {error}") from None
    return OwnMeaning(
        compiled, parts, metric.concept, metric.label, metric.unit, metric.direction, metric.split, metric.scale
    )


@cache
def entries() -> tuple[OwnMeaning, ...]:
    """Return the entries of the user's file; () if there is none, or if it is invalid, which `check` reports."""
    try:
        return load(vocabulary_path(), *_known())
    except UsageError:
        return ()


def check() -> None:
    """Raise UsageError if the user's file is invalid."""
    load(vocabulary_path(), *_known())


def _known() -> tuple[Mapping[str, Any], frozenset[str]]:
    """Return (concepts by id, names of units)."""
    from tuimon.vocabulary._document import compiled

    concepts = compiled()["concepts"]
    overrides = (override.get("unit", "1") for _, _, override in compiled()["patterns"])
    return {concept["id"]: concept for concept in concepts}, frozenset(
        (*overrides, *(concept["unit"] for concept in concepts), *BYTES, *SECONDS)
    )


def match(name: str) -> tuple[OwnMeaning, Mapping[str, str]] | None:
    """Return (the first entry that matches the whole name, its facets)."""
    for entry in entries():
        found = next((m for expression in entry.expressions if (m := expression.fullmatch(name))), None)
        if found is not None:
            return entry, MappingProxyType({key: text for key, text in found.groupdict().items() if text is not None})
    return None
