"""Tables without a header: a step and a value in each row, or several values.

    scalars/<tag>.csv     1024,0.69       torchrl's CSVLogger; the tag has "/", so the file may be in a subdirectory
    <metric>.csv          0,2.31          own scripts; only where the vocabulary knows the metric
    <metric>.txt          0 2.31          np.savetxt and own scripts, also without the step: 2.31
    <metric>.txt          2.31 0          the step last, only if it grows evenly
    train_log.txt         0 2.31 0.87     several values, only if the step grows evenly: "column 2", "column 3"

The name of the metric is the path below scalars/, or the name of the file. The first column holds integers that do not
fall, the second numbers; rows of one column are counted from 0. See _decoder for what else is read.
Source: torchrl/record/loggers/csv.py, and files that it wrote.
"""

from __future__ import annotations

import math
import posixpath
from functools import partial
from itertools import pairwise

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats.tables._decoder import TableDecoder, read_tail
from tuimon.formats.tables._header import Header
from tuimon.formats.tables._rows import Rows
from tuimon.model.points import Item
from tuimon.vocabulary import classify

_PATH = re.compile(r".*/scalars/(?P<name>.+)\.csv", re.DOTALL)
_NUMBER = rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
_ROW = re.compile(
    rb"(?P<step>\d{1,15}(?:\.\d*)?(?:e\+\d\d)?)(?:[,;\t ] *(?:%b|nan|-?inf)|[;\t] *-?\d+,\d+)\r*" % _NUMBER
)
_VALUE = re.compile(rb" ?(?:%b|nan|-?inf)\r*" % _NUMBER)
_SEPARATOR = re.compile(rb"[ \d]+([,;\t])|[\d.e+]+( )(?=[-+\dni.])")
_LOG_NAME = re.compile(
    r"(?:.*[\W_])?(?:train\w*|val\w*|test|log|loss\w*|metrics?|history|results?|eval\w*|acc\w*|rewards?)(?:[\W_].*)?"
)
"""Names of files that may hold several values in a row."""
_MIN_ROWS = 3
"""Number of rows below which a file outside scalars/ is not taken for a metric."""
_ROWS_PER_DAMAGED = 8
"""Minimum number of rows for each line that is not a row, in a damaged file."""
_MAX_BEGINNING = 1 << 16
_CELLS = re.compile(rb" *[,;\t] *| +")
_ROWS_EXAMINED = 100
_MIN_TABLE_ROWS = 5
_MAX_COLUMNS = 20


class HeaderlessDecoder(TableDecoder):
    """A TableDecoder of rows with a step and a value. The metric is called ""."""

    def restart(self) -> None:
        super().restart()
        self._beginning = b""
        """The first rows, held back until their columns are known."""

    def feed(self, data: bytes) -> list[Item]:
        if self._table is not None:
            return super().feed(data)
        self._beginning += data
        is_enough = self._beginning.count(b"\n") >= _MIN_TABLE_ROWS or len(self._beginning) > _MAX_BEGINNING
        return self._decide() if is_enough else []

    def flush(self) -> list[Item]:
        """Read rows that only fit two columns; other rows need as many as `_step_column` does."""
        first, ended, _ = self._beginning.replace(b"\r", b"\n").partition(b"\n")
        is_known = ended and (_ROW.fullmatch(first) or _VALUE.fullmatch(first))
        return (self._decide() if is_known else []) + super().flush()

    def end(self) -> list[Item]:
        return [*self._decide(), *super().end()] if self._beginning else super().end()

    def skip_ahead(self) -> bool:
        self._decide()
        return super().skip_ahead()

    def _decide(self) -> list[Item]:
        """Read the rows held back, as columns that the first of them give."""
        data, self._beginning = self._beginning, b""
        if data:
            self._table = Rows(_columns(data), self._names, math.nan)
        return super().feed(data)


def _columns(beginning: bytes) -> Header:
    """Return the columns of a table, by its first rows."""
    if several := _step_column(b"\n".join(beginning.split(b"\n", _MIN_TABLE_ROWS)[:_MIN_TABLE_ROWS]) + b"\n"):
        count, step = several
        value = "" if count == 2 else "column {}"
        names = tuple("step" if column == step else value.format(column + 1) for column in range(count))
        separator = next(mark for mark in (b",", b";", b"\t", b" ") if mark in beginning.strip())
        return Header(b"\xff", separator, names, (step,), (), (), (True,) * count)
    match = _SEPARATOR.match(beginning)
    separator = (match[1] or match[2]) if match else b","
    if match is None and _VALUE.fullmatch(beginning.partition(b"\n")[0]):
        return Header(b"\xff", separator, ("",), (), (), (), (True,))
    return Header(b"\xff", separator, ("step", ""), (0,), (), (), (True, True))


def metric_name(path: str) -> str:
    match = _PATH.fullmatch(path)
    return match["name"] if match else posixpath.basename(path).rpartition(".")[0]


def _rows(head: bytes) -> int:
    """Return the number of rows whose steps do not fall; 0 if more than a few other lines are found."""
    whole = head.removesuffix(b"\n").split(b"\n")
    lines = whole[:-1] if len(whole) > 1 and not head.endswith(b"\n") else whole
    matches = [_ROW.fullmatch(line) for line in lines]
    steps = [float(match["step"]) for match in matches if match]
    if not all(map(float.is_integer, steps)):
        return 0
    damaged = len(lines) - len(steps)
    return len(steps) if damaged * _ROWS_PER_DAMAGED <= len(steps) and steps == sorted(steps) else 0


def _is_column(head: bytes) -> bool:
    """Return whether all lines are single numbers, some of them with a fraction."""
    *lines, _ = head.split(b"\n")
    return len(lines) >= _MIN_ROWS and all(map(_VALUE.fullmatch, lines)) and b"." in head


def _step_column(head: bytes) -> tuple[int, int] | None:
    """Return (number of columns, index of the step), if each line has the same number of numbers, the first or the last
    of them a step that grows evenly, others with a fraction; None for a step and one value, which other rules read."""
    *lines, _ = head.split(b"\n")
    rows = [_CELLS.split(line.strip()) for line in lines[:_ROWS_EXAMINED]]
    if len(rows) < _MIN_TABLE_ROWS or len({len(row) for row in rows}) != 1 or not 2 <= len(rows[0]) <= _MAX_COLUMNS:
        return None
    columns = list(zip(*rows, strict=True))
    if not all(_VALUE.fullmatch(cell) for row in rows for cell in row):
        return None
    for step in (0, len(columns) - 1):
        others = [column for column in columns if column is not columns[step]]
        if not all(map(bytes.isdigit, columns[step])) or not any(b"." in cell for cell in others[0]):
            continue
        steps = [int(cell) for cell in columns[step]]
        if steps[1] > steps[0] and len({after - before for before, after in pairwise(steps)}) == 1:
            return (len(columns), step) if (len(columns), step) != (2, 0) else None
    return None


def _is_metric(name: str, head: bytes) -> bool:
    """Return whether the content fits, and the name of the file is that of a metric."""
    stem = metric_name(name)
    if _step_column(head) and _LOG_NAME.fullmatch(stem.lower()):
        return True
    return (_rows(head) >= _MIN_ROWS or _is_column(head)) and (
        "loss" in stem.lower() or classify(stem).concept != "other"
    )


FORMATS = (
    Format(
        id="torchrl",
        title="torchrl CSV",
        writers="torchrl 0.14",
        rank=20,
        matches=lambda name, head: _rows(head) > 0,
        decoder=HeaderlessDecoder,
        tail=partial(read_tail, HeaderlessDecoder),
        wants_path=lambda path: _PATH.fullmatch(path) is not None,
        source_path=lambda path: path,
        metric_name=metric_name,
    ),
    Format(
        id="csv-headerless",
        title="CSV without a header",
        writers="own scripts",
        rank=20,
        matches=_is_metric,
        decoder=HeaderlessDecoder,
        tail=partial(read_tail, HeaderlessDecoder),
        wants_name=lambda name: name.lower().endswith((".csv", ".tsv", ".txt", ".dat", ".log")),
        metric_name=metric_name,
    ),
)
