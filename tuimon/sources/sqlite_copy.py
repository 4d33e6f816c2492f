"""Read a SQLite database that another process is writing, without touching it.

Opening the original, even read-only, creates -shm and -wal files beside it, takes locks, and may merge the -wal into
the database. So the database is copied into a temporary directory and opened there, together with its -wal (it holds
committed data until a checkpoint moves them into the database) or its -journal (it undoes a half-written change).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tuimon.errors import FormatError, Unfinished
from tuimon.sources.files import Signature, explain, is_gone, opened, regular, signature

MAGIC = b"SQLite format 3\0"
"""The first bytes of every SQLite database (https://www.sqlite.org/fileformat2.html)."""
MAX_BYTES = 1 << 30
"""Maximum size (bytes) of a database with its -wal: copying a larger one after each change would load the machine."""
DatabaseSignature = tuple[Signature | None, ...]
"""Signatures of the database, its -wal and its -journal; None for a file that does not exist."""

_SUFFIXES = ("-wal", "-journal")
_ATTEMPTS = 3
_PIECE = 1 << 20


@contextmanager
def private_copy(path: str) -> Iterator[sqlite3.Connection]:
    """A context manager that connects to a private copy of the database, which is deleted when the context is left.

    Raises OSError if the files cannot be read, Unfinished if they changed during every attempt to copy them or the
    database is still empty, FormatError if it is too large or not a SQLite database. An sqlite3.Error inside the
    context becomes a FormatError.
    """
    import tempfile  # imported late: most runs have no database

    from tuimon.platform_support import temp_dir

    with tempfile.TemporaryDirectory(prefix="tuimon-", dir=temp_dir()) as directory:
        copy = os.path.join(directory, "copy.db")
        for _ in range(_ATTEMPTS):
            if _copy_all(path, copy):
                break
        else:
            raise Unfinished("the database changes faster than it can be copied")
        try:
            with closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = lambda text: text.decode("utf-8", "replace")
                connection.execute("pragma trusted_schema = off")
                connection.execute("pragma schema_version")  # fails if it is not a database
                yield connection
        except (sqlite3.Error, UnicodeDecodeError) as error:  # of a message that quotes a damaged name
            reason = error if isinstance(error, sqlite3.Error) else error.object.decode("utf-8", "replace")
            raise FormatError(f"not a readable SQLite database: {reason}") from error


def database_signature(path: str) -> DatabaseSignature:
    """Signatures that stay equal while there is nothing new to copy. Raises OSError."""
    return (signature(regular(os.stat(path))), *(_signature_if_there(path + suffix) for suffix in _SUFFIXES))


def schema(path: str) -> bytes:
    """The CREATE TABLE statements of the database, one per line, in UTF-8. Raises the same errors as private_copy."""
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
    """Copy a database, its -wal and its -journal. False if the writer moved pages between them meanwhile."""
    before = database_signature(path)
    size = sum(part[0] for part in before if part)
    if size > MAX_BYTES:
        raise FormatError(f"database of {size >> 20} MiB: too large to copy")
    if not before[0] or not before[0][0]:
        raise Unfinished("empty so far")
    for suffix, part in zip(("", *_SUFFIXES), before, strict=True):
        if part:
            try:
                _copy(path + suffix, copy + suffix)
            except OSError as error:
                if not suffix or not is_gone(error):
                    raise
                return False
        elif os.path.exists(copy + suffix):
            os.unlink(copy + suffix)
    after = database_signature(path)
    # The -wal may have grown: a frame that is only partly copied has a wrong checksum, and SQLite ignores it.
    grown = before[1] and after[1] and after[1][2:] == before[1][2:] and after[1][0] >= before[1][0] > 0
    return after == before or bool(grown and after[0] == before[0] and after[2:] == before[2:])


def _copy(path: str, copy: str) -> None:
    with opened(path) as (descriptor, _):
        with _blaming(copy):
            target = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            while piece := os.read(descriptor, _PIECE):
                with _blaming(copy):
                    while piece:
                        piece = piece[os.write(target, piece) :]
        finally:
            os.close(target)


@contextmanager
def _blaming(copy: str) -> Iterator[None]:
    """Name the directory of the copy in an OSError, which is reported as a problem of the database otherwise."""
    try:
        yield
    except OSError as error:
        place = os.path.dirname(os.path.dirname(copy))
        raise OSError(error.errno, f"cannot be copied to {place}: {explain(error)} (set TMPDIR)") from error
