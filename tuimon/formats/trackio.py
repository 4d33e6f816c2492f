"""Trackio: <project>.db (SQLite), by default below ~/.cache/huggingface/trackio, all runs of a project in one file.

    metrics          id, run_name, step, timestamp, metrics (JSON, as text or bytes); run_id since 0.24
    system_metrics   the same without a step: what was measured of the machine
    configs          run_name, config (JSON; keys that begin with "_" are Trackio's own)

NaN and infinities are strings ("NaN", "Infinity", "-Infinity"). The timestamp is that of the upload, which many rows
share. A system metric has the number of its row as step. Source: trackio/sqlite_storage.py, and a file that it wrote.
"""

from __future__ import annotations

import math
import re
import sqlite3
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._database import DAMAGED, NewRows, RunNames, columns, readable
from tuimon.formats._json import parse
from tuimon.formats._row_reader import Names, RowReader
from tuimon.formats._rows import number, trimmed
from tuimon.model.points import Damage, Fact, Item, Points, Replaced

_TABLE = re.compile(rb'create table "?metrics"? ?\((?=.*\brun_name\b)(?=.*\bstep\b)(?=.*\bmetrics\b)', re.IGNORECASE)
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class _Run:
    """What is remembered of a run."""

    def __init__(self) -> None:
        self.names = Names()
        self.begin()
        self.system: set[str] = set()
        self.config: Any = None

    def begin(self) -> None:
        self.readers = {"metrics": RowReader(self.names), "system_metrics": RowReader(self.names)}


class TrackioDecoder:
    """A DatabaseDecoder."""

    def __init__(self) -> None:
        self._tables: dict[str, NewRows] = {}
        self._broken = False
        self._run_names = RunNames()
        self._runs: dict[str, _Run] = {}

    def read(self, database: sqlite3.Connection) -> list[tuple[str, list[Item]]]:
        """See DatabaseDecoder."""
        news: dict[str, list[Item]] = {run: [] for run in self._runs}
        for table in ("metrics", "system_metrics"):
            there = columns(database, table)
            if there and table not in self._tables:
                step = "cast(step as integer)" if "step" in there else "null"
                wanted = (_run_id(there), "run_name", step, "timestamp", "coalesce(cast(metrics as blob), x'')")
                self._tables[table] = NewRows(table, wanted)
        anew = [rows.begun_anew(database) for rows in self._tables.values()]
        if any(anew):
            self._begin_anew(news)
        configs_broken = self._read_configs(database, news)
        for table, rows in self._tables.items():
            for batch in rows.read(database):
                self._read_rows(table, batch, news)
        broken = configs_broken or any(rows.broken for rows in self._tables.values())
        if broken and not news:
            raise FormatError(DAMAGED)
        if broken and not self._broken:
            news[next(iter(news))].append(Damage(0, 0, DAMAGED))
        self._broken = broken
        return [(self._run_names.name(run, None), items) for run, items in news.items()]

    def _begin_anew(self, news: dict[str, list[Item]]) -> None:
        for rows in self._tables.values():
            rows.forget()
        for run, known in self._runs.items():
            known.begin()
            news[run].append(Replaced())

    def _read_rows(self, table: str, batch: list[tuple[Any, ...]], news: dict[str, list[Item]]) -> None:
        by_run: dict[str, list[dict[str, Any]]] = {}
        for rowid, run, name, step, timestamp, document in batch:
            self._run(run, name, news)
            row = _parsed(document)
            if row is None:
                news[run].append(Damage(rowid, 1, "row of metrics not readable"))
                continue
            stamp = {"timestamp": timestamp} if step is None else {"step": step, "timestamp": timestamp}
            for key in stamp:
                row.pop(key, None)
            by_run.setdefault(run, []).append(stamp | _numbers(row))
        for run, rows in by_run.items():
            known = self._runs[run]
            items = [item for item in known.readers[table].read(rows) if isinstance(item, Points)]
            if table == "system_metrics":
                found = {points.names[index] for points in items for index in set(points.metric.tolist())}
                if fresh := sorted(found - known.system):
                    known.system.update(fresh)
                    news[run].append(Fact("metrics", {name: {"system": True} for name in fresh}))
            news[run] += items

    def _read_configs(self, database: sqlite3.Connection, news: dict[str, list[Item]]) -> bool:
        """Is a page of them damaged?"""
        there = columns(database, "configs")
        if not there:
            return False
        query = f"select {_run_id(there)}, run_name, coalesce(cast(config as blob), x'') from configs"
        rows, broken = readable(database, query)
        for run, name, document in rows:
            known = self._run(run, name, news)
            if document != known.config:
                known.config = document
                config = {key: value for key, value in (_parsed(document) or {}).items() if not key.startswith("_")}
                if config:
                    news[run].append(Fact("config", trimmed(config)))
        return broken

    def _run(self, run: str, name: object, news: dict[str, list[Item]]) -> _Run:
        if run not in self._runs:
            self._runs[run] = _Run()
            self._run_names.name(run, name)
            news[run] = [Fact("writer", {"name": "trackio", "run_name": str(name)})]
        return self._runs[run]


def _run_id(there: set[str]) -> str:
    """The column that tells runs apart."""
    return f"coalesce(cast({'run_id' if 'run_id' in there else 'run_name'} as text), cast(run_name as text), '')"


def _parsed(document: bytes) -> dict[str, Any] | None:
    """An object of JSON without its media; None for anything else."""
    try:
        row = parse(document)
    except FormatError:
        return None
    if not isinstance(row, dict):
        return None
    if dict not in set(map(type, row.values())):
        return row
    return {key: value for key, value in row.items() if not (isinstance(value, dict) and "_type" in value)}


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    """A row, or a part of it, without texts and lists: whatever is said beside them, its numbers were logged."""
    kinds = set(map(type, row.values()))
    if str not in kinds and list not in kinds and dict not in kinds:
        return row
    found: dict[str, Any] = {}
    for key, value in row.items():
        kind = type(value)
        if kind is dict:
            found[key] = _numbers(value)
        elif kind is str:
            value = _WORDS.get(value, number(value, key))
            if value is not None:
                found[key] = value
        elif kind is not list:
            found[key] = value
    return found


FORMAT = Format(
    id="trackio",
    title="Trackio database",
    writers="Trackio 0.10 and 0.43",
    rank=45,
    matches=lambda name, head: _TABLE.search(head) is not None,
    decoder=TrackioDecoder,
    wants_name=lambda name: name.endswith(".db"),
    source_path=lambda path: path.rpartition("/")[0],
)
