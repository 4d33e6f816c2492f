"""Trackio's database, beside sqlite3 and json."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from tests.bench._formats import NAMES, WALL, Case, Collected, Series, table

_TABLES = """
create table metrics (id integer primary key autoincrement, run_id text not null, timestamp text not null,
    run_name text not null, step integer not null, metrics text not null, log_id text, space_id text);
create table configs (id integer primary key autoincrement, run_id text not null, run_name text not null,
    config text not null, created_at text not null);
create table system_metrics (id integer primary key autoincrement, run_id text not null, timestamp text not null,
    run_name text not null, metrics text not null, log_id text, space_id text);
create index idx_metrics_run_step on metrics(run_id, step)
"""
_ROW = "insert into metrics (run_id, timestamp, run_name, step, metrics) values ('73d43861', ?, 'run', ?, ?)"


def write(folder: Path, steps: int) -> None:
    rows = []
    for step, values in enumerate(table(steps).tolist()):
        document = json.dumps(dict(zip(NAMES, values, strict=True)), separators=(",", ":")).encode()
        rows.append((datetime.fromtimestamp(WALL + step // 10, UTC).isoformat(), step, document))
    with closing(sqlite3.connect(folder / "project.db")) as database, database:
        database.executescript(_TABLES)
        database.executemany(_ROW, rows)


def plain(folder: Path) -> Series:
    series = Collected()
    with closing(sqlite3.connect(folder / "project.db")) as database:
        for step, document in database.execute("select step, metrics from metrics order by id"):
            series.row(step, json.loads(document).items())
    return series


CASE = Case("Trackio database", write, {"sqlite3 and json": plain})
