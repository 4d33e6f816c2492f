"""Filled lines: the area between the low and high values of an envelope, in the background of a chart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tuimon.draw.marks import Canvas
from tuimon.draw.raster import Glyphs, fit_columns, glyphs, masks, unit_height
from tuimon.model.points import Floats
from tuimon.model.views import Axis, Envelope, Line, Symbols

Bits = npt.NDArray[np.uint8]
_PLAIN = ":"
"""Character in ASCII, in one of four cells. No curve has it: without colours a full area of dots would hide the flat
parts of curves."""


def draw_areas(canvas: Canvas, lines: Sequence[Line], axis: Axis, symbols: Symbols) -> None:
    """Draw the filled lines on the canvas. A cell that several of them cover belongs to these in turn, row by row, so
    that the colours of all are seen."""
    shape = glyphs(symbols)
    rows, cells = canvas.codes.shape
    filled = [index for index, line in enumerate(lines) if line.filled]
    dots = np.stack([_fill(lines[index].envelope, axis, rows, cells, shape) for index in filled])
    covered = dots > 0
    turn = np.arange(rows)[:, None] % np.maximum(covered.sum(axis=0), 1)
    for index, own, place in zip(filled, covered, np.cumsum(covered, axis=0) - 1, strict=True):
        canvas.owner[own & (place == turn)] = index
    places = [(row, column) for column in range(shape.columns) for row in range(shape.rows)]
    every_other = np.uint8(sum(1 << place for place, at in enumerate(places) if sum(at) % 2 == 0))
    canvas.codes[:] = shape.codes[np.bitwise_or.reduce(dots) & every_other]
    if symbols is Symbols.ASCII:
        row, cell = np.indices((rows, cells))
        canvas.codes[:] = np.where(covered.any(axis=0) & ((row + cell) % 4 == 0), ord(_PLAIN), ord(" "))


def _fill(envelope: Envelope, axis: Axis, rows: int, cells: int, shape: Glyphs) -> Bits:
    """Return the dots between low and high as uint8 (rows, cells), without the row of dots above high."""
    columns, dots = cells * shape.columns, rows * shape.rows
    envelope, indices = fit_columns(envelope, columns)
    top, bottom = np.full(columns, dots, np.int32), np.full(columns, -1, np.int32)
    full = np.isfinite(envelope.low) & np.isfinite(envelope.high)
    top[indices[full]] = _border(envelope.high[full], axis, dots)
    bottom[indices[full]] = _border(envelope.low[full], axis, dots) - 1
    return masks(top, bottom, rows, shape)


def _border(values: Floats, axis: Axis, dots: int) -> npt.NDArray[np.int32]:
    """Return the number of rows of dots above each value."""
    return np.rint(np.clip(1.0 - unit_height(values, axis), 0.0, 1.0) * dots).astype(np.int32)
