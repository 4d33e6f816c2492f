"""MLflow's SQLite store, beside MlflowClient.get_metric_history and beside sqlite3 alone.

Where MLflow is installed it makes the database itself, and only the points are put in by another hand.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.bench._formats import NAMES, WALL, Case, Collected, Series, table
from tests.bench._formats.mlflow_file import history

_TABLES = """
create table runs (run_uuid text, name text, status text, start_time integer, end_time integer);
create table params (key text, value text, run_uuid text);
create table metrics (key text, value double, timestamp integer, run_uuid text, step integer, is_nan boolean,
    primary key (key, timestamp, step, run_uuid, value, is_nan));
create table latest_metrics (key text, value double, timestamp integer, step integer, is_nan boolean, run_uuid text);
insert into runs values ('1aa84f0dd0d442049dfd593365bbfd12', 'run', 'RUNNING', 1795226051000, null)
"""
_METRIC = "insert into metrics (key, value, timestamp, run_uuid, step, is_nan) values (?, ?, ?, ?, ?, 0)"
_LATEST = "insert into latest_metrics (key, value, timestamp, run_uuid, step, is_nan) values (?, ?, ?, ?, ?, 0)"


def write(folder: Path, steps: int) -> None:
    path = folder / "mlflow.db"
    try:
        from mlflow import MlflowClient

        MlflowClient(f"sqlite:///{path}").create_run("0", run_name="run")
    except ImportError:  # of the database's driver too
        with closing(sqlite3.connect(path)) as database, database:
            database.executescript(_TABLES)
    with closing(sqlite3.connect(path)) as database, database:
        (run,) = database.execute("select run_uuid from runs").fetchone()
        for step, values in enumerate(table(steps).tolist()):
            time = int(WALL + step) * 1000
            rows = [(name, value, time, run, step) for name, value in zip(NAMES, values, strict=True)]
            database.executemany(_METRIC, rows)
        database.executemany(_LATEST, rows)


def plain(folder: Path) -> Series:
    series = Collected()
    with closing(sqlite3.connect(folder / "mlflow.db")) as database:
        for key, value, step in database.execute("select key, value, step from metrics order by rowid"):
            series.row(step, [(key, value)])
    return series


def client(folder: Path) -> Series:
    with closing(sqlite3.connect(folder / "mlflow.db")) as database:
        (run,) = database.execute("select run_uuid from runs").fetchone()
    return history(f"sqlite:///{folder / 'mlflow.db'}", run)


CASE = Case("MLflow database", write, {"MlflowClient.get_metric_history": client, "sqlite3": plain})
