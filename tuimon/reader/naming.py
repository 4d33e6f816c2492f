"""Name of the metric of a file that holds one metric and does not state its name.

The name comes from the file's path (Format.metric_name) or from a database near it (Format.name_in_database). Of the
latter kind are SwanLab's local logs, whose path has a number that runs.swanlab maps to a name:

    swanlog/runs.swanlab                                SQLite: tables experiment, tag (tag.folder -> tag.name)
    swanlog/run-<time>-<id>/logs/<folder>/<N>.log       <folder>: tag.folder, or before 0.3.12 the name, percent-encoded

The row of the database can be written after the file; the name is corrected when it appears. The machine metrics of
SwanLab 0.6 and 0.7 have folders but no tag; they are called "logs/<folder>". Their names, like all others, are in the
run's backup.swanlab.
"""

from __future__ import annotations

import math
import os
import sqlite3
import time
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.sources.files import FRESH
from tuimon.sources.sqlite_copy import DatabaseSignature, database_signature, private_copy

_LOG = re.compile(r"(?P<root>.*)/(?P<run>[^/]+)/logs/(?P<folder>[^/]+)/\d+\.log")
_STATES = {1: "finished", -1: "crashed"}


class MetricName:
    """The name of the metric of one file, as far as it is known."""

    def __init__(self, path: str, log_format: Format, names: SwanLabNames) -> None:
        """names: shared by all files."""
        self.taken = os.path.basename(os.path.dirname(path))
        """The name in use."""
        self.run_name = ""
        """Name of the run in the database; "" if it is not known."""
        self._location = log_path(path) if log_format.name_in_database else None
        self._names = names
        if log_format.metric_name is not None:
            self.taken = log_format.metric_name(path) or self.taken
        self.look()

    def look(self) -> bool:
        """Look for the name; True if it replaces another one."""
        if self._location is None:
            return False
        name, certain = self._names.metric(self._location)
        if (run := self._names.run(self._location)) is not None:
            self.run_name = run.name
        if certain:
            self._location = None
        before, self.taken = self.taken, name
        return before != name


def metric_name(path: str, log_format: Format, names: SwanLabNames) -> MetricName | None:
    """The MetricName of a file, or None if the file names its metrics itself."""
    if log_format.name_in_database or (log_format.metric_name is not None and log_format.metric_name(path) is not None):
        return MetricName(path, log_format, names)
    return None


class LoggedRun(Struct, frozen=True):
    """A run in runs.swanlab."""

    name: str
    """Name of the experiment."""
    state: str
    """finished | crashed | running; a killed run stays "running"."""
    folders: dict[str, str]
    """Metric name by folder below logs/."""


class LogPath(Struct, frozen=True):
    """The parts of swanlog/<run>/logs/<folder>/<number>.log that identify its metric."""

    database: str
    """Path of swanlog/runs.swanlab; it need not exist."""
    run: str
    folder: str


def log_path(path: str) -> LogPath | None:
    """The parts of a log file's absolute path, or None for a path of another shape."""
    match = _LOG.fullmatch(path)
    return LogPath(f"{match['root']}/runs.swanlab", match["run"], match["folder"]) if match else None


def swanlab_names(database: str | Path) -> dict[str, LoggedRun]:
    """The runs in a runs.swanlab by the name of their directory; read from a private copy.

    Raises OSError if it cannot be read, FormatError (or Unfinished) if it is not such a database.
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


class _Cached(Struct):
    """Content of a database when it was last read."""

    runs: dict[str, LoggedRun]
    signature: DatabaseSignature | None = None
    expires: float = math.inf
    """Monotonic time at which to read again although the signature is the same: it was too fresh to be trusted."""


class SwanLabNames:
    """The runs of any number of swanlog directories; a database is read again when it has changed."""

    def __init__(self) -> None:
        self._cache: dict[str, _Cached] = {}

    def run(self, path: LogPath) -> LoggedRun | None:
        """The run of a log file, or None if no readable runs.swanlab lists it."""
        cached = self._cache.setdefault(path.database, _Cached({}))
        try:
            now = database_signature(path.database)
            if now != cached.signature or time.monotonic() >= cached.expires:
                is_fresh = any(time.time() - part[1] / 1e9 < FRESH for part in now if part)
                cached.signature, cached.expires = now, time.monotonic() + FRESH if is_fresh else math.inf
                cached.runs = swanlab_names(path.database)
        except (OSError, FormatError):
            pass  # keep what was read before
        return cached.runs.get(path.run)

    def metric(self, path: LogPath) -> tuple[str, bool]:
        """(name of a log file's metric, is it certain?).

        A numbered folder without a name may get one soon: the row in the database is written after the folder."""
        run = self.run(path)
        name = run.folders.get(path.folder) if run else None
        if name is not None:
            return name, True
        if path.folder.isdigit():
            return f"logs/{path.folder}", run is not None and run.state != "running"
        return unquote(path.folder), True
