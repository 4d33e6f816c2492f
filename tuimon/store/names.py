"""Display names of runs: those of a tracker, of their settings or of a job, else those of their directories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tuimon import lazy_re as re
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

    runs: (id, name of its directory, origins and names). The name of the best origin is used if there is one only; that
    of a setting or a job if, besides, the directory is named after a time or a number.
    """
    chosen: dict[int, tuple[str, str]] = {}
    for id, directory, given in runs:
        best = min((origin for origin, _ in given), default=SETTING)
        is_used = best in _BEFORE_DIRECTORY or layout.is_vague(directory.rpartition("/")[2])
        names = {name for origin, name in given if origin == best and is_used}
        chosen[id] = (names.pop() if len(names) == 1 else directory), directory
    directories_of: dict[str, list[str]] = {}
    for name, directory in chosen.values():
        directories_of.setdefault(name, []).append(directory)
    distinctions = {name: _distinctions(several) for name, several in directories_of.items() if len(several) > 1}
    return {
        id: name if name == directory or name not in distinctions else f"{name} ({distinctions[name][directory]})"
        for id, (name, directory) in chosen.items()
    }


def _distinctions(directories: Sequence[str]) -> dict[str, str]:
    """Return the part of each directory's name that differs between runs of one name: the id of a tracker's session,
    else the directories above, else both."""
    parts = [directory.rpartition("/") for directory in directories]
    sessions = [_SESSION_ID.fullmatch(last) for _, _, last in parts]
    ids = [match[1] if match else path for match, path in zip(sessions, directories, strict=True)]
    above = [part[0] or part[2] for part in parts]
    both = [
        f"{part[0]}/{match[1]}" if match and part[0] else path
        for part, match, path in zip(parts, sessions, directories, strict=True)
    ]
    texts = next((texts for texts in (ids, above, both) if len(set(texts)) == len(texts)), directories)
    return dict(zip(directories, texts, strict=True))
