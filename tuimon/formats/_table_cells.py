"""Rows of a separated table as a matrix of numbers, by whole blocks of lines.

What a table of metrics holds is nearly JSON: numbers parted by commas. orjson reads a block of them as one list, to the
last bit as Python's float() does, at a fifth of its cost. Where a cell is something else, the columns are read one by
one, and only those that hold other text cell by cell.
"""

from __future__ import annotations

import csv
import re

import numpy as np
import numpy.typing as npt
import orjson

from tuimon.model.points import Floats

Mask = npt.NDArray[np.bool_]
_OF_NUMBERS = b"0123456789+-.eE, "
_OF_FLOATS = _OF_NUMBERS.replace(b",", b"") + b"naifNAIF"
_NUMBER = re.compile(rb" *[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity) *", re.IGNORECASE)


def read_cells(lines: list[bytes], separator: bytes, columns: int) -> tuple[Floats, Mask]:
    """(values, which of them are there) as (lines, columns). Each line has that many cells and no quotes. A cell that
    is empty or no number is not there; NaN and infinities are."""
    flat = separator.join(lines)
    shape = len(lines), columns
    if separator == b"," or b"," not in flat:
        found = _numbers(flat.replace(separator, b","))
        if found is not None:
            return found[0].reshape(shape) + 0.0, found[1].reshape(shape)
    values = np.full(shape, np.nan)
    present = np.zeros(shape, np.bool_)
    cells = flat.split(separator)
    for column in range(columns):
        values[:, column], present[:, column] = _column(cells[column::columns])
    return values + 0.0, present  # "-0" is 0.0, however it was read


def unquoted(line: bytes, separator: bytes) -> bytes | None:
    """A line with its quotes taken off; a cell that holds the separator becomes a "?", as it is no number anyway.
    None for a quote that is never closed."""
    try:
        cells = next(csv.reader([line.decode("utf-8", "replace")], delimiter=separator.decode(), strict=True), [])
    except csv.Error:
        return None
    return separator.join(b"?" if separator in cell else cell for cell in (cell.encode() for cell in cells))


def _numbers(flat: bytes) -> tuple[Floats, Mask] | None:
    """Of cells parted by commas; None if one of them is neither a number of JSON nor NaN nor empty."""
    others = flat.translate(None, _OF_NUMBERS)
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
        found = _numbers(flat)
        if found is not None:
            return found
    if not flat.translate(None, _OF_FLOATS):
        try:
            return np.array(list(map(float, cells))), np.ones(len(cells), np.bool_)
        except ValueError:
            pass  # "", "NA", "1 2"
    numbers = [float(cell) if _NUMBER.fullmatch(cell) else None for cell in cells]
    return np.array(numbers, np.float64), np.array([value is not None for value in numbers])
