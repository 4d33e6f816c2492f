"""Step and split that the path of a file with generated texts names."""

from __future__ import annotations

from tuimon import lazy_re as re

_NO_STEPS = (".table.json", ".log", ".out", ".db")
_NAMED_STEP = re.compile(r"(?:step|iteration|iter)[_.\-]?0*(\d{1,12})(?!\d)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d")
_LAST_NUMBER = re.compile(r"(?:^|[_.\-])0*(\d{1,9})$|^0*(\d{1,9})-[0-9a-f]{8}$")
_VALIDATION = re.compile(r"(?:^|[^a-z])(?:val|valid|validation|eval|evals|evaluation|test)(?:[^a-z]|$)")


def split_of_path(below: str) -> str:
    """Return the split that a path names, "train" if it names none."""
    return "validation" if _VALIDATION.search(below.lower()) else "train"


def step_of_path(below: str) -> int | None:
    """Return the step that a path names: `train_data_step7.jsonl`, `step_7/all.jsonl` or `7.jsonl`."""
    *folders, name = below.split("/")
    if name.endswith(_NO_STEPS) or "tfevents" in name:
        return None  # the number is a counter of W&B, a time, a rank or a part of a log
    stem = name.rpartition(".")[0] or name
    for part in (stem, *reversed(folders)):
        if match := _NAMED_STEP.search(part):
            return int(match[1])
    if not _DATE.search(stem) and (match := _LAST_NUMBER.search(stem)):
        return int(match[1] or match[2])
    return None
