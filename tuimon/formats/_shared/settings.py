"""Decoder of documents that only hold facts about a run: its settings, its program, how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats._shared.rows import trimmed
from tuimon.model.points import Fact, Item, Replaced, Topic

_WRAPPER_KEYS = frozenset({"value", "desc", "sort"})
_TRACKER_KEYS = frozenset({"wandb_version", "_wandb"})


class FactsDocument:
    """A DocumentDecoder: the facts in a document that have changed, such as [Fact("config", {"lr": 0.1})]."""

    def __init__(self, read: Callable[[bytes], Iterable[Fact]], replaces: bool = False) -> None:
        """read: returns the facts in the bytes; raises FormatError or Unfinished.

        replaces: whether a fact that has changed makes the earlier ones void.
        """
        self._read = read
        self._replaces = replaces
        self._known: dict[str, Fact] = {}

    def load(self, data: bytes) -> list[Item]:
        changed = [fact for fact in self._read(data) if self._known.get(fact.topic) != fact]
        items: list[Item] = [Replaced()] if self._replaces and changed and self._known else []
        self._known.update((fact.topic, fact) for fact in changed)
        return [*items, *changed]


def config_document(parse: Callable[[bytes], Any]) -> FactsDocument:
    """Return the decoder of a config file. `parse` converts bytes to plain values."""

    def read(data: bytes) -> list[Fact]:
        config = parse(data)
        if not isinstance(config, dict):
            raise FormatError("no settings in this document")
        return [Fact(Topic.CONFIG, trimmed(unwrapped(config)))]

    return FactsDocument(read, replaces=True)


def unwrapped(config: dict[str, Any]) -> dict[str, Any]:
    """Return the original config from a tracker's copy, {"lr": {"desc": null, "value": 0.1}} (W&B, SwanLab); any other
    config unchanged."""
    own = {key: value for key, value in config.items() if key not in _TRACKER_KEYS}
    wrapped = [isinstance(value, dict) and "value" in value and value.keys() <= _WRAPPER_KEYS for value in own.values()]
    if not wrapped or not all(wrapped):
        return config
    return {key: value["value"] for key, value in own.items()}


def mapping(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the mapping at a key of a document; {} if the value is missing or of another type."""
    value = document.get(key)
    return value if isinstance(value, dict) else {}
