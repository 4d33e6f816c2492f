"""Conversion of table rows to a matrix of numbers, by blocks of lines.

The rows of a metrics table are nearly JSON: numbers separated by commas. orjson parses a block of them as one list,
with the same bits as Python's float(), at a fifth of its cost. If the block holds other cells, the columns are read one
by one, and columns with other text cell by cell. A cell may have a unit ("85.3%", "18840ms"), which is
dropped.

A comma in a number is a decimal comma ("2,6136") unless it separates groups of three digits ("1,055,123"). A single
group may be either: "2,613" is decimal between semicolons, which are used where the comma is the decimal separator, and
between tabs or bars if another number of its row has a decimal comma. A rule for each row does not depend on how the
file is divided into blocks.
"""

from __future__ import annotations

import csv

import numpy as np
import numpy.typing as npt
import orjson

from tuimon import lazy_re as re
from tuimon.model.points import Floats
from tuimon.text import decoded

MISSING = frozenset({b"", b"NA", b"N/A", b"null", b"None", b"-", b"True", b"False"})
"""Cells without a number that are not text."""
Mask = npt.NDArray[np.bool_]
_OF_NUMBERS = b"0123456789+-.eE, "
_OF_FLOATS = _OF_NUMBERS.replace(b",", b"") + b"naifNAIF"
_NUMBER = re.compile(rb" *[+-]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?|nan|inf|infinity) *", re.IGNORECASE)
_UNIT = (
    rb"%|[num]s|\xc2\xb5s|s|secs?|seconds|mins?|minutes|h|hrs?|hours|[kMGT]i?B|B|it/s|s/it|samples/s|tok(?:ens)?/s|x"
)
_WITH_UNIT = re.compile(
    rb" *([+-]?(?:[1-9]\d{0,2}(?:,\d{3})+(?:\.\d++)?|(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?)) ?(?:%b)? *" % _UNIT,
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_WITH_COMMA = re.compile(rb"(?<![\d,.])(\d+),(\d+)(?![\d,.])")
_GROUPED = re.compile(rb"(?<![\d,.])[1-9]\d{0,2}(?:\.\d{3})+(?=,\d+(?![\d,.]))")
_BY_POINTS = re.compile(rb" *[+-]?[1-9]\d{0,2}(?:\.\d{3}){2,} *")
"""A number whose points can only separate thousands."""
_MAY_BE_GROUPED = re.compile(rb"(?<![\w,.:/+ -])([1-9]\d{0,2}(?:\.\d{3})+)(?![\d.])")
"""A number at the beginning of a cell whose points may separate thousands."""
_IS_DECIMAL = re.compile(rb"(?<![\d,.])(?:0\d*,\d+|\d+,(?!\d{3}(?!\d))\d+|\d{4,},\d+)(?![\d,.])")
"""A number whose comma cannot separate thousands."""


def read_cells(lines: list[bytes], separator: bytes, columns: int) -> tuple[Floats, Mask]:
    """Return (values, which of them are present), both as (lines, columns). Each line must have `columns` cells and no
    quotes. Cells that are empty or not numbers are absent; NaN and infinities are present."""
    flat = separator.join(lines)
    if separator != b"," and b"," in flat:
        lines = [_with_decimal_points(line, separator) for line in lines]
        flat = separator.join(lines)
    shape = len(lines), columns
    if separator == b"," or b"," not in flat:
        numbers = _numbers(flat if separator == b"," else flat.replace(separator, b","))
        if numbers is not None:
            return numbers[0].reshape(shape) + 0.0, numbers[1].reshape(shape)
    values = np.full(shape, np.nan)
    present = np.zeros(shape, np.bool_)
    cells = flat.split(separator)
    for column in range(columns):
        values[:, column], present[:, column] = _column(cells[column::columns])
    return values + 0.0, present  # turn -0.0 into 0.0, as in the other branch


def text_cells(lines: list[bytes], separator: bytes, present: Mask) -> dict[int, tuple[int, int, bytes]]:
    """Return (number of cells, row of the first one, this cell) of the cells that hold text, by column: absent in
    `present`, and not MISSING."""
    if present.all():
        return {}
    flat = separator.join(lines)
    marks = np.frombuffer(b"%b%b%b" % (separator, flat, separator), np.uint8) == separator[0]
    if np.count_nonzero(np.diff(np.flatnonzero(marks)) == 1) == present.size - np.count_nonzero(present):
        return {}  # all of the absent cells are empty
    cells, columns = flat.split(separator), present.shape[1]
    texts = {}
    for column in np.flatnonzero(~present.all(axis=0)).tolist():
        absent = np.flatnonzero(~present[:, column]).tolist()
        stripped = [cell.strip() for cell in cells[column::columns]]
        rows = [row for row in absent if stripped[row] not in MISSING]
        if rows:
            texts[column] = len(rows), rows[0], stripped[rows[0]]
    return texts


def unquoted(line: bytes, separator: bytes) -> bytes | None:
    """Return the line without its quotes, or None if a quote is not closed. A cell that contains the separator becomes
    "?", unless it is a number with separated thousands ("1,055,123") or a decimal comma ("2,6136")."""
    try:
        cells = next(csv.reader([decoded(line)], delimiter=separator.decode(), strict=True), [])
    except csv.Error:
        return None
    cells = [_without_comma(cell) if separator == b"," and "," in cell else cell for cell in cells]
    return separator.join(b"?" if separator in cell else cell for cell in (cell.encode() for cell in cells))


def _without_comma(cell: str) -> str:
    """Return a number without thousands separators and with a decimal point; other cells as they are."""
    if _THOUSANDS.fullmatch(cell.strip()):
        return cell.replace(",", "")
    return cell.replace(",", ".") if _DECIMAL.fullmatch(cell.strip()) else cell


def _with_decimal_points(line: bytes, separator: bytes) -> bytes:
    """Return the row with points instead of its decimal commas."""
    if b"," not in line or not (separator == b";" or _IS_DECIMAL.search(line)):
        return line
    if b"." in line and _IS_DECIMAL.search(line):
        ungrouped = _MAY_BE_GROUPED.sub(lambda match: match[0].replace(b".", b""), line)
        line = line if b"." in ungrouped else ungrouped
    return _WITH_COMMA.sub(rb"\1.\2", _GROUPED.sub(lambda match: match[0].replace(b".", b""), line))


def _numbers(flat: bytes) -> tuple[Floats, Mask] | None:
    """Parse comma-separated cells; return None if a cell is neither a JSON number, NaN nor empty."""
    others = flat.translate(None, _OF_NUMBERS)
    if not others:
        try:
            parsed = orjson.loads(b"[%b]" % flat)  # an empty cell is no JSON
        except orjson.JSONDecodeError:
            pass
        else:
            return (np.array(parsed, np.float64), np.ones(len(parsed), np.bool_)) if parsed else None
    if others.replace(b"nan", b"").replace(b"NaN", b""):
        return None
    padded = b"," + flat + b","
    gaps = b",," in padded
    present = np.diff(np.flatnonzero(np.frombuffer(padded, np.uint8) == ord(b","))) > 1 if gaps else None
    if gaps:
        padded = padded.replace(b",,", b",null,").replace(b",,", b",null,")
    if others:
        padded = padded.replace(b"nan", b"null").replace(b"NaN", b"null")
    try:
        parsed = orjson.loads(b"[" + padded[1:-1] + b"]")
    except orjson.JSONDecodeError:
        return None
    if not parsed:
        return None  # a single cell of blanks
    values = np.array(parsed, np.float64)  # None becomes NaN
    return values, np.ones(len(values), np.bool_) if present is None else present


def _column(cells: list[bytes]) -> tuple[Floats, Mask]:
    flat = b",".join(cells)
    if flat.count(b",") == len(cells) - 1:
        parsed = _numbers(flat)
        if parsed is not None:
            return parsed
    if not flat.translate(None, _OF_FLOATS):
        try:
            return np.array(list(map(float, cells))), np.ones(len(cells), np.bool_)
        except ValueError:
            pass  # "", "NA", "1 2"
    numbers = [float(cell) if _NUMBER.fullmatch(cell) else _with_unit(cell) for cell in cells]
    return np.array(numbers, np.float64), np.array([value is not None for value in numbers])


def _with_unit(cell: bytes) -> float | None:
    if _BY_POINTS.fullmatch(cell):
        return float(cell.replace(b".", b""))
    match = _WITH_UNIT.fullmatch(cell)
    return float(match[1].replace(b",", b"")) if match else None
