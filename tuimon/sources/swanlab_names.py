"""Which metric a file of SwanLab's local logs holds: its path has a number, and runs.swanlab knows the number's name.

    swanlog/runs.swanlab                                SQLite: tables experiment, tag (tag.folder -> tag.name)
    swanlog/run-<time>-<id>/logs/<folder>/<N>.log       <folder>: tag.folder, or before 0.3.12 the name, percent-encoded

The machine's metrics of 0.6 and 0.7 have folders but no tag; they are called "logs/<folder>". Their names, with all
others, are in the run's backup.swanlab.
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from tuimon.errors import FormatError
from tuimon.sources.files import FRESH
from tuimon.sources.sqlite_copy import DatabaseSignature, database_signature, private_copy

_LOG = re.compile(r"(?P<root>.*)/(?P<run>[^/]+)/logs/(?P<folder>[^/]+)/\d+\.log")
_STATES = {1: "finished", -1: "crashed"}


class LoggedRun(Struct, frozen=True):
    """What runs.swanlab says of one run directory."""

    name: str
    """The experiment's name."""
    state: str
    """finished | crashed | running; a killed run stays "running"."""
    folders: dict[str, str]
    """Folder below logs/ -> metric name."""


class LogPath(Struct, frozen=True):
    """The parts of swanlog/<run>/logs/<folder>/<number>.log that tell its metric."""

    database: str
    """Path of the runs.swanlab that belongs to it; it need not exist."""
    run: str
    """Name of the run directory."""
    folder: str


def log_path(path: str) -> LogPath | None:
    """The parts of a log file's absolute path, None for a path of another shape."""
    found = _LOG.fullmatch(path)
    if not found:
        return None
    root, run = found["root"], found["run"]
    return LogPath(f"{root}/runs.swanlab", run, found["folder"])


def swanlab_names(database: str | Path) -> dict[str, LoggedRun]:
    """Run directory name -> what a runs.swanlab says of it; read from a private copy.

    Raises OSError where it cannot be read, FormatError (or Unfinished) where it is no such database.
    """
    with private_copy(str(database)) as connection:
        return _runs(connection)


def _runs(connection: sqlite3.Connection) -> dict[str, LoggedRun]:
    columns = {row[1] for row in connection.execute("pragma table_info(tag)")}
    folder = "folder" if "folder" in columns else "null"
    runs: dict[str, LoggedRun] = {}
    by_id: dict[int, LoggedRun] = {}
    for number, run, name, status in connection.execute("select id, run_id, name, status from experiment"):
        by_id[number] = runs[str(run)] = LoggedRun(str(name), _STATES.get(status, "running"), {})
    for number, name, where in connection.execute(f"select experiment_id, name, {folder} from tag"):
        if number in by_id and where is not None:
            by_id[number].folders[str(where)] = str(name)
    return runs


class _Known(Struct):
    """A database as it was last looked at."""

    runs: dict[str, LoggedRun]
    signature: DatabaseSignature | None = None
    again: float = math.inf
    """On the monotonic clock: look again though the signature is the same, as it was too young to be trusted."""


class SwanLabNames:
    """The names of all runs below any number of swanlog directories; a database is read again when it has changed."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def run(self, path: LogPath) -> LoggedRun | None:
        """What is known of the run of a log file; None where there is no readable runs.swanlab that lists it."""
        known = self._known.setdefault(path.database, _Known({}))
        try:
            now = database_signature(path.database)
            if now != known.signature or time.monotonic() >= known.again:
                young = any(time.time() - part[1] / 1e9 < FRESH for part in now if part)
                known.signature, known.again = now, time.monotonic() + FRESH if young else math.inf
                known.runs = swanlab_names(path.database)
        except (OSError, FormatError):
            pass  # what was known before still holds
        return known.runs.get(path.run)

    def metric(self, path: LogPath) -> tuple[str, bool]:
        """(name of a log file's metric, whether it is certain). A number without a name may get one in a moment: its
        row in the database is written after its folder."""
        run = self.run(path)
        name = run.folders.get(path.folder) if run else None
        if name is not None:
            return name, True
        if path.folder.isdigit():
            return f"logs/{path.folder}", run is not None and run.state != "running"
        return unquote(path.folder), True
