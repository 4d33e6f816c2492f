"""Reading a SQLite database that someone else is writing, without touching it.

Opening the original, even read-only, makes -shm and -wal files beside it, takes locks, and may merge a writer's -wal.
So the database is copied into a temporary directory, with its -wal (what a writer has committed is there only, until a
checkpoint moves it into the database) or its -journal (what undoes a half-written change), and opened there.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tuimon.errors import FormatError, Unfinished
from tuimon.sources.files import Signature, is_gone, open_regular, regular, signature

MAGIC = b"SQLite format 3\0"
"""The first bytes of every SQLite database (https://www.sqlite.org/fileformat2.html)."""
MAX_BYTES = 1 << 30
"""A larger database is refused: copying it again and again would disturb the machine that it lies on."""
DatabaseSignature = tuple[Signature | None, ...]
"""Of the database, its -wal and its -journal; None for what is not there."""

_BESIDE = ("-wal", "-journal")
_TRIES = 3
_PIECE = 1 << 20


@contextmanager
def private_copy(path: str) -> Iterator[sqlite3.Connection]:
    """A connection to a copy of the database, gone when the block ends.

    Raises OSError where they cannot be read, Unfinished where they changed during every try to copy them or the file is
    empty so far, FormatError where the copy is no database or too large. An sqlite3.Error inside the block becomes a
    FormatError.
    """
    import tempfile  # not before there is a database: most readers never meet one

    from tuimon.scratch import scratch

    with tempfile.TemporaryDirectory(prefix="tuimon-", dir=scratch()) as directory:
        copy = os.path.join(directory, "copy.db")
        for _ in range(_TRIES):
            if _copy_all(path, copy):
                break
        else:
            raise Unfinished("the database changes faster than it can be copied")
        try:
            with closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = lambda text: text.decode("utf-8", "replace")
                connection.execute("pragma trusted_schema = off")
                connection.execute("pragma schema_version")  # the first look at the file: is it a database?
                yield connection
        except sqlite3.Error as error:
            raise FormatError(f"not a readable SQLite database: {error}") from error


def database_signature(path: str) -> DatabaseSignature:
    """While it stays equal there is nothing new to copy. Raises OSError."""
    return (signature(regular(os.stat(path))), *(_signature_if_there(path + beside) for beside in _BESIDE))


def schema(path: str) -> bytes:
    """The statements that made its tables, a line each, in UTF-8. Raises as private_copy does."""
    with private_copy(path) as connection:
        tables = connection.execute("select sql from sqlite_master where type = 'table' and sql is not null")
        return "\n".join(" ".join(str(sql).split()) for (sql,) in tables).encode("utf-8", "replace")


def _signature_if_there(path: str) -> Signature | None:
    try:
        return signature(os.stat(path))
    except OSError as error:
        if not is_gone(error):
            raise
        return None


def _copy_all(path: str, copy: str) -> bool:
    """Copy a database and what lies beside it; False if the writer moved pages from one to the other meanwhile."""
    before = database_signature(path)
    size = sum(part[0] for part in before if part)
    if size > MAX_BYTES:
        raise FormatError(f"database of {size >> 20} MiB: too large to copy")
    if not before[0] or not before[0][0]:
        raise Unfinished("empty so far")
    for beside, part in zip(("", *_BESIDE), before, strict=True):
        if part:
            try:
                _copy(path + beside, copy + beside)
            except OSError as error:
                if not beside or not is_gone(error):
                    raise
                return False
        elif os.path.exists(copy + beside):
            os.unlink(copy + beside)
    after = database_signature(path)
    # The -wal may have grown: a frame that is only partly copied has a wrong checksum, and SQLite leaves it out.
    grown = before[1] and after[1] and after[1][2:] == before[1][2:] and after[1][0] >= before[1][0] > 0
    return after == before or bool(grown and after[0] == before[0] and after[2:] == before[2:])


def _copy(path: str, copy: str) -> None:
    descriptor, _ = open_regular(path)
    try:
        with open(copy, "wb") as target:
            while piece := os.read(descriptor, _PIECE):
                target.write(piece)
    finally:
        os.close(descriptor)
