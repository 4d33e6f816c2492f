"""Filled lines: the area between the low and high values of an envelope, as layers of a canvas.

Layers are distinguished by colour, by texture (for terminals without colours) and, if thick enough, by their label
inside. Borders are exact to a dot, so layers that share a border neither leave a gap nor overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tuimon.draw.marks import Canvas
from tuimon.draw.raster import Glyphs, fit_columns, glyphs, masks, unit_height
from tuimon.model.points import Floats
from tuimon.model.views import Axis, Envelope, Line, Symbols
from tuimon.text import cell_width, clean

Bits = npt.NDArray[np.uint8]
PLAIN_FILLS = "#=+-%~:o"
"""Fill characters of the layers in ASCII."""
_BACKGROUND = ":"
"""Character of background areas in ASCII, in one of four cells. No curve has it: without colours a full area of dots
would hide the flat parts of curves."""
_FAINT_FROM = 0.5
"""Part of the chart from which on a background area is drawn with fewer dots, which would hide the lines."""
_DOTS_LIT = np.array([bin(mask).count("1") for mask in range(256)], np.int8)


def draw_areas(canvas: Canvas, lines: Sequence[Line], axis: Axis, symbols: Symbols) -> None:
    """Draw the filled lines on the canvas."""
    shape = glyphs(symbols)
    rows, cells = canvas.codes.shape
    most = np.zeros((rows, cells), np.int8)
    bits = np.zeros((rows, cells), np.uint8)
    bands: list[tuple[int, npt.NDArray[np.bool_]]] = []
    for number, (index, line) in enumerate((i, line) for i, line in enumerate(lines) if line.filled):
        filled = _fill(line.envelope, axis, rows, cells, shape)
        lit = _DOTS_LIT[filled]
        bits |= filled & (_background_texture(lit, shape) if line.behind else _texture(number, shape))
        canvas.owner[lit > most] = index
        most = np.maximum(most, lit)
        if line.behind:
            bands.append((index, lit > 0))
    if len(bands) > 1:
        _alternate(canvas, bands)
    canvas.codes[:] = shape.codes[bits]
    if symbols is Symbols.ASCII:
        for index, line in enumerate(lines):
            if line.filled:
                own = canvas.owner == index
                canvas.codes[own] = ord(_BACKGROUND if line.behind else PLAIN_FILLS[index % len(PLAIN_FILLS)])
                if line.behind:
                    row, cell = np.indices(own.shape)
                    canvas.codes[own & ((row + cell) % 4 > 0)] = ord(" ")


def _alternate(canvas: Canvas, bands: Sequence[tuple[int, npt.NDArray[np.bool_]]]) -> None:
    """Give cells that several background areas cover to these in turn, row by row, so that the colours of all are seen.

    bands: index of each line with the cells that it covers.
    """
    covered = np.stack([cells for _, cells in bands])
    turn = np.arange(covered.shape[1])[:, None] % np.maximum(covered.sum(axis=0), 1)
    for (index, own), place in zip(bands, np.cumsum(covered, axis=0) - 1, strict=True):
        canvas.owner[own & (place == turn)] = index


def name_areas(canvas: Canvas, lines: Sequence[Line]) -> frozenset[str]:
    """Write the labels of filled lines into their layers where no curve crosses them; return the labels that fit."""
    return frozenset(
        line.label
        for index, line in enumerate(lines)
        if line.filled and not line.behind and _name(canvas, index, clean(line.label))
    )


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


def _texture(number: int, shape: Glyphs) -> np.uint8:
    """Return the dots of a cell that a layer sets: all, every other, the left column, every other row, in rotation."""
    places = [(row, column) for column in range(shape.columns) for row in range(shape.rows)]
    keep = (
        lambda row, column: True,
        lambda row, column: (row + column) % 2 == 0,
        lambda row, column: column == 0,
        lambda row, column: row % 2 == 0,
    )[number % 4]
    return np.uint8(sum(1 << (row + column * shape.rows) for row, column in places if keep(row, column)))


def _background_texture(lit: npt.NDArray[np.int8], shape: Glyphs) -> np.uint8:
    """Return the dots of a background area: every other, or one in a cell if the area covers most of the chart.

    lit: dots of the area in each cell.
    """
    covered = float(lit.mean()) / (shape.rows * shape.columns)
    return _texture(1, shape) if covered < _FAINT_FROM else np.uint8(1)


def _name(canvas: Canvas, index: int, label: str) -> bool:
    """Write a label into the longest part of a row that belongs to the layer alone; return False if none fits."""
    need = len(label) + 4
    if not label or cell_width(label) != len(label):
        return False
    best = (need - 1, 0, 0)
    for row, owned in enumerate(canvas.owner == index):
        edges = np.flatnonzero(np.diff(np.concatenate(([False], owned, [False])).astype(np.int8)))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            best = max(best, (end - begin, row, begin), key=lambda stretch: stretch[0])
    length, row, begin = best
    if length < need:
        return False
    cell = begin + (length - len(label)) // 2
    for offset, character in enumerate(f" {label} "):
        canvas.codes[row, cell - 1 + offset] = ord(character)
    return True
