"""Where what a key saves is put: nobody has named a place."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from tuimon.store import Run


def saved_as(suffix: str, runs: Iterable[Run]) -> Path:
    """A new file in the current directory; in the home directory where that one is a run's, in which nothing is ever
    written. Raises OSError where the home directory is a run's, too."""
    name = time.strftime("tuimon-%Y%m%d-%H%M%S") + suffix
    held = [os.path.realpath(run.path) for run in runs]
    for directory in (Path(), Path.home()):
        whole = os.path.realpath(directory)
        if not any(whole == path or whole.startswith(path.rstrip("/") + "/") for path in held):
            return directory / name
    raise OSError("the current and the home directory are those of a run")
