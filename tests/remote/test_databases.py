"""Every state of a mirrored database that a reader can see is whole, and never older than the one before."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.mirrored import Mirrored, until

from tuimon.errors import FormatError, Unfinished
from tuimon.remote.host import Entry, Received, Root
from tuimon.remote.mirror import Mirror
from tuimon.remote.sync import Sync
from tuimon.remote.targets import parse
from tuimon.remote.tree import File, Tree
from tuimon.sources.sqlite_copy import private_copy


@contextmanager
def _writer(logs: Path, checkpoint: int) -> Iterator[sqlite3.Connection]:
    """Write a database with a table. checkpoint: pages of the -wal after which they are moved to the database."""
    logs.mkdir()
    with closing(sqlite3.connect(logs / "runs.db")) as writer:
        writer.execute("pragma journal_mode = wal")
        writer.execute(f"pragma wal_autocheckpoint = {checkpoint}")
        writer.execute("create table metrics (step integer, padding text)")
        writer.commit()
        yield writer


def _write(writer: sqlite3.Connection, count: int) -> None:
    for _ in range(count):
        writer.execute("insert into metrics select count(*), ? from metrics", ("x" * 300,))
        writer.commit()


def _rows(database: Path) -> int:
    """Return the rows that tuimon reads; -1 if there is nothing to read now."""
    try:
        with private_copy(str(database)) as copy:
            rows, newest = copy.execute("select count(*), coalesce(max(step), -1) from metrics").fetchone()
    except (FileNotFoundError, Unfinished):
        return -1
    assert rows == newest + 1
    return int(rows)


@pytest.mark.usefixtures("shell")
def test_database_travels_with_its_wal(tmp_path: Path) -> None:
    logs, hints = tmp_path / "logs", list[tuple[set[str], bool]]()
    with _writer(logs, 40) as writer, Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        for rows in (50, 100, 150):
            _write(writer, 50)
            until(lambda rows=rows: _rows(mirrored.here / "runs.db") == rows)
        mirrored.keeper.on_hint = lambda paths, names_changed: hints.append((set(paths), names_changed))
        writer.execute("pragma wal_autocheckpoint = 0")
        _write(writer, 5)
        until(lambda: _rows(mirrored.here / "runs.db") == 155 and hints)
    assert hints[-1] == ({str(mirrored.here / "runs.db-wal")}, True), "runs are searched in the database"


@pytest.mark.parametrize("checkpoint", [0, 20])
def test_no_reader_sees_a_database_without_its_wal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: int
) -> None:
    """The mirror is read after each of its files was deleted or replaced, while nothing else can change it."""
    logs, seen = tmp_path / "logs", [0]
    errors: list[Exception] = []
    with _writer(logs, checkpoint) as writer, Mirrored(logs, tmp_path / "cache") as mirrored:
        here = mirrored.here / "runs.db"
        mirrored.until_complete()

        def watched(change: Callable[..., None]) -> Callable[..., None]:
            def then_read(*paths: str, **options: Any) -> None:
                change(*paths, **options)
                if os.fspath(paths[-1]).startswith(str(here)):
                    try:
                        seen.append(_rows(here))
                    except (AssertionError, FormatError) as error:
                        errors.append(error)

            return then_read

        monkeypatch.setattr(os, "unlink", watched(os.unlink))
        monkeypatch.setattr(os, "replace", watched(os.replace))
        for rows in (30, 60, 90):
            _write(writer, 30)
            until(lambda rows=rows: _rows(here) == rows)
        writer.close()
        until(lambda: not Path(f"{here}-wal").exists() and _rows(here) == 90)
    assert not errors
    read = [rows for rows in seen if rows >= 0]
    assert len(seen) > 1
    assert read == sorted(read)
    assert read[-1] == 90


class _Host:
    """A host with one directory."""

    def __init__(self, *names: str) -> None:
        self.skew, self.names = 0.0, names

    async def roots(self) -> Sequence[Root]:
        return [Root("/logs", (), Entry(stat.S_IFDIR, 0, 1.0, "1:1", "1"), "/logs")]

    async def stat(self, paths: Sequence[str]) -> dict[str, Entry]:
        return {"/logs": Entry(stat.S_IFDIR, 0, 2.0, "1:1", "2")}

    async def list(self, paths: Sequence[str]) -> dict[str, dict[str, Entry]]:
        return {"/logs": {name: Entry(stat.S_IFREG, 9, 1.0, f"1:{n}", "1") for n, name in enumerate(self.names, 2)}}


def test_names_in_a_directory_do_not_part_a_database_from_its_wal(tmp_path: Path) -> None:
    """The -wal here goes when the database is copied without one: until then both belong together."""
    mirror = Mirror(parse("gpu01:/logs", lambda word: False)[0], str(tmp_path))
    host: Any = _Host("runs.db", "runs.db-wal", "log.jsonl")
    tree = Tree(host, mirror, Received())
    asyncio.run(tree.walk())
    for name in host.names:
        mirror.append(mirror.path([name]), 0, b"123456789", 1.0)
    host.names = ("runs.db",)
    asyncio.run(tree.walk())
    assert sorted(os.listdir(mirror.root)) == ["runs.db", "runs.db-wal"]


def test_a_file_is_not_copied_twice_at_a_time(tmp_path: Path) -> None:
    """A look at many files that ends late frees none that another look has begun to copy meanwhile."""
    entry = Entry(stat.S_IFREG, 9, 1.0, "1:2", "1")
    quick, slow = File("/logs/quick.db", "", entry), File("/logs/slow.db", "", entry)

    class Copier:
        async def look(self, file: File, parts: object) -> None:
            if file is slow:
                await released.wait()

    async def look() -> None:
        sync = Sync(lambda batch: NotImplemented, Mirror(parse("gpu01:/logs")[0], str(tmp_path)))
        copier: Any = Copier()
        sync._host = host
        looking = asyncio.ensure_future(sync._look_together(copier, [quick, slow]))
        for _ in range(10):
            await asyncio.sleep(0)
        assert (quick.is_busy, slow.is_busy) == (False, True)
        quick.is_busy = True
        released.set()
        await looking
        assert quick.is_busy
        assert not slow.is_busy

    host: Any = _Host()
    released = asyncio.Event()
    asyncio.run(look())
