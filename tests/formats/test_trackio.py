"""Trackio's databases, and Aim's repositories, which are only recognised."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.json_points import facts, rows, series

from tuimon.commands import main
from tuimon.formats import trackio
from tuimon.model.events import StreamFound, StreamStatus
from tuimon.model.points import Damage, Item, Replaced
from tuimon.reader import Collector
from tuimon.sources.sqlite_copy import private_copy

DATA = Path(__file__).parent.parent / "data" / "trackio"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database written by Trackio 0.43: two runs of 100 steps, metrics as JSON bytes."""
    path = tmp_path / "trackio" / "tiny-rl.db"
    path.parent.mkdir()
    with gzip.open(DATA / "tiny-rl.db.gz") as packed, path.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return path


def read(decoder: trackio.TrackioDecoder, path: Path) -> dict[str, list[Item]]:
    with private_copy(str(path)) as connection:
        return dict(decoder.read(connection))


def test_every_point_is_read_run_by_run(database: Path) -> None:
    with gzip.open(DATA / "truth.json.gz", "rt") as file:
        logged = json.load(file)
    collector = Collector([str(database.parent.parent)])
    assert len({event.run for event in collector.find() if isinstance(event, StreamFound)}) == 2
    actual: dict[str, list[Item]] = {}
    for source, item in collector.in_file_order():
        actual.setdefault(source, []).append(item)
    assert {source: series(items) for source, items in actual.items()} == {
        source: {name: [(int(s), repr(float(v))) for s, v in points] for name, points in metrics.items()}
        for source, metrics in logged.items()
    }
    assert facts(actual["trackio/tiny-rl.db/run-a"], "config") == [{"lr": 0.003, "batch": 256}]


def old_database(path: Path, *metrics: tuple[str, str, int, str | bytes]) -> None:
    """A database as written before 0.24, without run ids."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute(
            "create table if not exists metrics (id integer primary key autoincrement, timestamp text,"
            " run_name text, step integer, metrics text)"
        )
        connection.execute(
            "create table if not exists system_metrics (id integer primary key autoincrement, timestamp text,"
            " run_name text, metrics text)"
        )
        connection.executemany("insert into metrics (timestamp, run_name, step, metrics) values (?, ?, ?, ?)", metrics)


TIME = "2026-11-21T01:56:25+00:00"


def test_new_rows_and_new_runs_of_an_older_version(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    decoder = trackio.TrackioDecoder()
    old_database(
        path, (TIME, "a", 0, '{"loss": 0.5, "x": "NaN", "nested": {"y": 1}, "image": {"_type": "trackio.image"}}')
    )
    actual = read(decoder, path)
    assert rows(actual["a"]) == [
        ("loss", 0, "0.5", "1795226185.0"),
        ("x", 0, "nan", "1795226185.0"),
        ("nested/y", 0, "1.0", "1795226185.0"),
    ]
    assert facts(actual["a"], "writer") == [{"name": "trackio", "run_name": "a"}]
    old_database(path, (TIME, "a", 1, b'{"loss": "-Infinity"}'), (TIME, "b", 7, b'{"loss": 3}'))
    actual = read(decoder, path)
    assert series(actual["a"]) == {"loss": [(1, "-inf")]}
    assert series(actual["b"]) == {"loss": [(7, "3.0")]}
    assert not any(read(decoder, path).values())


def test_the_numbers_beside_a_text_are_points(tmp_path: Path) -> None:
    """A row is one call of log(), never a sample, whatever its keys are."""
    old_database(
        tmp_path / "a.db",
        ("t", "a", 3, '{"loss": 0.5, "response": "hello", "note": "' + "x" * 300 + '", "rows": [{"a": 1}]}'),
        ("t", "a", 4, '{"loss": "NaN", "eval/rate": "-Infinity", "version": "2", "nested": {"prompt": "x", "y": 1}}'),
    )
    assert series(read(trackio.TrackioDecoder(), tmp_path / "a.db")["a"]) == {
        "loss": [(3, "0.5"), (4, "nan")],
        "eval/rate": [(4, "-inf")],
        "nested/y": [(4, "1.0")],
    }


def test_rows_that_are_not_json_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    old_database(
        path,
        (TIME, "a", 0, '{"loss": 0.5}'),
        (TIME, "a", 1, "{{"),
        (TIME, "a", 2, "[1]"),
        (TIME, "a", 3, '{"loss": 2}'),
    )
    items = read(trackio.TrackioDecoder(), path)["a"]
    assert series(items) == {"loss": [(0, "0.5"), (3, "2.0")]}
    assert sum(isinstance(item, Damage) for item in items) == 2


def test_machine_measurements_are_marked(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        run, name = connection.execute("select run_id, run_name from metrics").fetchone()
        for usage in (0.25, 0.5):
            connection.execute(
                "insert into system_metrics (run_id, timestamp, run_name, metrics) values (?, ?, ?, ?)",
                (run, TIME, name, json.dumps({"gpu/0/memory_usage": usage})),
            )
    items = read(trackio.TrackioDecoder(), database)[name]
    assert series(items)["gpu/0/memory_usage"] == [(0, "0.25"), (1, "0.5")]
    assert facts(items, "metrics") == [{"gpu/0/memory_usage": {"system": True}}]


@pytest.mark.parametrize(("deleted", "kept"), [("run-a", "run-b"), ("run-b", "run-a")])
def test_a_deleted_run_is_removed(database: Path, deleted: str, kept: str) -> None:
    """Rows deleted from the end of the table, and from before the rows of another run."""
    decoder = trackio.TrackioDecoder()
    read(decoder, database)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("delete from metrics where run_name = ?", (deleted,))
    actual = read(decoder, database)
    assert isinstance(actual[deleted][0], Replaced)
    assert series(actual[deleted]) == {}
    assert len(rows(actual[kept])) == 809
    assert not any(read(decoder, database).values())


def test_two_runs_with_the_same_name_are_distinct(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("update metrics set run_name = 'run-a'")
    actual = read(trackio.TrackioDecoder(), database)
    assert len(actual) == 2
    assert all(len(rows(items)) == 809 for items in actual.values())


def test_rows_in_the_wal_are_read_while_the_writer_is_active(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    with closing(sqlite3.connect(path)) as writer:
        old_database(path, (TIME, "a", 0, '{"loss": 0.5}'))
        writer.execute("pragma wal_autocheckpoint = 0")
        writer.execute(
            "insert into metrics (timestamp, run_name, step, metrics) values (?, 'a', 1, ?)", (TIME, '{"loss": 1}')
        )
        writer.commit()
        assert (tmp_path / "p.db-wal").stat().st_size > 0
        assert series(read(trackio.TrackioDecoder(), path)["a"]) == {"loss": [(0, "0.5"), (1, "1.0")]}


# ---------------------------------------------------------------------- Aim


def test_aim_is_recognised_and_reported_as_unsupported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = tmp_path / ".aim"
    repository.mkdir()
    with closing(sqlite3.connect(repository / "run_metadata.sqlite")) as connection, connection:
        connection.execute("create table run (id integer)")
    collector = Collector([str(tmp_path)])
    (status,) = [event for event in collector.find() if isinstance(event, StreamStatus)]
    assert status.state == "unsupported"
    assert "Aim" in status.message
    assert collector.partly_unreadable
    assert list(collector.in_file_order()) == []
    assert main(["doctor", "--strict", str(tmp_path)]) == 5
    assert "unsupported  .aim/run_metadata.sqlite" in capsys.readouterr().out
