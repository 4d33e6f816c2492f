"""Incremental reading of SQLite databases that hold several runs."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from tuimon.errors import FormatError
from tuimon.model.points import Damage, Fact, Item, Names, Replaced

ROWS = 50_000
"""Rows returned per batch: bounds the memory of their Python values."""
_DAMAGED = "page of the database not readable"


def columns(database: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of the table's columns; an empty set if there is no such table."""
    return {row[1] for row in database.execute(f"pragma table_info({table})")}


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


class RunsDatabase(ABC):
    """Base of the decoders of a tracker's database: a DatabaseDecoder whose `_read` adds the items of each run."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._used: set[str] = set()
        self._facts: dict[tuple[str, str], Fact] = {}
        self._metrics: dict[str, Names] = {}
        self._new: dict[str, list[Item]] = {}
        self._broken = self._was_broken = False

    def read(self, database: sqlite3.Connection) -> list[tuple[str, list[Item]]]:
        self._new, self._broken = {run: [] for run in self._names}, False
        self._read(database)
        if self._broken and not self._new:
            raise FormatError(_DAMAGED)
        if self._broken and not self._was_broken:
            self.add(next(iter(self._new)), Damage(0, 0, _DAMAGED))
        self._was_broken = self._broken
        return [(self.name(run, None), items) for run, items in self._new.items()]

    @abstractmethod
    def _read(self, database: sqlite3.Connection) -> None:
        """Add what is new: runs by `name`, points by `add`, facts by `add_fact`."""

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
            self._new.setdefault(run, [])
        return name

    def add(self, run: str, *items: Item) -> None:
        self._new.setdefault(run, []).extend(items)

    def add_fact(self, run: str, fact: Fact) -> None:
        """Add a fact that is new or has changed."""
        if self._facts.get((run, fact.topic)) != fact:
            self._facts[run, fact.topic] = fact
            self.add(run, fact)

    def rows(self, database: sqlite3.Connection, query: str, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query up to the first one on a damaged page; none if there is no such table."""
        rows: list[tuple[Any, ...]] = []
        try:
            if columns(database, table):
                rows.extend(database.execute(query))  # keeps the rows before an error
        except sqlite3.DatabaseError:
            self._broken = True
        return rows

    def grouped(self, database: sqlite3.Connection, query: str, table: str) -> dict[str, list[list[Any]]]:
        """Return the rows of a query without their first column, by that column: the id of a run. As `rows`."""
        groups: dict[str, list[list[Any]]] = {}
        for run, *values in self.rows(database, query, table):
            groups.setdefault(str(run), []).append(values)
        return groups

    def metrics(self, run: str) -> Names:
        """Return the names of the metrics of a run that has points."""
        return self._metrics.setdefault(run, Names())

    def begin_anew(self, database: sqlite3.Connection, tables: Collection[NewRows]) -> bool:
        """Return whether all rows of the tables must be read again, as those of one of them have changed; the points so
        far are then void."""
        if not any(rows.begun_anew(database) for rows in tables):
            return False
        for rows in tables:
            rows.forget()
        for run in self._metrics:
            self.add(run, Replaced())
        return True

    def batches(self, database: sqlite3.Connection, rows: NewRows) -> Iterator[list[tuple[Any, ...]]]:
        """Yield batches of new rows up to the first damaged page."""
        yield from rows.read(database)
        self._broken = self._broken or rows.broken
