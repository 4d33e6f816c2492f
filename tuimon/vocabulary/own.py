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
from functools import cache, cached_property
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert

from tuimon.config import vocabulary_path
from tuimon.errors import UsageError
from tuimon.vocabulary._document import compiled
from tuimon.vocabulary.units import BYTES, SECONDS


class OwnMeaning(Struct, forbid_unknown_fields=True, dict=True):
    """An entry of the file. "" and 1.0: as the concept has it."""

    names: Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1)]
    concept: str = ""
    label: str = ""
    unit: str = ""
    direction: Literal["", "up", "down", "neutral", "band"] = ""
    split: Literal["", "train", "val"] = ""
    scale: float = 1.0

    @cached_property
    def expressions(self) -> tuple[re.Pattern[str], ...]:
        """The expressions of the names. Raises ValueError or re.error for an invalid template."""
        from tuimon.vocabulary._compile import expressions

        return tuple(re.compile(expression) for expression, _ in expressions({"names": self.names}))

    @cached_property
    def parts(self) -> frozenset[str]:
        """Named parts of the templates, which the label may contain."""
        return frozenset(part for expression in self.expressions for part in expression.groupindex)


class _VocabularyFile(Struct, forbid_unknown_fields=True):
    metric: list[OwnMeaning] = []


def load() -> tuple[OwnMeaning, ...]:
    """Return the entries of the user's file; () if there is none. Raise UsageError for an invalid one."""
    path = vocabulary_path()
    if not path.exists():
        return ()
    import tomllib  # not imported if there is no file

    try:
        metrics = convert(tomllib.loads(path.read_text("utf-8")), _VocabularyFile).metric
    except ValidationError as error:
        keys = f"The file has tables [[metric]] with the keys {', '.join(OwnMeaning.__struct_fields__)}."
        raise UsageError(f"{path}: {error}", keys) from error
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    for number, entry in enumerate(metrics, 1):
        _check_entry(entry, f"{path}: [[metric]] number {number}")
    return tuple(metrics)


def _check_entry(entry: OwnMeaning, where: str) -> None:
    concepts = [concept["id"] for concept in compiled()["concepts"]]
    units = {concept["unit"] for concept in compiled()["concepts"]} | BYTES.keys() | SECONDS.keys()
    units |= {override.get("unit", "1") for _, _, override in compiled()["patterns"]}
    for key, value, allowed in (("concept", entry.concept, concepts), ("unit", entry.unit, sorted(units))):
        if value and value not in allowed:
            from difflib import get_close_matches

            near = get_close_matches(value, allowed, 1)
            meant = f"Did you mean {near[0]!r}?" if near else f"It can be: {', '.join(allowed[:30])}."
            raise UsageError(f"{where}: not a {key}: {value!r}", meant)
    if not entry.scale:
        raise UsageError(f"{where}: scale must be a number other than 0")
    try:
        entry.label.format(**dict.fromkeys(entry.parts, ""))
    except (ValueError, re.error) as error:
        raise UsageError(f"{where}: {error}") from None
    except (KeyError, IndexError) as error:
        raise UsageError(f"{where}: label: no name has the part {error}") from None


@cache
def entries() -> tuple[OwnMeaning, ...]:
    """Return the entries of the user's file; () if there is none, or if it is invalid, which `load` reports."""
    try:
        return load()
    except UsageError:
        return ()


def match(name: str) -> tuple[OwnMeaning, Mapping[str, str]] | None:
    """Return (the first entry that matches the whole name, its facets)."""
    for entry in entries():
        found = next((m for expression in entry.expressions if (m := expression.fullmatch(name))), None)
        if found is not None:
            return entry, MappingProxyType({key: text for key, text in found.groupdict().items() if text is not None})
    return None
