"""Trackio: <project>.db (SQLite), by default below ~/.cache/huggingface/trackio, all runs of a project in one file.

    metrics          id, run_name, step, timestamp, metrics (JSON, as text or bytes); run_id since 0.24
    system_metrics   the same columns without step: measurements of the machine
    configs          run_name, config (JSON; keys that begin with "_" are Trackio's own)

NaN and infinities are strings ("NaN", "Infinity", "-Infinity"). The timestamp is the time of the upload, which many
rows share. The step of a system metric is the number of its row. Source: trackio/sqlite_storage.py, and a file written
by it.
"""

from __future__ import annotations

import posixpath
import sqlite3
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.database import NewRows, RunsDatabase, columns
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.row_reader import RowReader
from tuimon.formats._shared.rows import trimmed
from tuimon.model.points import Damage, Fact, Points

_TABLE = re.compile(rb'create table "?metrics"? ?\((?=.*\brun_name\b)(?=.*\bstep\b)(?=.*\bmetrics\b)', re.IGNORECASE)


class TrackioDecoder(RunsDatabase):
    """DatabaseDecoder of a Trackio database."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[str, NewRows] = {}
        self._readers: dict[tuple[str, str], RowReader] = {}
        """By run and table."""
        self._system: set[tuple[str, str]] = set()
        """Run and name of the system metrics that have been reported as such."""

    def _read(self, database: sqlite3.Connection) -> None:
        for table in ("metrics", "system_metrics"):
            names = columns(database, table)
            if names and table not in self._tables:
                step = "cast(step as integer)" if "step" in names else "null"
                expressions = _run_id(names), "run_name", step, "timestamp", "coalesce(cast(metrics as blob), x'')"
                self._tables[table] = NewRows(table, expressions)
        if self.begin_anew(database, self._tables.values()):
            self._readers.clear()
        run_id = _run_id(columns(database, "configs"))
        configs = f"select {run_id}, run_name, coalesce(cast(config as blob), x'') from configs"
        for run, name, document in self.rows(database, configs, "configs"):
            self._run(run, name)
            config = {key: value for key, value in (_parsed(document) or {}).items() if not key.startswith("_")}
            if config:
                self.add_fact(run, Fact("config", trimmed(config)))
        for table, rows in self._tables.items():
            for batch in self.batches(database, rows):
                self._read_rows(table, batch)

    def _read_rows(self, table: str, batch: list[tuple[Any, ...]]) -> None:
        by_run: dict[str, list[dict[str, Any]]] = {}
        for rowid, run, name, step, timestamp, document in batch:
            self._run(run, name)
            row = _parsed(document)
            if row is None:
                self.add(run, Damage(rowid, 1, "row of metrics not readable"))
                continue
            stamp = {"timestamp": timestamp} if step is None else {"step": step, "timestamp": timestamp}
            for key in stamp:
                row.pop(key, None)
            by_run.setdefault(run, []).append(stamp | row)
        for run, rows in by_run.items():
            if (run, table) not in self._readers:
                self._readers[run, table] = RowReader(self.metrics(run), samples=False)
            items = [item for item in self._readers[run, table].read(rows) if isinstance(item, Points)]
            if table == "system_metrics":
                names = {(run, points.names[index]) for points in items for index in set(points.metric.tolist())}
                if added := sorted(names - self._system):
                    self._system.update(added)
                    self.add(run, Fact("metrics", {name: {"system": True} for _, name in added}))
            self.add(run, *items)

    def _run(self, run: str, name: object) -> None:
        if run not in self._names:
            self.name(run, name)
            self.add_fact(run, Fact("writer", {"name": "trackio", "run_name": str(name)}))


def _run_id(names: set[str]) -> str:
    """Return the SQL expression that identifies a run, for a table with the columns `names`."""
    return f"coalesce(cast({'run_id' if 'run_id' in names else 'run_name'} as text), cast(run_name as text), '')"


def _parsed(document: bytes) -> dict[str, Any] | None:
    """Parse a JSON object and remove its media; return None for anything else."""
    try:
        row = parse(document)
    except FormatError:
        return None
    if not isinstance(row, dict):
        return None
    if dict not in set(map(type, row.values())):
        return row
    return {key: value for key, value in row.items() if not (isinstance(value, dict) and "_type" in value)}


FORMAT = Format(
    id="trackio",
    title="Trackio database",
    writers="Trackio 0.10 and 0.43",
    rank=45,
    matches=lambda name, head: _TABLE.search(head) is not None,
    decoder=TrackioDecoder,
    wants_name=lambda name: name.endswith(".db"),
    source_path=lambda path: path.rpartition("/")[0],
    path_facts=lambda path: {"project": posixpath.basename(path).removesuffix(".db")},
)
