"""Trackers that keep several runs in a database, a journal or a directory: MLflow, Trackio, Optuna; databases.toml."""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA
from support.json_points import damage, facts, rows, series

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DocumentDecoder, all_formats, recognise
from tuimon.formats.mlflow import file_store as mlflow_file
from tuimon.formats.optuna import OptunaJournalDecoder
from tuimon.model.events import Event, FactFound, StreamFound, StreamReplaced, StreamStatus
from tuimon.model.points import Item, Points, Replaced
from tuimon.monitor.local import LocalMonitor
from tuimon.reader import Collector
from tuimon.sources.sqlite_copy import private_copy

CASES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("cases").joinpath("databases.toml").read_text()
)
LARGEST = repr(sys.float_info.max)
"""The value that MLflow stores and returns for an infinity."""


def decoder_of(format: str) -> Any:
    return next(known.decoder() for known in all_formats() if known.id == format)


def read(decoder: Any, path: Path) -> dict[str, Sequence[Item]]:
    with private_copy(str(path)) as connection:
        return dict(decoder.read(connection))


def execute(path: Path, statements: Sequence[str]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work" / "runs.db"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_new_in_a_database(path: Path, case: dict[str, Any]) -> None:
    decoder = decoder_of(case["format"])
    if "from" in case:
        path.write_bytes(gzip.decompress((DATA / case["from"]).read_bytes()))
    if "known" in case:
        read(decoder, path)
    for look in (case, *case.get("then", ())):
        execute(path, look.get("sql", ()))
        assert_new(read(decoder, path), look)


def assert_new(found: Mapping[str, Sequence[Item]], wanted: Mapping[str, Any]) -> None:
    if "new" in wanted:
        assert [run for run, items in found.items() if items] == wanted["new"]
    if "counts" in wanted:
        assert {run: len(rows(items)) for run, items in found.items()} == wanted["counts"]
    if "replaced" in wanted:
        assert [run for run, items in found.items() if isinstance(items[0], Replaced)] == wanted["replaced"]
    for whole, part in (("points", False), ("some_points", True)):
        for run, metrics in wanted.get(whole, {}).items():
            points = series(found[run])
            shown = {name: points[name] for name in metrics} if part else points
            assert shown == {name: [(step, repr(float(value))) for step, value in of] for name, of in metrics.items()}
    for run, times in wanted.get("times", {}).items():
        assert sorted({float(time) for *_, time in rows(found[run])}) == times
    for run, topics in wanted.get("facts", {}).items():
        assert {topic: facts(found[run], topic) for topic in topics} == topics
    for run, count in wanted.get("damage", {}).items():
        assert len(damage(found[run])) == count


def test_every_point_of_trackio_is_read_run_by_run(path: Path) -> None:
    """Trackio 0.43 wrote two runs of 100 steps, their metrics as JSON bytes."""
    path.write_bytes(gzip.decompress((DATA / "trackio" / "tiny-rl.db.gz").read_bytes()))
    logged = json.loads(gzip.decompress((DATA / "trackio" / "truth.json.gz").read_bytes()))
    found = read(decoder_of("trackio"), path)
    assert {f"trackio/tiny-rl.db/{run}": series(items) for run, items in found.items()} == {
        run: {name: [(int(s), repr(float(v))) for s, v in points] for name, points in metrics.items()}
        for run, metrics in logged.items()
    }
    assert facts(found["run-a"], "config") == [{"lr": 0.003, "batch": 256}]


@pytest.fixture
def mlflow(path: Path) -> Path:
    """A database written by MLflow 3.17 (its three tables of runs), in a directory of its own."""
    path.write_bytes(gzip.decompress((DATA / "mlflow" / "mlflow.db.gz").read_bytes()))
    return path


def test_every_point_of_mlflow_is_read(mlflow: Path) -> None:
    """The truth has run id -> name, status, and metric -> [[milliseconds, step, repr of the value]]."""
    found = read(decoder_of("mlflow-sqlite"), mlflow)
    runs = json.loads(gzip.decompress((DATA / "mlflow" / "mlflow_db.json.gz").read_bytes()))
    assert len(found) == len(runs) == 3
    for (name, items), run in zip(found.items(), runs.values(), strict=True):
        assert name.startswith(run["name"])
        points: dict[str, list[tuple[int, str, int]]] = {}
        for metric, step, value, wall_time in rows(items):
            points.setdefault(metric, []).append((step, value, round(float(wall_time) * 1000)))
        assert {metric: sorted(of) for metric, of in points.items()} == {
            metric: sorted((step, value.replace(LARGEST, "inf"), time) for time, step, value in of)
            for metric, of in run["metrics"].items()
        }
        (state,) = facts(items, "state")
        assert state["state"] == ("crashed" if run["status"] == "FAILED" else "finished")
        (config,) = facts(items, "config")
        assert config["model"] == "tiny, 2 layers"


def test_runs_of_a_database_are_runs_and_grow(mlflow: Path) -> None:
    collector = Collector([str(mlflow.parent)])
    events: list[Event] = list(collector.find())
    events += collector.read()
    actual = {event.source: event.run for event in events if isinstance(event, StreamFound)}
    assert sorted(actual.values()) == [0, 1, 2]
    assert {"runs.db/lr1e-1", "runs.db/lr1e-2"} < actual.keys()
    assert collector.directories == [str(mlflow.parent)]
    with closing(sqlite3.connect(mlflow)) as connection, connection:
        connection.execute(
            "insert into runs (run_uuid, name, status, start_time) values ('abc', 'late/run', 'RUNNING', 9e18)"
        )
        connection.execute("insert into metrics values ('loss', 0.5, 1795250800000, 'abc', 1, 0)")
    end = time.monotonic() + 60
    while not any(isinstance(event, StreamFound) and "late" in event.source for event in events):
        assert time.monotonic() < end
        events += collector.find()
        events += collector.read([str(mlflow)])
    assert not any(isinstance(event, StreamReplaced) for event in events)
    (late,) = [event for event in events if isinstance(event, StreamFound) and "late" in event.source]
    assert late.source == "runs.db/late%2Frun"
    reported = [event.fact.value for event in events if isinstance(event, FactFound) and event.stream == late.stream]
    assert {"state": "running", "evidence": "MLflow says RUNNING"} in reported
    status = [event for event in events if isinstance(event, StreamStatus) and event.stream == late.stream]
    assert status[-1].state == "current"


def test_every_point_of_mlflows_file_store_is_read_under_its_name() -> None:
    logged = json.loads(gzip.decompress((DATA / "mlflow" / "truth.json.gz").read_bytes()))
    collector = Collector([str(DATA / "mlflow")])
    list(collector.find())
    found: dict[str, list[Item]] = {}
    for source, item in collector.in_file_order():
        found.setdefault(source, []).append(item)
    assert {source: metrics for source, items in found.items() if (metrics := series(items))} == {
        source: {name: [(int(s), repr(float(v))) for s, v in points] for name, points in metrics.items()}
        for source, metrics in logged.items()
    }


def test_descriptions_that_are_cut_or_of_no_run() -> None:
    run = DATA / "mlflow" / "mlruns" / "231623728248466301" / "1aa84f0dd0d442049dfd593365bbfd12"
    data = (run / "meta.yaml").read_bytes()
    decoder = mlflow_file.RUN.decoder()
    assert isinstance(decoder, DocumentDecoder)
    with pytest.raises(Unfinished):
        decoder.load(data[:-1])
    with pytest.raises(FormatError):
        decoder.load(b"name: it's 'x'\n")
    assert recognise("meta.yaml", b"experiment_id: '0'\nname: Default\n") is None


JOURNAL = DATA / "optuna" / "journal.log"


def test_a_journal_of_optuna_that_grows(tmp_path: Path) -> None:
    data = JOURNAL.read_bytes()
    path = tmp_path / "journal.log"
    path.write_bytes(data[:900])
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    with path.open("ab") as file:
        file.write(data[900:])
    monitor.update()
    monitor.update()
    assert [len(run.curve("value")) for run in monitor.snapshot().runs] == [5, 5, 5, 1]


@pytest.mark.parametrize("size", [1, 50, 1000])
def test_any_split_of_a_journal_gives_the_same(size: int) -> None:
    data = JOURNAL.read_bytes()
    decoder, counts = OptunaJournalDecoder(), {f"trial {number}": 0 for number in range(4)}
    for start in range(0, len(data), size):
        for name, items in decoder.feed_runs(data[start : start + size]):
            counts[name] += sum(len(item) for item in items if isinstance(item, Points))
    assert list(counts.values()) == [5, 5, 5, 1]


def test_hostile_lines_of_a_journal() -> None:
    lines = [
        b'{"op_code": 4}',
        b'{"op_code": 7, "trial_id": 9}',
        b'{"op_code": 7, "trial_id": 0, "step": 1e9}',
        b"[]",
        b"x",
        b'{"op_code": 5, "trial_id": 0, "distribution": 5}',
        b'{"op_code": 6, "trial_id": 0, "state": [], "values": 3}',
    ]
    for name, items in OptunaJournalDecoder().feed_runs(b"\n".join([*lines, b""])):
        assert name == "trial 0"
        assert not any(isinstance(item, Points) for item in items)
