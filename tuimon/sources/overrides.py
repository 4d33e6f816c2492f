"""Which logs are of one run by the user's word: --join, --split, and [runs] of a `.tuimon.toml`.

    [runs]
    join = [["logs/first", "logs/resumed"]]     # all logs at or below these paths are one run
    split = ["slurm"]                           # each log at or below this path is a run
    gpu_memory = "80 GB"                        # of each device, if the logs do not say it

Paths in a file are relative to its directory. The reader process gets those of the command line in the environment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from tuimon.errors import UsageError
from tuimon.sources.files import first_bytes

PROJECT_FILE = ".tuimon.toml"
_VARIABLE = "TUIMON_RUNS"
_AMOUNT = r"(\d{1,6}(?:\.\d{1,6})?) ?([MG]i?B)"
_LARGEST = 1 << 20
"""Bytes of a project file that are read."""


class Overrides(Struct, frozen=True):
    """What the user says about runs. All paths are absolute."""

    join: tuple[tuple[str, ...], ...] = ()
    """Paths whose logs are one run each."""
    split: tuple[str, ...] = ()
    """Paths at and below which each log is a run."""

    def __add__(self, other: Overrides) -> Overrides:
        return Overrides((*self.join, *other.join), (*self.split, *other.split))


NO_OVERRIDES = Overrides()


def set_overrides(join: Iterable[Sequence[str]], split: Iterable[str]) -> None:
    """Apply the options of the command line in this process and in those that it starts."""
    given = {"join": list(map(list, join)), "split": list(split)}
    os.environ[_VARIABLE] = json.dumps(_absolute(given, os.getcwd()))


def load_overrides(roots: Iterable[str], environment: Mapping[str, str] = os.environ) -> Overrides:
    """Return the overrides of the command line and of the project files that apply to the given paths.

    A project file with an invalid [runs] has none; `runs_table` says why."""
    given = json.loads(environment.get(_VARIABLE, "{}"))
    result = _overrides(given, "")
    for file in dict.fromkeys(map(project_file, roots)):
        if file is not None:
            try:
                result += _overrides(runs_table(file), str(file.parent))
            except UsageError:
                continue
    return result


def project_file(path: str) -> Path | None:
    """Return the nearest `.tuimon.toml` in the directory of a path or above it; None if there is none."""
    start = Path(os.path.abspath(path))
    for directory in (start, *start.parents):
        file = directory / PROJECT_FILE
        if os.path.isfile(file):  # False also if the directory may not be read
            return file
    return None


def project_tables(file: Path) -> dict[str, Any]:
    """Return the content of a project file. Raise UsageError if it cannot be read."""
    import tomllib  # not imported if there is no file

    try:
        return tomllib.loads(first_bytes(str(file), _LARGEST).decode())
    except (OSError, ValueError) as error:
        raise UsageError(f"it cannot be read: {error}") from error


def runs_table(file: Path) -> dict[str, Any]:
    """Return the table [runs] of a project file. Raise UsageError if it or the file is invalid."""
    table = project_tables(file).get("runs", {})
    example = '[runs] can have join = [["a", "b"]], split = ["c"] and gpu_memory = "80 GB"'
    if not isinstance(table, dict) or not table.keys() <= {"join", "split", "gpu_memory"}:
        raise UsageError(example)
    if not re.fullmatch(_AMOUNT, str(table.get("gpu_memory", "1 GB"))):
        raise UsageError(example)
    if not _are_texts(table.get("split", [])):
        raise UsageError(example)
    if not isinstance(table.get("join", []), list) or not all(map(_are_texts, table.get("join", []))):
        raise UsageError(example)
    return table


@lru_cache(maxsize=1024)
def given_memory(path: str) -> tuple[float, str] | None:
    """Return the memory of a device that the user gives for the runs at a path: (80.0, "GB"); None if not given."""
    file = project_file(path)
    try:
        match = re.fullmatch(_AMOUNT, str(runs_table(file).get("gpu_memory", ""))) if file is not None else None
    except UsageError:
        return None
    return (float(match[1]), match[2]) if match else None


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _overrides(table: Mapping[str, Any], directory: str) -> Overrides:
    absolute = _absolute(table, directory)
    return Overrides(tuple(map(tuple, absolute["join"])), tuple(absolute["split"]))


def _absolute(table: Mapping[str, Any], directory: str) -> dict[str, Any]:
    def full(path: str) -> str:
        return os.path.normpath(os.path.join(directory, path))

    return {
        "join": [list(map(full, paths)) for paths in table.get("join", [])],
        "split": list(map(full, table.get("split", []))),
    }
