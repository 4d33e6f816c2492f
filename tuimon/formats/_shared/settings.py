"""Decoder of config files: the settings of a run as one Fact("config", ...)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats._shared.rows import trimmed
from tuimon.model.points import Fact, Item, Replaced, Topic

_WRAPPER_KEYS = frozenset({"value", "desc", "sort"})
_TRACKER_KEYS = frozenset({"wandb_version", "_wandb"})


class ConfigDocument:
    """A DocumentDecoder. `parse` converts bytes to plain values, and raises FormatError or Unfinished."""

    def __init__(self, parse: Callable[[bytes], Any]) -> None:
        self._parse = parse
        self._emitted: dict[str, Any] | None = None

    def load(self, data: bytes) -> list[Item]:
        config = self._parse(data)
        if not isinstance(config, dict):
            raise FormatError("no settings in this document")
        config = trimmed(unwrapped(config))
        if config == self._emitted:
            return []
        items: list[Item] = [Replaced()] if self._emitted is not None else []
        self._emitted = config
        return [*items, Fact(Topic.CONFIG, config)]


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
