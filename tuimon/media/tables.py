"""Contents of the tables and charts that W&B and SwanLab store beside their logs, each file one JSON object.

W&B       files/media/table/NAME_STEP_HASH.table.json: {"columns": [...], "data": [[...], ...]}
SwanLab   media/echarts/STEP-HASH.json: see `echarts`

A table is read when it is shown. The paths of W&B come from the log, so that only files of this kind are opened that
lie below the directory of the run's files, also after links have been followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from tuimon.errors import FormatError
from tuimon.formats._shared.json import parse
from tuimon.media import Part
from tuimon.media.echarts import columns_and_rows
from tuimon.sources.files import open_regular

_MOST_BYTES = 16 << 20
_MOST_ROWS, _MOST_COLUMNS = 2000, 60


class Table(Struct, frozen=True):
    """The first rows of a table, or the reason why it cannot be shown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    count: int
    """Number of all rows."""
    problem: str = ""


def table_file(log: str, path: object) -> str:
    """Return the absolute path of a table that a W&B log names, "" if it is not one that may be opened."""
    if not isinstance(path, str) or not path.startswith("media/table/") or not path.endswith(".table.json"):
        return ""
    return media_file(log, path)


def media_parts(table: str, path: object) -> Iterator[Part]:
    """Yield the place of the file that a cell of the table at files/media/table/NAME names, if it may be opened."""
    root, separator, _ = table.rpartition("/files/media/table/")
    if separator and (file := media_file(f"{root}/log", path)):
        yield Part(file)


def media_file(log: str, path: object) -> str:
    """Return the absolute path of a file that a W&B log names, "" if it is not one that may be opened."""
    if not isinstance(path, str) or not path.startswith("media/"):
        return ""
    root = os.path.join(os.path.dirname(log), "files")
    try:
        file, real_root = os.path.realpath(os.path.join(root, path)), _real_path(root)
    except (OSError, ValueError):
        return ""
    return file if file.startswith(f"{real_root}/") else ""


@lru_cache(maxsize=4)
def _real_path(directory: str) -> str:
    """Return a path without links. Kept, because it takes as long as reading an item of a log."""
    return os.path.realpath(directory)


def read_table(path: str) -> Table:
    """Read a table; its `problem` says why it cannot be shown."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError as error:
        return _failed(f"{error.strerror}: {os.path.basename(path)}")
    return _read(path, status.st_size, status.st_mtime)


@lru_cache(maxsize=4)
def _read(path: str, size: int, modified: float) -> Table:
    if size > _MOST_BYTES:
        return _failed(f"larger than {_MOST_BYTES >> 20} MiB")
    try:
        descriptor, _ = open_regular(path)
        with os.fdopen(descriptor, "rb") as stream:
            document = parse(stream.read(_MOST_BYTES))
    except OSError as error:
        return _failed(f"{error.strerror}: {os.path.basename(path)}")
    except FormatError as error:
        return _failed(f"not a table: {error}")
    if not isinstance(document, dict):
        return _failed("not a table of W&B or SwanLab")
    columns, data = document.get("columns"), document.get("data")
    if not isinstance(columns, list) or not isinstance(data, list):
        columns, data = columns_and_rows(document)
        if not columns:
            return _failed("not a table of W&B or SwanLab, nor a chart with data")
    rows = tuple(tuple(row[:_MOST_COLUMNS]) for row in data[:_MOST_ROWS] if isinstance(row, list))
    return Table(tuple(str(column) for column in columns[:_MOST_COLUMNS]), rows, len(data))


def _failed(problem: str) -> Table:
    return Table((), (), 0, problem)
