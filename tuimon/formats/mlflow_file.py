"""MLflow's file store: mlruns/<experiment>/<run>/metrics/<name>, one metric a file.

    1795226147449 inf 30            milliseconds, value, step: one line a point, in the order of logging
    1795226147473 0.5               without a step before 1.0
    1795226147473 0.5 31 <model>    metrics of a model or a data set have more fields

The name of the metric is the path below metrics/, its "/" being directories. Steps may repeat and go back. nan, inf
and -inf as such. Source: mlflow/store/tracking/file_store.py, and files that it wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from tuimon.formats import Format, StreamDecoder
from tuimon.formats._lines import LineSplitter
from tuimon.formats._mlflow_folder import RunFolder
from tuimon.formats._table_cells import read_cells
from tuimon.model.points import Damage, Item, Points

_FOLDER = RunFolder("metrics")
_LINE = re.compile(rb"\d{10,16} [-+]?(?:\d|\.\d|nan|inf)\S*(?: -?\d+(?: \S+){0,2})?\r?\n?", re.IGNORECASE)
_NAMES = ("",)
_FIELDS = 3


class MetricLines(StreamDecoder):
    """A StreamDecoder of one metric, without its name."""

    def __init__(self) -> None:
        self._lines = LineSplitter()

    def feed(self, data: bytes) -> list[Item]:
        items: list[Item] = []
        for part in self._lines.feed(data):
            if isinstance(part, Damage):
                items.append(part)
            else:
                items += _read(*part)
        return items

    def flush(self) -> list[Item]:
        return []  # nothing tells whether the last number of a line without its end is whole


def _read(offset: int, lines: Sequence[bytes]) -> list[Item]:
    items: list[Item] = []
    for fields, group in groupby(lines, key=lambda line: min(_FIELDS, len(line.split()))):
        rows = list(group)
        if fields >= 2:
            items += _points(rows, fields, offset)
        else:
            at = offset
            for row in rows:
                if row.strip(b"\0 \r"):
                    items.append(Damage(at, len(row) + 1, "not a metric's line"))
                at += len(row) + 1
        offset += sum(map(len, rows)) + len(rows)
    return items


def _points(rows: Sequence[bytes], fields: int, offset: int) -> list[Item]:
    """Points of lines with so many fields, and damage for those that are no numbers."""
    cut = [b" ".join(row.split(None, _FIELDS)[:fields]) for row in rows]
    values, present = read_cells(cut, b" ", fields)
    milliseconds, logged = values[:, 0], values[:, 1]
    steps = values[:, 2] if fields == _FIELDS else np.zeros(len(rows))
    good = present.all(axis=1) & (np.abs(steps) < 2.0**53) & (steps == np.floor(steps))
    items: list[Item] = []
    if good.any():
        times = milliseconds[good] / 1e3
        ids = np.zeros(len(times), np.uint32)
        items.append(Points(_NAMES, ids, steps[good].astype(np.int64), logged[good], times))
    starts = offset + np.cumsum([0, *(len(row) + 1 for row in rows)])
    items += [
        Damage(int(starts[row]), len(rows[row]) + 1, "not a metric's line") for row in np.flatnonzero(~good).tolist()
    ]
    return items


FORMAT = Format(
    id="mlflow-file",
    title="MLflow file store",
    writers="MLflow 2.3 to 3.17",
    rank=45,
    matches=lambda name, head: not head or _LINE.match(head) is not None,
    decoder=MetricLines,
    wants_path=_FOLDER.holds,
    source_path=_FOLDER.source,
    metric_name=_FOLDER.name,
)
