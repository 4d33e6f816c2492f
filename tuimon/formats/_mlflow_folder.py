"""Where MLflow's file store keeps what a run has logged: mlruns/<experiment>/<run>/<folder>/<name>, one value a file.

The name is the path below the folder, its "/" being directories. Source: mlflow/store/tracking/file_store.py.
"""

from __future__ import annotations

import re


class RunFolder:
    """The folder "metrics" or "params" of any run; for the fields of a Format that look at paths."""

    def __init__(self, folder: str) -> None:
        self._path = re.compile(rf"(.*/[0-9a-f]{{32}}/{folder})/(.+)", re.DOTALL)

    def holds(self, path: str) -> bool:
        """Does the file lie in such a folder?"""
        return self._path.fullmatch(path) is not None

    def source(self, path: str) -> str:
        """The folder, which is one source; the file itself where it lies in none."""
        found = self._path.fullmatch(path)
        return found[1] if found else path

    def name(self, path: str) -> str | None:
        """What the value is called."""
        found = self._path.fullmatch(path)
        return found[2] if found else None
