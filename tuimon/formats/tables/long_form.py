"""Tables in long form, one point a row, as trackers let them be downloaded.

    MLflow        key,value,step,timestamp    the columns in any order, with or without the others (run_id, …)
    TensorBoard   Wall time,Step,Value        run-<run>-tag-<tag>.csv: one metric, whose name is in that of the file

See _decoder for cells and steps. Source: files downloaded from MLflow 2 and 3 and from TensorBoard 2.
"""

from __future__ import annotations

import math
import posixpath
import re

from tuimon.formats import Format
from tuimon.formats._shared.cells import read_cells, unquoted
from tuimon.formats._shared.json import BOM
from tuimon.formats._shared.lines import LineDecoder
from tuimon.formats._shared.rows import seconds
from tuimon.formats.tables._decoder import TableDecoder
from tuimon.formats.tables._header import Header, read_header
from tuimon.formats.tables.csv import tail
from tuimon.text import decoded

_KEYS = ("key", "metric", "metric_name", "tag", "name")
_VALUES = ("value", "metric_value")
_STEPS = ("step", "global_step", "iteration", "epoch")
_TIMES = ("timestamp", "wall_time", "wall time", "time")
_MAX_METRICS = 10_000
_MISSING = (b"", b"NA", b"N/A", b"null", b"None", b"-")
_TENSORBOARD = re.compile(rb"(?:\xef\xbb\xbf)?\"?Wall time\"?,\"?Step\"?,\"?Value\"?\r*\n")
_TAG = re.compile(r"(?:run-.*?-)?tag-(?P<tag>.+)")


def _column(header: Header, names: tuple[str, ...]) -> int:
    """Return the index of the first of these columns; -1 without a match."""
    lower = [name.lower() for name in header.names]
    return next((lower.index(name) for name in names if name in lower), -1)


def _long_header(line: bytes) -> tuple[Header, int, int, int, int] | None:
    """Return (header, columns of key, value, step and time) of a table in long form; the time may be -1."""
    header = read_header(line.removeprefix(BOM))
    if header is None:
        return None
    key, value, step = (_column(header, names) for names in (_KEYS, _VALUES, _STEPS))
    if min(key, value, step) < 0:
        return None
    return header, key, value, step, _column(header, _TIMES)


class LongFormDecoder(LineDecoder):
    """A StreamDecoder of rows with the name of a metric in a column."""

    def __init__(self) -> None:
        super().__init__()
        self._columns: tuple[Header, int, int, int, int] | None = None

    def _read(self, line: bytes) -> str:
        """Read a line and return why it gives no point; "" for a point, a header and a blank line."""
        if self._columns is None or line == self._columns[0].line:
            self._columns = self._columns or _long_header(line)
            return ""
        if not line.strip():
            return ""
        header, key, value, step, time = self._columns
        row = unquoted(line, header.separator) if b'"' in line else line
        if row is None:
            return "unclosed quote"
        cells = row.split(header.separator)
        if len(cells) != len(header.names):
            return f"row with {len(cells)} cells instead of {len(header.names)}"
        separator = b"\t" if header.separator == b"," else header.separator
        numbers, present = read_cells([_joined(cells, (value, step), separator)], separator, 2)
        if not present.all() or not abs(numbers[0, 1]) < 2**53:
            return "" if cells[value].strip() in _MISSING else "no number in this row"
        name = decoded(cells[key].strip())
        if name and (len(self._points.names) < _MAX_METRICS or name in self._points.names):
            self._points.add(
                name, int(numbers[0, 1]), float(numbers[0, 0]), _time(cells[time]) if time >= 0 else math.nan
            )
        return ""


def _joined(cells: list[bytes], columns: tuple[int, ...], separator: bytes) -> bytes:
    """Return some cells, separated by `separator`."""
    return separator.join(cells[column].replace(separator, b" ").strip() for column in columns)


def _time(cell: bytes) -> float:
    text = cell.strip().decode("utf-8", "replace")
    try:
        known = seconds(float(text))
    except ValueError:
        known = seconds(text)
    return math.nan if known is None else known


def _is_long_form(name: str, head: bytes) -> bool:
    """Return whether the header has the columns, and the first row has a number as value and a name as key."""
    header, _, rest = head.partition(b"\n")
    columns = _long_header(header.rstrip(b"\r"))
    first = rest.partition(b"\n")[0].rstrip(b"\r").replace(b'"', b"").split(columns[0].separator) if columns else []
    if columns is None or len(first) != len(columns[0].names):
        return False
    present = read_cells([_joined(first, columns[1:4], b"\t")], b"\t", 3)[1][0]
    return not present[0] and bool(present[1] and present[2])


def _tag(path: str) -> dict[str, str]:
    """Return the name of the metric of a file that TensorBoard let be downloaded."""
    stem = posixpath.basename(path).rpartition(".")[0]
    match = _TAG.fullmatch(stem)
    return {"Value": match["tag"] if match else stem}


FORMATS = (
    Format(
        id="csv-long",
        title="CSV in long form",
        writers="MLflow's download, any table with key, value and step",
        rank=21,
        matches=_is_long_form,
        decoder=LongFormDecoder,
        wants_name=lambda name: name.lower().endswith((".csv", ".tsv")),
    ),
    Format(
        id="tensorboard-csv",
        title="TensorBoard download (CSV)",
        writers="TensorBoard 2",
        rank=22,
        matches=lambda name, head: _TENSORBOARD.match(head) is not None,
        decoder=TableDecoder,
        tail=tail,
        wants_name=lambda name: name.lower().endswith(".csv"),
        shown_names=_tag,
    ),
)
