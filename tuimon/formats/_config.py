"""Configs: documents of settings that lie beside a run's logs, told as one Fact("config", …)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats._rows import trimmed
from tuimon.model.points import Fact, Item, Replaced

_WRAPPED = frozenset({"value", "desc", "sort"})
_OF_TRACKERS = frozenset({"wandb_version", "_wandb"})


class ConfigDocument:
    """A DocumentDecoder. `parse`: bytes -> plain values, raising FormatError or Unfinished."""

    def __init__(self, parse: Callable[[bytes], Any]) -> None:
        self._parse = parse
        self._told: dict[str, Any] | None = None

    def load(self, data: bytes) -> list[Item]:
        """See DocumentDecoder."""
        config = self._parse(data)
        if not isinstance(config, dict):
            raise FormatError("no settings in this document")
        config = trimmed(unwrapped(config))
        if config == self._told:
            return []
        items: list[Item] = [Replaced()] if self._told is not None else []
        self._told = config
        return [*items, Fact("config", config)]


def unwrapped(config: dict[str, Any]) -> dict[str, Any]:
    """A tracker's own copy, {"lr": {"desc": null, "value": 0.1}} (W&B, SwanLab), as the config that it was made of."""
    own = {key: value for key, value in config.items() if key not in _OF_TRACKERS}
    wrapped = [isinstance(value, dict) and "value" in value and value.keys() <= _WRAPPED for value in own.values()]
    if not wrapped or not all(wrapped):
        return config
    return {key: value["value"] for key, value in own.items()}
