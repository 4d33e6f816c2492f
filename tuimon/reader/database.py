"""Follow a file that holds several runs, and distribute its items to the runs.

Each run is followed under the path <database>/<run>/metrics, as if it were a file in a directory, so that grouping and
naming need no special case.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

from msgspec.structs import replace

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DatabaseDecoder, Format, JournalDecoder, kind
from tuimon.model.points import Item, Replaced
from tuimon.registry import FORMATS, Caught
from tuimon.sources.files import FileStatus
from tuimon.sources.scan import FoundFile
from tuimon.sources.sqlite_copy import DatabaseSignature, database_signature, private_copy
from tuimon.sources.tail import Tail
from tuimon.text import clean

LEISURE = 20
"""Minimum pause between two copies of a database, as a multiple of the time that the last copy took."""


class RunsFile(FileStatus):
    """A file that holds several runs. Its state is waiting, current, gone or unreadable."""

    def __init__(self, path: str, log_format: Format) -> None:
        super().__init__(path, remote=False)
        self.state = "waiting"
        self._format = log_format
        self._has_failed = False
        """Whether the decoder has raised: the file is not read again."""
        self.read = 0
        """Bytes that have been read."""
        self.runs: dict[str, None] = {}
        """Paths of its runs, in the order of the file."""
        self._items: dict[str, list[Item]] = defaultdict(list)
        """Items that were read and not taken, by path of the run."""

    def poll(self) -> None:
        """Read what is new, unless the decoder has raised."""
        if not self._has_failed:
            with Caught(FORMATS, self._format, self._end):
                self._poll()

    def _end(self, reason: str, hint: str) -> None:
        self._has_failed = True
        self.state, self.message, self.hint = "unreadable", reason, hint

    def _poll(self) -> None:
        raise NotImplementedError

    def _add(self, runs: Iterable[tuple[str, Sequence[Item]]]) -> None:
        """Keep the new items of each run until they are taken."""
        for run, items in runs:
            name = run.replace("/", "%2F").replace("\0", "\ufffd")
            path = os.path.join(self.path, name if name.strip(".") else f"run {name}", "metrics")
            self.runs.setdefault(path)
            if items:
                self._items[path] += items

    def has_items(self, path: str) -> bool:
        """Are there items of the run at `path` that have not been taken?"""
        return path in self._items

    def take(self, path: str) -> list[Item]:
        """The items of the run at `path` that are new since the last call."""
        return self._items.pop(path, [])


class Database(RunsFile):
    """A SQLite database, of which a copy is read when it has changed. Its size includes the -wal."""

    def __init__(self, path: str, log_format: Format) -> None:
        super().__init__(path, log_format)
        self._decoder = cast(DatabaseDecoder, log_format.decoder())
        self._read: DatabaseSignature | None = None
        self._next_copy = 0.0
        """Monotonic time of the earliest next copy."""

    def _poll(self) -> None:
        try:
            now = database_signature(self.path)
            self._update(now)
            if now == self._read:
                return
            begin = time.monotonic()
            if begin < self._next_copy:
                return
            with private_copy(self.path) as connection:
                runs = self._decoder.read(connection)
            self._read, self.read = now, self.size
            end = time.monotonic()
            self._next_copy = end + LEISURE * (end - begin)
        except OSError as error:
            self._failed(error)
            return
        except Unfinished as error:
            self.message = error.message
            return
        except FormatError as error:
            self.state, self.message, self.hint = "unreadable", error.message, "it is read again when it changes"
            self._read = now  # do not retry before it has changed
            return
        self.state, self.message = "current", ""
        self._add(runs)

    def _update(self, now: DatabaseSignature) -> None:
        parts = [part for part in now if part]
        self.size = sum(part[0] for part in parts)
        self.modified = max(part[1] for part in parts) / 1e9
        if self.state == "gone" or (self.state == "unreadable" and now != self._read):
            self.state = "current" if self.read else "waiting"


class Journal(RunsFile):
    """A log that grows."""

    def __init__(self, path: str, log_format: Format) -> None:
        super().__init__(path, log_format)
        self._new_decoder = cast("Callable[[], JournalDecoder]", log_format.decoder)
        self._decoder = self._new_decoder()
        self._tail = Tail(path)

    def _poll(self) -> None:
        for chunk in self._tail.read_new(sys.maxsize):
            if chunk.restarted:
                self._decoder = self._new_decoder()
                for path in self.runs:
                    self._items[path] = [Replaced()]
            self._add(self._decoder.feed_runs(chunk.data))
        self.read, self.size, self.modified = self._tail.offset, self._tail.size, self._tail.modified
        self.state, self.message = self._tail.state, self._tail.message
        if self.state == "current" and not self.size:
            self.state = "waiting"


class Databases:
    """All databases and their runs."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[RunsFile, Format, FoundFile]] = {}
        self._by_run: dict[str, RunsFile] = {}
        """The database of each run, by path of the run."""

    def __contains__(self, path: str) -> bool:
        return path in self._known

    def add(self, file: FoundFile, log_format: Format) -> None:
        new = Journal if kind(log_format.id) == "journal" else Database
        self._known[file.path] = new(file.path, log_format), log_format, file

    def new_runs(self) -> Iterator[tuple[FoundFile, Format]]:
        """The runs that are new since the last call, each as if it were a file."""
        for database, log_format, file in self._known.values():
            database.poll()
            for path in database.runs:
                if path not in self._by_run:
                    self._by_run[path] = database
                    yield replace(file, path=path), log_format

    def of(self, path: str) -> RunsFile | None:
        """The database containing the run at `path`, or None if `path` is not a run in a database."""
        return self._by_run.get(path)

    def at(self, path: str) -> RunsFile | None:
        """The database in the file at `path` (the database or its -wal), or None."""
        known = self._known.get(path.removesuffix("-wal"))
        return known[0] if known else None

    def without_runs(self) -> Iterator[tuple[str, str]]:
        """(path, reason) of databases in which no run was found."""
        for path, (database, log_format, _) in self._known.items():
            if not database.runs:
                yield path, clean(f"{log_format.title}, {database.message or 'no run in it yet'}")

    def unreadable(self) -> Iterator[tuple[str, str]]:
        """(path, reason) of databases without runs that cannot be read."""
        return (item for item in self.without_runs() if self._known[item[0]][0].state == "unreadable")
