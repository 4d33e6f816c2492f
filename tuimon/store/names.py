"""Display names of runs: the names that people gave them in their tracker, else those of their directories."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
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


TRACKER, CHOSEN, SETTING, JOB = range(4)
"""Origins of a name, the best first: a tracker; `run_name` of Hugging Face Trainer if it is not the default, which is
the output directory; other settings; a job of Hydra."""
_BEFORE_DIRECTORY = TRACKER, CHOSEN
"""Origins of names that are better than that of any directory."""


def given_name(fact: Fact) -> tuple[int, str]:
    """Return (origin, name of the run) from a fact about its writer, or from its settings; the name is "" if there is
    none."""
    if fact.topic == Topic.WRITER and "job" in fact.value:
        return JOB, clean(redacted_text(str(fact.value["job"]), random=False), LONGEST)
    if fact.topic == Topic.WRITER:
        return TRACKER, _text(fact.value.get("run_name"))
    if fact.topic == Topic.CONFIG:
        if (name := _text(run_name := fact.value.get("run_name"))) and "output_dir" in fact.value:
            return (SETTING if run_name == fact.value["output_dir"] else CHOSEN), name
        return SETTING, next((name for setting in _SETTINGS if (name := _text(_setting(fact.value, setting)))), "")
    return SETTING, ""


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


def display_names(runs: Iterable[tuple[int, str, Collection[tuple[int, str]]]]) -> dict[int, str]:
    """Return the display name of each run by its id; all are different if the names of the directories are.

    runs: (id, name of its directory, origins and names). The name of the best origin is used if there is one only; one
    that is only in the settings if, besides, the directory is named after a time or a number.
    """
    chosen: dict[int, tuple[str, str]] = {}
    for id, directory, given in runs:
        best = min((origin for origin, _ in given), default=SETTING)
        is_used = best in _BEFORE_DIRECTORY or layout.is_vague(directory.rpartition("/")[2])
        names = {name for origin, name in given if origin == best and is_used}
        chosen[id] = (names.pop() if len(names) == 1 else directory), directory
    groups: dict[str, list[int]] = {}
    for id, (name, _) in chosen.items():
        groups.setdefault(name, []).append(id)
    shown = {}
    for name, ids in groups.items():
        distinctions = _distinctions([chosen[id][1] for id in ids]) if len(ids) > 1 else [name]
        for id, distinction in zip(ids, distinctions, strict=True):
            shown[id] = name if chosen[id][1] == name or len(ids) == 1 else f"{name} ({distinction})"
    return {id: shown[id] for id in chosen}


def _distinctions(directories: Sequence[str]) -> Sequence[str]:
    """Return the parts of the names of directories that differ between runs of one name: the ids of a tracker's
    sessions, else the directories above, else both."""
    parts = [directory.rpartition("/") for directory in directories]
    sessions = [_SESSION_ID.fullmatch(last) for _, _, last in parts]
    ids = [match[1] if match else path for match, path in zip(sessions, directories, strict=True)]
    above = [part[0] or part[2] for part in parts]
    both = [f"{part[0]}/{id}" for part, id in zip(parts, ids, strict=True)]
    return next((texts for texts in (ids, above, both) if len(set(texts)) == len(texts)), directories)
