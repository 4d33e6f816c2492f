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

import posixpath
from collections.abc import Iterator, Sequence

import numpy as np

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.cells import read_cells
from tuimon.formats.tables._decoder import TableDecoder
from tuimon.formats.tables._header import EXACT, Header
from tuimon.model.points import Item
from tuimon.vocabulary import classify

_PATH = re.compile(r".*/scalars/(?P<name>.+)\.csv", re.DOTALL)
_LOG_NAME = re.compile(
    r"(?:.*[\W_])?(?:train\w*|val\w*|test|log|loss\w*|metrics?|history|results?|eval\w*|acc\w*|rewards?)(?:[\W_].*)?"
)
"""Names of files that may hold several values in a row."""
_SEPARATORS = (b";", b"\t", b",", b" ")
_MIN_ROWS = 3
"""Number of rows below which a file outside scalars/ is not taken for a metric."""
_MIN_TABLE_ROWS = 5
_MAX_COLUMNS = 20


class HeaderlessDecoder(TableDecoder):
    """A TableDecoder of rows with a step and a value. The metric is called ""."""

    def __init__(self) -> None:
        super().__init__()
        self._beginning: list[bytes] = []
        """The first rows, held back until they show the columns."""
        self._offset = 0
        """Offset of the first of them."""

    def _read_lines(self, offset: int, lines: list[bytes]) -> Iterator[Item]:
        if self._table is None:
            self._offset = self._offset if self._beginning else offset
            self._beginning += lines
            if len(self._beginning) >= _MIN_TABLE_ROWS:
                yield from self._decide()
        else:
            yield from super()._read_lines(offset, lines)

    def flush(self) -> list[Item]:
        """Read rows that only fit two columns; other rows need _MIN_TABLE_ROWS."""
        header = columns_of(self._beginning)
        is_known = header is not None and len(header.names) <= 2 and header.steps in ((), (0,))
        return [*(self._decide() if is_known else ()), *super().flush()]

    def end(self) -> list[Item]:
        return [*self._decide(), *super().end()]

    def _decide(self) -> Iterator[Item]:
        """Read the rows held back, by the columns that they show."""
        lines, self._beginning = self._beginning, []
        if lines:
            self._begin(columns_of(lines[:_MIN_TABLE_ROWS]) or _header(b",", ("step", ""), (0,)))
            yield from super()._read_lines(self._offset, lines)


def columns_of(lines: Sequence[bytes]) -> Header | None:
    """Return the columns of a table by its first rows; None if most of these are not numbers with a step."""
    rows = [line.strip() for line in lines if line.strip()]
    separator = next((mark for mark in _SEPARATORS if rows and mark in rows[0]), b",")
    rows = [b" ".join(row.split()) for row in rows] if separator == b" " else rows
    width = rows[0].count(separator) + 1 if rows else 0
    values, present = read_cells([row for row in rows if row.count(separator) + 1 == width], separator, width)
    values = values[present.all(axis=1)]
    if 2 * len(values) <= len(rows) or not 1 <= width <= _MAX_COLUMNS:
        return None
    whole = ((values == np.floor(values)) & (np.abs(values) < EXACT)).all(axis=0)
    strides = np.diff(values, axis=0)
    if width == 1:
        return None if whole[0] else _header(separator, ("",), ())
    if width == 2 and whole[0] and (strides[:, 0] >= 0).all():
        return _header(separator, ("step", ""), (0,))
    for step in (0, width - 1):
        rises = len(values) >= _MIN_TABLE_ROWS and strides[0, step] > 0 and (strides[:, step] == strides[0, step]).all()
        if whole[step] and rises and not whole[0 if step else 1]:
            value = "" if width == 2 else "column {}"
            names = tuple("step" if column == step else value.format(column + 1) for column in range(width))
            return _header(separator, names, (step,))
    return None


def _header(separator: bytes, names: tuple[str, ...], steps: tuple[int, ...]) -> Header:
    return Header(b"\xff", separator, names, steps, (), (), (True,) * len(names))


def metric_name(path: str) -> str:
    match = _PATH.fullmatch(path)
    return match["name"] if match else posixpath.basename(path).rpartition(".")[0]


def _whole_lines(head: bytes) -> list[bytes]:
    """Return the lines of the beginning of a file, without the last one if it may be cut."""
    lines = head.splitlines()
    return lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines


def _is_scalar(name: str, head: bytes) -> bool:
    header = columns_of(_whole_lines(head))
    return header is not None and header.names == ("step", "")


def _is_metric(name: str, head: bytes) -> bool:
    """Return whether the content fits, and the name of the file is that of a metric."""
    lines = _whole_lines(head)
    header, stem = columns_of(lines), metric_name(name).lower()
    if header is None or len(lines) < _MIN_ROWS:
        return False
    if header.names in (("step", ""), ("",)):
        return "loss" in stem or classify(metric_name(name)).concept != "other"
    return _LOG_NAME.fullmatch(stem) is not None


FORMATS = (
    Format(
        id="torchrl",
        title="torchrl CSV",
        writers="torchrl 0.14",
        rank=20,
        matches=_is_scalar,
        decoder=HeaderlessDecoder,
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
        wants_name=lambda name: name.lower().endswith((".csv", ".tsv", ".txt", ".dat", ".log")),
        metric_name=metric_name,
    ),
)
