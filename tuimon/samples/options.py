"""The options with which trainers write their generated texts to files, for runs that have none."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_PLACES = ("rollout_data_dir", "validation_data_dir", "rollout_dump_dir", "export_path", "rollouts_save_path")


def advice(settings: Mapping[str, Any]) -> list[str]:
    """Return lines about the options of trainers, and the directories that the settings of a run name."""
    named = [f"The settings name {name} = {place}: open it with --samples {place}" for name, place in _places(settings)]
    options = tomllib.loads(Path(__file__).with_name("options.toml").read_text("utf-8"))
    return [
        *named,
        "Trainers write texts if an option is set:",
        *(f"  {name:<15}{text}" for name, text in options.items()),
    ]


def _places(settings: Mapping[str, Any], depth: int = 0) -> Iterable[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and depth < 4:
            yield from _places(value, depth + 1)
        elif isinstance(value, str) and value and key.rpartition(".")[2] in _PLACES:
            yield key, value
