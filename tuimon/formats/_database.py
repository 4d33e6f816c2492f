"""Reading only the new rows of a table of a SQLite database, time after time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

DAMAGED = "page of the database not readable"
ROWS = 50_000
"""Rows handed on at once: bounds the memory that their Python values take."""


def columns(database: sqlite3.Connection, table: str) -> set[str]:
    """Names of the table's columns; empty where there is no such table."""
    return {row[1] for row in database.execute(f"pragma table_info({table})")}


def readable(database: sqlite3.Connection, query: str) -> tuple[list[tuple[Any, ...]], bool]:
    """(the rows of a query, up to the first that lies on a damaged page; is there one?)"""
    rows: list[tuple[Any, ...]] = []
    try:
        rows.extend(database.execute(query))  # what came before an error stays
    except sqlite3.DatabaseError:
        return rows, True
    return rows, False


class NewRows:
    """The rows of a table that were added since the last time, by their rowid."""

    def __init__(self, table: str, expressions: Sequence[str]) -> None:
        self._select = f"select rowid, {', '.join(expressions)} from {table} where rowid"
        self._count = f"select count(*) from {table} where rowid <= ?"
        self._last: tuple[Any, ...] | None = None
        self._known = 0
        """Rows read, up to the last."""
        self.broken = False
        """What follows the rows read so far cannot be read."""

    def begun_anew(self, database: sqlite3.Connection) -> bool:
        """Is the row that was read last no longer there, or are there fewer before it? Then all are read again: another
        database took the place of this one, runs were deleted, or it was packed and its rows numbered anew."""
        if self._last is None:
            return False
        found = database.execute(f"{self._select} = ?", self._last[:1]).fetchone()
        if found == self._last and self._all_there(database):
            return False
        self.forget()
        return True

    def forget(self) -> None:
        """Read all rows again."""
        self._last, self._known = None, 0

    def _all_there(self, database: sqlite3.Connection) -> bool:
        assert self._last is not None
        try:
            (count,) = database.execute(self._count, self._last[:1]).fetchone()
        except sqlite3.DatabaseError:
            return True  # a damaged page: what was read from it stays
        return bool(count == self._known)

    def read(self, database: sqlite3.Connection) -> Iterator[list[tuple[Any, ...]]]:
        """The new rows in their order, in batches, as (rowid, *expressions); those before a damaged page at least."""
        self.broken = False
        rows = self._since(database)
        while not self.broken:
            batch: list[tuple[Any, ...]] = []
            try:
                batch.extend(islice(rows, ROWS))  # what came before an error stays
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


class RunNames:
    """A name for each run id, no two alike: the name that was given, with the start of the id where that is taken."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def name(self, run: str, given: object) -> str:
        """The name of the run with this id; `given` counts at the first call only."""
        known = self._names.get(run)
        if known is None:
            known = str(given or run)
            for length in (8, len(run)):
                if known in self._taken:
                    known = f"{given or run}-{run[:length]}"
            self._names[run] = known
            self._taken.add(known)
        return known
