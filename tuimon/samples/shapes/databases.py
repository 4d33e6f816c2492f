"""SQLite databases: tables in the metrics of Trackio, and the experiences of Trinity-RFT. Positions are row numbers.

Trackio 0.43 (sqlite_storage.py): JSON in metrics.metrics; its traces are read from their JSON Lines files. Trinity-RFT
(buffer/schema): a table with the columns prompt, response, reward, model_version and experience_bytes, which is a
pickle and never selected.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats._shared.database import columns
from tuimon.formats._shared.json import parse
from tuimon.samples import Rows, Shape
from tuimon.sources.sqlite_copy import private_copy

_TRACKIO = (
    "select rowid, step, cast(metrics as blob) from metrics"
    " where rowid >= ? and instr(metrics, 'trackio.table') order by rowid"
)
_TRINITY = ("prompt", "response", "reward")
_FURTHER = ("model_version", "message_list", "task_id")


def _rows(path: str, start: int) -> Rows:
    with private_copy(path) as database:
        if {"step", "metrics"} <= columns(database, "metrics"):
            yield from _trackio(database, start)
            return
        tables = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        for table in tables:
            if table.isidentifier() and set(_TRINITY) <= (known := columns(database, table)):
                yield from _trinity(database, table, [*_TRINITY, *(name for name in _FURTHER if name in known)], start)
                return


def _trackio(database: sqlite3.Connection, start: int) -> Rows:
    for number, step, document in database.execute(_TRACKIO, (start,)):
        for table in _tables(document):
            rows = table.get("_value") if table.get("_type") == "trackio.table" else None
            for row in rows if isinstance(rows, list) else ():
                if isinstance(row, dict):
                    yield number, {"step": step} | row


def _tables(document: bytes) -> list[dict[str, Any]]:
    try:
        values = parse(document)
    except FormatError:
        return []
    return [table for table in values.values() if isinstance(table, dict)] if isinstance(values, dict) else []


def _trinity(database: sqlite3.Connection, table: str, names: list[str], start: int) -> Rows:
    query = f"select rowid, {', '.join(names)} from {table} where rowid >= ? order by rowid"
    for number, *values in database.execute(query, (start,)):
        row = dict(zip(names, values, strict=True))
        messages = row.pop("message_list", None)
        if isinstance(messages, str):
            with suppress(FormatError):
                row["messages"] = parse(messages.encode())
        yield number, row


SHAPE = Shape("databases", lambda path: path.endswith(".db"), _rows)
