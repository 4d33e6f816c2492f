"""The cases of a corpus: which paths below a directory a user would name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent
DATA = ROOT.parent / "data"
GOLDENS = ROOT / "goldens"
NOW = 1_830_000_000.0
"""Time at which each case is read (s since the epoch), later than all logs."""
AGE = 3 * 3600.0
"""Time since the last change of each file."""
_GROUPS = frozenset(
    {"cloud", "config", "console", "csv", "exports", "golden", "headerless", "json", "long_form", "replay"}
    | {"tensorboard", "versions", "formats", "hunt", "public", "ranks", "rollouts", "wild", "faults"}
)
"""Directories whose entries are cases; the others are a case themselves."""
_NO_LOGS = frozenset({"README.md", "HOW.md", "why.md", "vocabulary", "secrets", "progress", "attack"})


def cases_below(directory: Path) -> dict[str, Path]:
    """Return the path of each case by its name, such as "console/nemo_rl.log"."""
    return {path.relative_to(directory).as_posix(): path for path in sorted(_cases(directory))}


def _cases(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        if path.name in _NO_LOGS or path.name.endswith((".json.gz", ".expected", ".tar.gz")):
            continue
        if path.is_dir() and path.name in _GROUPS:
            yield from _cases(path)
        else:
            yield path / "run" if (path / "run").is_dir() else path


def private_copy(case: Path, directory: Path) -> Path:
    """Copy a case with times of change that do not depend on the checkout; return the copy."""
    copy = directory / "read" / case.name
    copy.parent.mkdir(parents=True)
    if case.is_dir():
        shutil.copytree(case, copy, symlinks=True)
    else:
        shutil.copy(case, copy)
    paths = [copy, *copy.rglob("*")] if copy.is_dir() else [copy]
    for path in paths:
        if not path.is_symlink():
            os.utime(path, (NOW - AGE, NOW - AGE))
    return copy
