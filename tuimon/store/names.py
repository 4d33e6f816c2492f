"""Display names of runs: the names that people gave them in their tracker, else those of their directories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tuimon.model.points import Fact, Topic
from tuimon.redact import redacted_text
from tuimon.sources import layout
from tuimon.text import clean

LONGEST = 120
"""Maximum number of characters of a given name."""
_SETTINGS = ("run_name", "exp_name", "experiment_name", "trainer.experiment_name")
"""Settings that name a run: Hugging Face Trainer, CleanRL, verl."""
_SESSION_ID = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-(\w+)")


def given_name(fact: Fact) -> str:
    """Return the name of the run in a fact about its writer, or in its settings; "" if there is none."""
    if fact.topic == Topic.WRITER:
        return _text(fact.value.get("run_name"))
    if fact.topic == Topic.CONFIG:
        return next((name for setting in _SETTINGS if (name := _text(_setting(fact.value, setting)))), "")
    return ""


def _setting(config: Mapping[str, Any], path: str) -> Any:
    if path in config:
        return config[path]
    value: Any = config
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _text(value: object) -> str:
    """Return a name, the last part of one that is a path: Trainer names a run after its output directory by default."""
    if not isinstance(value, str):
        return ""
    name = value.strip().rstrip("/").rpartition("/")[2]
    return "" if layout.is_generic(name) else clean(redacted_text(name, random=False), LONGEST)


def display_names(runs: Iterable[tuple[int, str, Sequence[str], Sequence[str]]]) -> dict[int, str]:
    """Return the display name of each run by its id; all are different if the names of the directories are.

    runs: (id, name of its directory, names given by trackers, names in settings). A tracker's name is used if there is
    one only; a name in the settings if, besides, the directory is named after a time or a number.
    """
    chosen: dict[int, tuple[str, str]] = {}
    for id, directory, trackers, settings in runs:
        names = set(trackers) or (set(settings) if layout.is_vague(directory.rpartition("/")[2]) else set())
        chosen[id] = (names.pop() if len(names) == 1 else directory), directory
    uses = Counter(name for name, _ in chosen.values())
    return {
        id: name if uses[name] == 1 or name == directory else f"{name} ({_distinction(directory)})"
        for id, (name, directory) in chosen.items()
    }


def _distinction(directory: str) -> str:
    """Return the part of a directory's name that differs between runs of one name: the id of a tracker's session."""
    match = _SESSION_ID.fullmatch(directory.rpartition("/")[2])
    return match[1] if match else directory
