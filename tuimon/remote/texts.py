"""Files with generated texts on a host: their names are known, and those of the steps that are wanted are copied.

Trainers leave gigabytes of texts, of which users read a few steps. In the directories `rollouts` and `media` of the
mirror, a file that was not copied yet is empty, so that the texts view knows its step.
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterator

from tuimon import lazy_re as re
from tuimon.remote.mirror import Mirror

DIRECTORIES = ("media", "rollouts")
"""Names of directories that contain texts beside other files, and no logs."""
SUFFIXES = (".jsonl", ".ndjson", ".json", ".parquet", ".db", ".eval")
NEWEST = 8
"""Number of steps that are copied when the texts of a run are shown."""
_MAX_FILES = 50_000
NO_LOGS = (".parquet", ".eval")
"""Suffixes of files that contain texts in any directory, as no log has them."""
_TABLE = re.compile(r"_(\d{1,12})_[0-9a-f]+\.table\.json$")
_KEYS = re.compile(
    rb'"(?:output|responses?|completions?|output_response|generat\w+|predict(?:ion)?|model_response|response_text'
    rb'|messages|prompts?|input_prompt|question)"\s*:'
)


class WantedTexts:
    """Requests for the texts of some steps. One thread adds to them, another one reads them."""

    def __init__(self) -> None:
        self._steps: tuple[int, ...] = ()
        self._newest = 0
        self.version = 0
        """Number of changes so far."""

    def add(self, step: int | None = None, newest: int = NEWEST) -> None:
        """Want the texts of the last step at or before `step`, and those of the `newest` last steps."""
        if step is not None and step not in self._steps:
            self._steps = (*self._steps, step)
        self._newest = max(self._newest, newest)
        self.version += 1

    def chosen(self, steps: list[int]) -> set[int]:
        """Return which of all steps are wanted. steps: ascending."""
        last = {steps[index - 1] for step in self._steps if (index := bisect.bisect_right(steps, step))}
        return last | set(steps[max(0, len(steps) - self._newest) :])


def is_text(path: str, head: bytes) -> bool:
    """Return whether a file that is no log may contain texts, by its first bytes."""
    return path.endswith(SUFFIXES) and _KEYS.search(head) is not None


def mode_of(path: str) -> str:
    """Return how a file with texts is followed: its new bytes, its changed blocks, or as a database."""
    return "grow" if path.endswith((".jsonl", ".ndjson")) else "unit" if path.endswith(".db") else "whole"


class TextFiles:
    """The files of one host that may contain texts."""

    def __init__(self, mirror: Mirror) -> None:
        self.asked: set[str] = set()
        """Paths on the host of the files that were asked for."""
        self._mirror = mirror
        self._waiting: dict[str, str] = {}
        """Paths in the mirror of the files that were not asked for, by path on the host."""
        self._steps: dict[str, int | None] = {}
        self._version = 0

    def add_name(self, key: str, path: str) -> bool:
        """Note a file by its name alone; return whether it is one for texts. key: its path on the host."""
        folders = path[len(self._mirror.root) :].split("/")[:-1]
        is_in_directory = any(name in DIRECTORIES for name in folders)
        if not path.endswith(SUFFIXES if is_in_directory else NO_LOGS) or len(self._steps) >= _MAX_FILES:
            return is_in_directory
        if is_in_directory:
            self._mirror.placeholder(path)
        self.add(key, path)
        return True

    def add(self, key: str, path: str) -> None:
        """Note a file."""
        if key not in self.asked:
            self._waiting[key] = path
            self._version = 0

    def take_wanted(self, wanted: WantedTexts) -> Iterator[str]:
        """Yield the paths on the host of the files to ask for now, those of the last steps first."""
        if not wanted.version or not self._waiting or self._version == wanted.version:
            return
        self._version = wanted.version
        from tuimon.samples.named_in_path import step_of_path

        for key, path in self._waiting.items():
            if key not in self._steps:
                table = _TABLE.search(path)
                below = os.path.relpath(path, self._mirror.root)
                self._steps[key] = int(table[1]) if table else step_of_path(below)
        chosen = wanted.chosen(sorted({step for step in self._steps.values() if step is not None}))
        ready = [key for key in self._waiting if self._steps[key] is None or self._steps[key] in chosen]
        for key in sorted(ready, key=lambda key: -(self._steps[key] or 0)):
            self.asked.add(key)
            del self._waiting[key]
            yield key
