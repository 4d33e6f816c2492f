"""Incremental reading of SQLite databases that hold several runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from tuimon.errors import FormatError
from tuimon.model.points import Damage, Item

ROWS = 50_000
"""Rows returned per batch: bounds the memory of their Python values."""
_DAMAGED = "page of the database not readable"


def columns(database: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of the table's columns; an empty set if there is no such table."""
    return {row[1] for row in database.execute(f"pragma table_info({table})")}


def readable(database: sqlite3.Connection, query: str) -> tuple[list[tuple[Any, ...]], bool]:
    """Return (rows of a query up to the first one on a damaged page, whether there is a damaged page)."""
    rows: list[tuple[Any, ...]] = []
    try:
        rows.extend(database.execute(query))  # keeps the rows before an error
    except sqlite3.DatabaseError:
        return rows, True
    return rows, False


class NewRows:
    """The rows that were added to a table since the last call, by rowid."""

    def __init__(self, table: str, expressions: Sequence[str]) -> None:
        self._select = f"select rowid, {', '.join(expressions)} from {table} where rowid"
        self._count = f"select count(*) from {table} where rowid <= ?"
        self._last: tuple[Any, ...] | None = None
        self._known = 0  # number of rows read so far
        self.broken = False
        """Whether the rows after the last one read are on a damaged page."""

    def begun_anew(self, database: sqlite3.Connection) -> bool:
        """Return whether all rows must be read again, and prepare for that. This is so if the last row has changed or
        disappeared, or if there are fewer rows before it: the file was replaced, runs were deleted, or a VACUUM
        renumbered the rows."""
        if self._last is None:
            return False
        row = database.execute(f"{self._select} = ?", self._last[:1]).fetchone()
        if row == self._last and self._is_complete(database):
            return False
        self.forget()
        return True

    def forget(self) -> None:
        """Read all rows again next time."""
        self._last, self._known = None, 0

    def _is_complete(self, database: sqlite3.Connection) -> bool:
        assert self._last is not None
        try:
            (count,) = database.execute(self._count, self._last[:1]).fetchone()
        except sqlite3.DatabaseError:
            return True  # a damaged page: rows that were read from it are kept
        return bool(count == self._known)

    def read(self, database: sqlite3.Connection) -> Iterator[list[tuple[Any, ...]]]:
        """Yield batches of new rows (rowid, *expressions), ordered by rowid, up to the first damaged page."""
        self.broken = False
        rows = self._since(database)
        while not self.broken:
            batch: list[tuple[Any, ...]] = []
            try:
                batch.extend(islice(rows, ROWS))  # keeps the rows before an error
            except sqlite3.DatabaseError:
                self.broken = True
            if not batch:
                return
            self._last = batch[-1]
            self._known += len(batch)
            yield batch

    def _since(self, database: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
        since = self._last[0] if self._last else -(2**63)
        yield from database.execute(f"{self._select} > ? order by rowid", (since,))


class DatabaseRuns:
    """The names of the runs of a database, and whether its damage has been reported."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._used: set[str] = set()
        self._broken = False

    def name(self, run: str, logged: object) -> str:
        """Return the unique name of the run with this id. It is the `logged` name of the first call (the id if that is
        empty), followed by the beginning of the id if another run has the same name."""
        name = self._names.get(run)
        if name is None:
            name = str(logged or run)
            for length in (8, len(run)):
                if name in self._used:
                    name = f"{logged or run}-{run[:length]}"
            self._names[run] = name
            self._used.add(name)
        return name

    def named(self, items: dict[str, list[Item]], broken: bool) -> list[tuple[str, list[Item]]]:
        """Return the new items of each run by its name, with a Damage item when the database has become `broken`.
        Raises FormatError if it is broken and has no run."""
        if broken and not items:
            raise FormatError(_DAMAGED)
        if broken and not self._broken:
            items[next(iter(items))].append(Damage(0, 0, _DAMAGED))
        self._broken = broken
        return [(self.name(run, None), run_items) for run, run_items in items.items()]
