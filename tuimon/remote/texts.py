"""Files with generated texts on a host: their names are known, and those of the steps that are wanted are copied.

Trainers leave gigabytes of texts, of which users read a few steps. In the directories `rollouts` and `media` of the
mirror, a file that was not copied yet is empty, so that the texts view knows its step.
"""

from __future__ import annotations

import bisect

from tuimon import lazy_re as re

DIRECTORIES = ("media", "rollouts")
"""Names of directories that contain texts beside other files, and no logs."""
SUFFIXES = (".jsonl", ".ndjson", ".json", ".parquet", ".db")
NEWEST = 8
"""Number of steps that are copied when the texts of a run are shown."""
NO_LOGS = (".parquet",)
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


def is_named_text(below: str) -> bool:
    """Return whether a file is one for texts by its path below the root of the mirror: "rollouts/7.jsonl"."""
    return below.endswith(SUFFIXES if is_in_directory(below) else NO_LOGS)


def is_in_directory(below: str) -> bool:
    """Return whether a file is in one of DIRECTORIES."""
    return any(name in DIRECTORIES for name in below.split("/")[:-1])


def step_of(below: str) -> int | None:
    """Return the step that the path of a file with texts names."""
    from tuimon.samples.named_in_path import step_of_path

    table = _TABLE.search(below)
    return int(table[1]) if table else step_of_path(below)
