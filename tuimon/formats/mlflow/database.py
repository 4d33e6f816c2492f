"""MLflow's SQLite store, its default since 3.7: mlflow.db, any number of experiments and runs in one file.

    metrics   key, value, timestamp (ms), run_uuid, step, is_nan    one row per point; NaN is value 0 with is_nan 1, an
                                                                    infinity is the largest float
    runs      run_uuid, name, status, experiment_id, …              status RUNNING, FINISHED, FAILED or KILLED
    params    key, value, run_uuid
    tags      key, value, run_uuid
    experiments  experiment_id, name

Source: mlflow/store/tracking/dbmodels/models.py and sqlalchemy_store.py (log_metric, sanitize_metric_value).
"""

from __future__ import annotations

import sqlite3
import sys
from typing import Any

import numpy as np

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.database import NewRows, RunsDatabase, columns
from tuimon.formats._shared.rows import seconds
from tuimon.formats.mlflow.file_store import EARLIEST, TAGS
from tuimon.model.points import Fact, Points

_TABLE = re.compile(rb'create table "?metrics"? ?\((?=.*\brun_uuid\b)(?=.*\bis_nan\b)', re.IGNORECASE)
_STATES = {"FINISHED": "finished", "FAILED": "crashed", "KILLED": "crashed", "RUNNING": "running"}
_RUNS = "select cast(run_uuid as text), name, status, end_time, {} from runs order by start_time, rowid"
_EXPERIMENT = "(select cast(e.name as text) from experiments e where e.experiment_id = runs.experiment_id)"
_PARAMS = "select cast(run_uuid as text), cast(key as text), cast(value as text) from params order by rowid"
_TAGS = "select cast(run_uuid as text), key, cast(value as text) from tags where key in ('{}')".format(
    "', '".join(TAGS)
)
_VALUES = (  # cast, as SQLite columns are untyped; ids and keys as bytes, as the same few recur and are decoded once
    "cast(run_uuid as blob)",
    "cast(key as blob)",
    "cast(value as real)",
    "cast(timestamp as real)",
    "coalesce(cast(step as integer), 0)",
    "coalesce(is_nan, 0) != 0",
)


class MLflowDecoder(RunsDatabase):
    """DatabaseDecoder of an MLflow database."""

    def __init__(self) -> None:
        super().__init__()
        self._rows = NewRows("metrics", _VALUES)
        self._encoding = "utf-8"

    def _read(self, database: sqlite3.Connection) -> None:
        (self._encoding,) = database.execute("pragma encoding").fetchone()
        in_experiments = "experiment_id" in columns(database, "runs") and columns(database, "experiments") >= {
            "experiment_id",
            "name",
        }
        tags = self.grouped(database, _TAGS, "tags")
        query = _RUNS.format(_EXPERIMENT if in_experiments else "null")
        for run_id, name, status, end, experiment in self.rows(database, query, "runs"):
            run = str(run_id)
            self.name(run, name)
            writer = {"name": "mlflow", "run_id": run, "run_name": str(name or "")}
            if experiment:
                writer["experiment"] = str(experiment)
            writer |= {TAGS[key]: str(value) for key, value in tags.get(run, ()) if value}
            self.add_fact(run, Fact("writer", writer))
            if status in _STATES:
                value = {"state": _STATES[status], "evidence": f"MLflow says {status}"}
                self.add_fact(run, Fact("state", value, wall_time=seconds(end)))
        for run, params in self.grouped(database, _PARAMS, "params").items():
            self.add_fact(run, Fact("config", {str(key): value for key, value in params}))
        self.begin_anew(database, [self._rows])
        for batch in self.batches(database, self._rows):
            self._add_points(batch)

    def _add_points(self, batch: list[tuple[Any, ...]]) -> None:
        """Add the points of a batch of rows to those of their runs."""
        _, runs, keys, values, milliseconds, steps, is_nan = zip(*batch, strict=True)
        logged = np.array(values, np.float64)
        logged[np.array(is_nan, np.bool_)] = np.nan
        infinite = np.abs(logged) == sys.float_info.max
        logged[infinite] = np.copysign(np.inf, logged[infinite])
        times = np.array(milliseconds, np.float64) / 1e3
        times[times < EARLIEST] = np.nan
        all_steps = np.array(steps, np.int64)
        rows_of: dict[bytes | None, list[int]] = {}
        for row, owner in enumerate(runs):
            rows_of.setdefault(owner, []).append(row)
        for owner, rows in rows_of.items():
            run = self._text(owner)
            names = self.metrics(run)
            ids = {key: names.id(self._text(key)) for key in dict.fromkeys(keys[row] for row in rows)}
            metric = np.array([ids[keys[row]] for row in rows], np.uint32)
            self.add(run, Points(names.names, metric, all_steps[rows], logged[rows], times[rows]))

    def _text(self, value: bytes | None) -> str:
        return str(value) if value is None else value.decode(self._encoding, "replace")


FORMAT = Format(
    id="mlflow-sqlite",
    title="MLflow database",
    writers="MLflow 2.3 to 3.17",
    rank=45,
    matches=lambda name, head: _TABLE.search(head) is not None,
    decoder=MLflowDecoder,
    wants_name=lambda name: name.endswith((".db", ".sqlite", ".sqlite3")),
    source_path=lambda path: path.rpartition("/")[0],
)
