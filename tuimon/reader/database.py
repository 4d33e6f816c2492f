"""One database that holds several runs: copied when it has changed, its news dealt out to the runs.

A run of a database is followed under a path of its own, <database>/<run>/metrics, as if it were a file in a directory:
so runs are told apart and named as others are.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator

from msgspec.structs import replace

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DatabaseDecoder, Format
from tuimon.model.points import Item
from tuimon.sources.files import explain, is_gone
from tuimon.sources.scan import FoundFile
from tuimon.sources.sqlite_copy import DatabaseSignature, database_signature, private_copy
from tuimon.text import clean

LEISURE = 20
"""A database is copied so rarely that copying takes at most one part in so many of the time."""


class Database:
    """Follows the database at `path`."""

    def __init__(self, path: str, decoder: DatabaseDecoder) -> None:
        self.path = path
        self.state = "waiting"
        """waiting | current | gone | unreadable."""
        self.message = ""
        self.size = 0
        """Bytes of the database and its -wal."""
        self.read = 0
        """`size` when it was last read."""
        self.modified = float("nan")
        self.runs: dict[str, None] = {}
        """Paths of its runs, in their order."""
        self._decoder = decoder
        self._news: dict[str, list[Item]] = defaultdict(list)
        self._read: DatabaseSignature | None = None
        self._next = 0.0
        """Not copied before, on the monotonic clock."""

    def poll(self) -> None:
        """Read what is new, if anything is."""
        try:
            now = database_signature(self.path)
            self._seen(now)
            if now == self._read:
                return
            began = time.monotonic()
            if began < self._next:
                return
            with private_copy(self.path) as connection:
                news = self._decoder.read(connection)
            self._read, self.read = now, self.size
            ended = time.monotonic()
            self._next = ended + LEISURE * (ended - began)
        except OSError as error:
            self.state = "gone" if is_gone(error) else "unreadable"
            self.message = "no such file" if is_gone(error) else explain(error)
            return
        except Unfinished as error:
            self.message = error.message
            return
        except FormatError as error:
            self.state, self.message = "unreadable", error.message
            self._read = now  # it is tried again once it has changed
            return
        self.state, self.message = "current", ""
        for run, items in news:
            path = self._run_path(run)
            self.runs.setdefault(path)
            if items:
                self._news[path] += items

    def has_news(self, path: str) -> bool:
        """Is there something of this run that has not been taken?"""
        return path in self._news

    def take(self, path: str) -> list[Item]:
        """What is new of a run since the last call."""
        return self._news.pop(path, [])

    def _seen(self, now: DatabaseSignature) -> None:
        parts = [part for part in now if part]
        self.size = sum(part[0] for part in parts)
        self.modified = max(part[1] for part in parts) / 1e9
        if self.state == "gone" or (self.state == "unreadable" and now != self._read):
            self.state = "current" if self.read else "waiting"

    def _run_path(self, run: str) -> str:
        name = run.replace("/", "%2F")
        return os.path.join(self.path, name if name.strip(".") else f"run {name}", "metrics")


class Databases:
    """All databases that were found, and their runs."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Database, Format, FoundFile]] = {}
        """By path."""
        self._by_run: dict[str, Database] = {}
        """By the path under which a run is followed."""

    def __contains__(self, path: str) -> bool:
        return path in self._known

    def add(self, file: FoundFile, log_format: Format, decoder: DatabaseDecoder) -> None:
        self._known[file.path] = Database(file.path, decoder), log_format, file

    def new_runs(self) -> Iterator[tuple[FoundFile, Format]]:
        """The runs that were not there at the last call, each as if it were a file."""
        for database, log_format, file in self._known.values():
            database.poll()
            for path in database.runs:
                if path not in self._by_run:
                    self._by_run[path] = database
                    yield replace(file, path=path), log_format

    def of(self, run: str) -> Database | None:
        """The database that holds the run at this path; None for what is none."""
        return self._by_run.get(run)

    def at(self, path: str) -> Database | None:
        """The database in this file, or that this -wal belongs to."""
        found = self._known.get(path.removesuffix("-wal"))
        return found[0] if found else None

    def silent(self) -> Iterator[tuple[str, str]]:
        """(path, why) of those in which no run was found."""
        for path, (database, log_format, _) in self._known.items():
            if not database.runs:
                yield path, clean(f"{log_format.title}, {database.message or 'no run in it yet'}")

    def unreadable(self) -> Iterator[tuple[str, str]]:
        """(path, why) of those of them that cannot be read."""
        return ((path, why) for path, why in self.silent() if self._known[path][0].state == "unreadable")
