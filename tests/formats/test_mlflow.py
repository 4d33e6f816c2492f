"""MLflow's file store and its database: every point of every run, also while they grow."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.json_points import facts, rows, series

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DocumentDecoder, recognise
from tuimon.formats.mlflow import database as mlflow_sqlite
from tuimon.formats.mlflow import file_store as mlflow_file
from tuimon.model.events import Event, FactFound, RunFound, StreamFound, StreamReplaced, StreamStatus
from tuimon.model.points import Item, Replaced
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.panels._run_facts import facts_about
from tuimon.reader import Collector
from tuimon.sources.sqlite_copy import private_copy

DATA = Path(__file__).parent.parent / "data" / "mlflow"
LARGEST = repr(sys.float_info.max)
"""The value that MLflow stores and returns for an infinity."""
RUN = DATA / "mlruns" / "231623728248466301" / "1aa84f0dd0d442049dfd593365bbfd12"


def by_source(root: Path) -> dict[str, dict[str, list[tuple[int, str]]]]:
    collector = Collector([str(root)])
    list(collector.find())
    actual: dict[str, list[Item]] = {}
    for source, item in collector.in_file_order():
        actual.setdefault(source, []).append(item)
    return {source: metrics for source, items in actual.items() if (metrics := series(items))}


# ---------------------------------------------------------------------- file store


def test_every_point_of_the_file_store_is_read_under_its_name() -> None:
    with gzip.open(DATA / "truth.json.gz", "rt") as file:
        logged = json.load(file)
    assert by_source(DATA) == {
        source: {name: [(int(s), repr(float(v))) for s, v in points] for name, points in metrics.items()}
        for source, metrics in logged.items()
    }


def test_all_metrics_of_a_run_are_one_source_of_one_run() -> None:
    events = list(Collector([str(DATA)]).find())
    streams = [event for event in events if isinstance(event, StreamFound) and event.format == "mlflow-file"]
    assert len(streams) == 11
    assert len({(event.source, event.run, event.prefix) for event in streams}) == 1
    assert len([event for event in events if isinstance(event, RunFound)]) == 1


def test_descriptions_that_are_cut_or_of_no_run() -> None:
    data = (RUN / "meta.yaml").read_bytes()
    decoder = mlflow_file.RUN.decoder()
    assert isinstance(decoder, DocumentDecoder)
    with pytest.raises(Unfinished):
        decoder.load(data[:-1])
    with pytest.raises(FormatError):
        decoder.load(b"name: it's 'x'\n")
    assert recognise("meta.yaml", b"experiment_id: '0'\nname: Default\n") is None


def test_tags_of_the_file_store_say_program_and_commit() -> None:
    run = next(run for run in open_run(str(DATA)).runs if run.path.endswith(RUN.name))
    about = facts_about(run)
    assert (about["writer"], about["program"], about["git_commit"][:8]) == ("mlflow", "misc.py", "01234567")


# ---------------------------------------------------------------------- database


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database written by MLflow 3.17 (its three tables of runs), in a directory of its own."""
    path = tmp_path / "work" / "mlflow.db"
    path.parent.mkdir()
    with gzip.open(DATA / "mlflow.db.gz") as packed, path.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return path


def logged() -> dict[str, Any]:
    """Run id -> name, status, and metric -> [[milliseconds, step, repr of the value]], as MlflowClient returns them."""
    with gzip.open(DATA / "mlflow_db.json.gz", "rt") as file:
        runs: dict[str, Any] = json.load(file)
    return runs


def read(decoder: mlflow_sqlite.MLflowDecoder, path: Path) -> dict[str, list[Item]]:
    with private_copy(str(path)) as connection:
        return dict(decoder.read(connection))


def test_every_point_of_the_database_is_read(database: Path) -> None:
    actual = read(mlflow_sqlite.MLflowDecoder(), database)
    runs = logged()
    assert [name.split("-")[0] + "-" + name.split("-")[1] for name in actual] == [run["name"] for run in runs.values()]
    assert len(set(actual)) == 3
    for items, run in zip(actual.values(), runs.values(), strict=True):
        points: dict[str, list[tuple[int, str, int]]] = {}
        for name, step, value, wall_time in rows(items):
            points.setdefault(name, []).append((step, value, round(float(wall_time) * 1000)))
        assert {name: sorted(of) for name, of in points.items()} == {
            name: sorted((step, value.replace(LARGEST, "inf"), time) for time, step, value in of)
            for name, of in run["metrics"].items()
        }
        (state,) = facts(items, "state")
        assert state["state"] == ("crashed" if run["status"] == "FAILED" else "finished")
        (config,) = facts(items, "config")
        assert config["model"] == "tiny, 2 layers"


def test_tags_of_the_database_say_program_and_commit(database: Path) -> None:
    run = next(iter(read(mlflow_sqlite.MLflowDecoder(), database)))
    values = {"mlflow.source.name": "a.py", "mlflow.source.git.branch": "main", "mlflow.note.content": "x"}
    with sqlite3.connect(database) as connection:
        id = connection.execute("select run_uuid from runs order by start_time, rowid").fetchone()[0]
        connection.execute("create table tags (key text, value text, run_uuid text)")
        connection.executemany("insert into tags values (?, ?, ?)", [(key, values[key], id) for key in values])
    connection.close()
    (writer,) = facts(read(mlflow_sqlite.MLflowDecoder(), database)[run], "writer")
    assert {key: writer[key] for key in writer if key not in ("experiment", "run_id", "run_name")} == {
        "name": "mlflow",
        "program": "a.py",
        "git_branch": "main",
    }


def test_only_new_rows_are_returned(database: Path) -> None:
    decoder = mlflow_sqlite.MLflowDecoder()
    first = next(iter(read(decoder, database)))
    assert not any(read(decoder, database).values())
    with closing(sqlite3.connect(database)) as connection, connection:
        (run,) = connection.execute("select run_uuid from runs order by start_time").fetchone()
        connection.execute("insert into metrics values ('train/loss', 0.75, 1795250800000, ?, 99, 0)", (run,))
        connection.execute("insert into metrics values ('x', 0, 1795250800000, ?, 99, 1)", (run,))
    news = {name: items for name, items in read(decoder, database).items() if items}
    assert list(news) == [first]
    assert series(news[first]) == {"train/loss": [(99, "0.75")], "x": [(99, "nan")]}


@pytest.mark.parametrize("which", ["max", "min"])
def test_a_database_with_deleted_rows_is_read_again(database: Path, which: str) -> None:
    """The last row, and a row that others follow."""
    decoder = mlflow_sqlite.MLflowDecoder()
    before = read(decoder, database)
    with closing(sqlite3.connect(database)) as connection, connection:
        (row,) = connection.execute(f"select {which}(rowid) from metrics").fetchone()
        connection.execute("delete from metrics where rowid = ?", (row,))
    after = read(decoder, database)
    assert all(isinstance(items[0], Replaced) for items in after.values())
    assert sum(len(rows(items)) for items in after.values()) == sum(len(rows(items)) for items in before.values()) - 1
    assert not any(read(decoder, database).values())


def test_a_database_with_nothing_but_metrics(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("drop table params")
        connection.execute("drop table runs")
    actual = read(mlflow_sqlite.MLflowDecoder(), database)
    assert actual.keys() == logged().keys()


def test_odd_values_of_foreign_types_never_raise(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("drop table metrics")
        connection.execute("create table metrics (key, value, timestamp, run_uuid, step, is_nan)")
        connection.execute("insert into metrics values (x'ff00', 'abc', 'def', 5, 'xyz', 'q')")
        connection.execute("insert into metrics values (null, null, null, null, null, null)")
        connection.execute("insert into metrics values ('a', 1.5, 1795250800000, 'r', 3, 0)")
    actual = read(mlflow_sqlite.MLflowDecoder(), database)
    assert series(actual["r"]) == {"a": [(3, "1.5")]}


def test_runs_of_a_database_are_runs_and_grow(database: Path) -> None:
    collector = Collector([str(database.parent)])
    events: list[Event] = list(collector.find())
    events += collector.read()
    actual = {event.source: event.run for event in events if isinstance(event, StreamFound)}
    assert sorted(actual.values()) == [0, 1, 2]
    assert {"mlflow.db/lr1e-1", "mlflow.db/lr1e-2"} < actual.keys()
    assert collector.directories == [str(database.parent)]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "insert into runs (run_uuid, name, status, start_time) values ('abc', 'late/run', 'RUNNING', 9e18)"
        )
        connection.execute("insert into metrics values ('loss', 0.5, 1795250800000, 'abc', 1, 0)")
    end = time.monotonic() + 60
    while not any(isinstance(event, StreamFound) and "late" in event.source for event in events):
        assert time.monotonic() < end
        events += collector.find()
        events += collector.read([str(database)])
    assert not any(isinstance(event, StreamReplaced) for event in events)
    (late,) = [event for event in events if isinstance(event, StreamFound) and "late" in event.source]
    assert late.source == "mlflow.db/late%2Frun"
    reported = [event.fact.value for event in events if isinstance(event, FactFound) and event.stream == late.stream]
    assert {"state": "running", "evidence": "MLflow says RUNNING"} in reported
    status = [event for event in events if isinstance(event, StreamStatus) and event.stream == late.stream]
    assert status[-1].state == "current"


def test_all_runs_are_shown_at_once_however_old(database: Path) -> None:
    monitor = LocalMonitor([database])
    monitor.update()
    runs = monitor.snapshot().runs
    assert [len(run.curve("train/loss").steps) > 0 for run in runs] == [True] * 3


def test_other_databases_are_not_logs(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "optuna.db")) as connection, connection:
        connection.execute("create table trials (trial_id integer, value real)")
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    (tmp_path / "cut.db").write_bytes(b"SQLite format 3\0")
    (tmp_path / "text.db").write_text("no database")
    collector = Collector([str(tmp_path)])
    assert not any(isinstance(event, StreamFound) for event in collector.find())
    assert {Path(path).name for path, _ in collector.skipped} == {"optuna.db", "broken.db", "cut.db", "text.db"}
