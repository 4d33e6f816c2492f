"""A database without runs, because it is new or damaged, is reported; it is followed as soon as it has a run."""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from support.event_reading import EventLog, read_all

from tuimon.commands import main
from tuimon.errors import NothingFound
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.reader import Collector

DATABASES = {
    "MLflow database": ("mlflow/mlflow.db.gz", ("metrics", "params", "runs")),
    "Trackio database": ("trackio/tiny-rl.db.gz", ("metrics", "system_metrics", "configs")),
}


@pytest.fixture(params=DATABASES)
def title(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def original(title: str, data: Path, tmp_path: Path) -> Path:
    """A database written by the library itself."""
    path = tmp_path / "original" / "runs.db"
    path.parent.mkdir()
    with gzip.open(data / DATABASES[title][0]) as packed, path.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return path


def without_runs(path: Path, title: str, where: Path) -> Path:
    """A copy of the database without any row."""
    where.mkdir()
    copy = Path(shutil.copy(path, where))
    with closing(sqlite3.connect(copy)) as connection:
        there = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
        for table in there.intersection(DATABASES[title][1]):
            connection.execute(f"delete from {table}")
        connection.commit()
        connection.execute("vacuum")
    return copy


def test_a_database_without_runs_is_reported(
    title: str, original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = without_runs(original, title, tmp_path / "empty")
    with pytest.raises(NothingFound, match=f"{title}, no run in it yet"):
        open_run(path)
    assert main(["doctor", str(path.parent)]) == 3
    assert f"skipped: {path}: {title}, no run in it yet" in capsys.readouterr().out
    monitor = LocalMonitor([path.parent])
    monitor.update()
    assert not monitor.snapshot().runs
    assert not monitor.collector.partly_unreadable
    shutil.copy(original, path)
    until = time.monotonic() + 60
    while not monitor.snapshot().runs:  # a database is not copied at every look
        assert time.monotonic() < until
        monitor.update()
    assert not monitor.collector.skipped


def test_a_damaged_database_is_reported_and_read_once_repaired(title: str, original: Path, tmp_path: Path) -> None:
    """The first page of each table is overwritten."""
    data = original.read_bytes()
    with closing(sqlite3.connect(original)) as connection:
        [(size,)] = connection.execute("pragma page_size")
        pages = dict(connection.execute("select name, rootpage from sqlite_master where type = 'table'"))
    damaged = bytearray(data)
    for table in pages.keys() & DATABASES[title][1]:
        damaged[(pages[table] - 1) * size : pages[table] * size] = b"\xff" * size
    original.write_bytes(damaged)
    collector = Collector([str(original)])
    heard = EventLog().feed(read_all(collector))
    assert not heard.runs
    assert collector.partly_unreadable
    [notice] = heard.notices
    assert notice.message.startswith(f"{original}: {title}, ")
    assert collector.skipped == [(str(original), notice.message.removeprefix(f"{original}: "))]
    original.write_bytes(data)
    until = time.monotonic() + 60
    while not heard.feed(read_all(collector)).runs:
        assert time.monotonic() < until
    assert not collector.partly_unreadable


def test_a_database_that_cannot_be_copied_names_the_place(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "big.db")) as database:
        database.execute("create table filler (text)")
        database.execute("insert into filler values (?)", ("x" * 300_000,))
        database.commit()
    (tmp_path / "tmp").mkdir()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [sys.executable, "-m", "tuimon", "doctor", str(tmp_path)],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=200,
    )
    assert f"big.db: cannot be copied to {tmp_path / 'tmp'}: file too large (set TMPDIR)" in done.stdout
