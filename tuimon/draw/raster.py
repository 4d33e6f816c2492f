"""Rasterisation of curves by numpy: envelopes -> dots -> glyphs of cells.

A cell is a grid of dots: braille 2 × 4, block 2 × 2 (quadrants), ASCII 1 × 3. A column of dots covers the span from its
minimum to its maximum, inclusive. The line from the last point of a column to the first of the next is divided equally
between the two, so that a curve has no holes and minimal thickness.
"""

from __future__ import annotations

import math
import sys
from functools import cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.model.points import Floats
from tuimon.model.views import Axis, Envelope, Symbols

Cells = npt.NDArray[np.uint32]
Owners = npt.NDArray[np.int16]
Dots = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

_FAR = 1.0e6
"""Rows to which positions far outside the canvas are clipped."""


class Glyphs(Struct, frozen=True, eq=False):
    """A set of glyphs. `codes[mask]` is the code point for the dots of a cell: bit r + c * rows is row r, column c."""

    columns: int
    """Dots across a cell: 1 or 2."""
    rows: int
    """Dots down a cell."""
    codes: Cells
    upper: npt.NDArray[np.uint8]
    """upper[k]: the bits of rows >= k."""
    lower: npt.NDArray[np.uint8]
    """lower[k]: the bits of rows < k."""


@cache
def glyphs(symbols: Symbols) -> Glyphs:
    """The glyphs of a symbol set (braille: Unicode chapter 21.1; dot numbers 1 2 3 7 left, 4 5 6 8 right)."""
    if symbols is Symbols.BRAILLE:
        columns, rows, bits = 2, 4, (0x01, 0x02, 0x04, 0x40, 0x08, 0x10, 0x20, 0x80)
        texts = "".join(chr(0x2800 + sum(b for i, b in enumerate(bits) if mask >> i & 1)) for mask in range(256))
    elif symbols is Symbols.BLOCK:
        columns, rows, texts = 2, 2, " ▘▖▌▝▀▞▛▗▚▄▙▐▜▟█"
    else:
        columns, rows, texts = 1, 3, " '-|.|||"
    codes = np.array([ord(" ")] + [ord(c) for c in texts[1:]], dtype=np.uint32)
    full = (1 << rows) - 1
    upper = np.array([full & ~((1 << k) - 1) for k in range(rows + 1)], dtype=np.uint8)
    lower = np.array([(1 << k) - 1 for k in range(rows + 1)], dtype=np.uint8)
    return Glyphs(columns, rows, codes, upper, lower)


def unit_height(values: Floats, axis: Axis) -> Floats:
    """Return values as fractions of the axis: 0 at its low end, 1 at its high end, others outside; NaN stays NaN.

    Correct from denormals to the largest floats: values are first scaled by a power of two, which is exact.
    """
    with np.errstate(all="ignore"):
        if axis.scale == "log":
            low, high = np.log10(max(axis.low, 5e-324)), np.log10(axis.high)
            scaled = np.log10(np.where(values > 0, values, np.where(np.isnan(values), np.nan, 5e-324)))
        else:
            exponent = -math.frexp(max(abs(axis.low), abs(axis.high)))[1] - 1
            low, high = math.ldexp(axis.low, exponent), math.ldexp(axis.high, exponent)
            scaled = np.ldexp(values, exponent)
        return np.asarray((scaled - low) / (high - low), dtype=np.float64)


def value_at(part: float, axis: Axis) -> float:
    """Return the value at a fraction of an axis, the inverse of unit_height; infinite if out of the range of floats."""
    with np.errstate(all="ignore"):
        if axis.scale == "log":
            low, high = np.log10(max(axis.low, 5e-324)), np.log10(axis.high)
            return float(np.power(10.0, low + (high - low) * part))
        return float(axis.low * (1 - part) + axis.high * part)


def dot_rows(values: Floats, axis: Axis, rows: int) -> Floats:
    """Return the row of dots of each value, 0 at the top, < 0 or >= rows outside the limits; NaN stays NaN."""
    parts = np.clip(1.0 - unit_height(values, axis), -_FAR, _FAR)  # before the product, which may overflow
    return np.rint(np.clip(parts * (rows - 1), -_FAR, _FAR))


def fit_columns(envelope: Envelope, columns: int) -> tuple[Envelope, npt.NDArray[np.intp]]:
    """Return an envelope with at most `columns` columns, and the dot column of each.

    If the envelope has more columns, they are merged; if it has fewer, they are spread out and joined by lines.
    """
    n = len(envelope.low)
    if n <= columns:
        return envelope, np.arange(n) if n == columns else ((np.arange(n) + 0.5) * columns / n).astype(np.intp)
    edges = np.arange(columns) * n // columns
    owner = np.repeat(np.arange(columns), np.diff(np.append(edges, n)))
    full = np.flatnonzero(np.isfinite(envelope.low))
    first = np.full(columns, np.nan)
    last = first.copy()
    first[owner[full[::-1]]] = envelope.first[full[::-1]]  # the last assignment, of the earliest column, wins
    last[owner[full]] = envelope.last[full]
    gap = np.zeros(columns)
    gap[owner[full]] = envelope.gap_after[full]
    low, high = np.fmin.reduceat(envelope.low, edges), np.fmax.reduceat(envelope.high, edges)
    return Envelope(low, high, first, last, gap), np.arange(columns)


def spans(envelope: Envelope, axis: Axis, columns: int, rows: int) -> tuple[Dots, Dots, Dots]:
    """Return (top, bottom, outside) of `columns` dot columns.

    top, bottom: first and last dot row; top > bottom if the column is empty. outside: -1 if it has a value above the
    limits, 1 below, 2 both, else 0.
    """
    envelope, indices = fit_columns(envelope, columns)
    top, bottom = np.full(columns, 2 * _FAR), np.full(columns, -2 * _FAR)
    outside = np.zeros(columns, dtype=np.int32)
    full = np.flatnonzero(np.isfinite(envelope.low) & np.isfinite(envelope.high))
    if len(full):
        x = indices[full]
        wanted = (envelope.high, envelope.low, envelope.first, envelope.last)
        edges = dot_rows(np.array([values[full] for values in wanted]), axis, rows)
        top[x], bottom[x] = edges[0], edges[1]
        _join(top, bottom, x, edges[2], edges[3], envelope.gap_after[full] > 0)
        over, under = edges[0] < 0, edges[1] > rows - 1
        outside[x] = np.where(over & under, 2, np.where(over, -1, under))
    t, b = np.clip(top, 0, rows), np.clip(bottom, -1, rows - 1)
    return t.astype(np.int32), b.astype(np.int32), outside


def _join(top: Floats, bottom: Floats, x: npt.NDArray[np.intp], first: Floats, last: Floats, gap: Flags) -> None:
    """Extend the spans in place so that each full column x[i] meets the next: from row last[i] to first[i + 1]."""
    leg = np.repeat(np.arange(len(x) - 1), np.diff(x))
    left = np.arange(x[0], x[-1])  # the boundary right of dot column k has the number k
    joined = ~gap[leg]
    leg, left = leg[joined], left[joined]
    start = last[leg]
    slope = (first[leg + 1] - start) / (x[leg + 1] - x[leg])
    run = left - x[leg]
    bare = run > 0  # columns without a point, crossed by the line
    if bare.any():
        top[left[bare]] = bottom[left[bare]] = np.rint(start[bare] + slope[bare] * run[bare])
    height = start + slope * (run + 0.5)  # of the line where it crosses the boundary
    falls = slope >= 0  # rows count downwards
    floor, ceiling = np.floor(height), np.ceil(height)
    far, right = 2 * _FAR, left + 1
    bottom[left] = np.maximum(bottom[left], np.where(falls, ceiling - 1, -far))
    top[left] = np.minimum(top[left], np.where(falls, far, floor + 1))
    top[right] = np.minimum(top[right], np.where(falls, ceiling, far))
    bottom[right] = np.maximum(bottom[right], np.where(falls, -far, floor))


def masks(top: Dots, bottom: Dots, rows: int, shape: Glyphs) -> npt.NDArray[np.uint8]:
    """Return the dots of each cell, uint8 (rows, columns / dots across), from the spans of the dot columns."""
    starts = np.arange(rows, dtype=np.int32)[:, None] * shape.rows
    lit: npt.NDArray[np.uint8] = shape.upper.take(top[None, :] - starts, mode="clip")
    lit &= shape.lower.take(bottom[None, :] + 1 - starts, mode="clip")
    if shape.columns == 2:
        lit = lit[:, 0::2] | (lit[:, 1::2] << np.uint8(shape.rows))
    return lit


def points(envelope: Envelope, axis: Axis, columns: int, rows: int) -> tuple[Dots, Dots]:
    """Return dot columns and dot rows of the last point of each full column within the limits."""
    envelope, indices = fit_columns(envelope, columns)
    full = np.flatnonzero(np.isfinite(envelope.last))
    row = dot_rows(envelope.last[full], axis, rows)
    inside = (row >= 0) & (row < rows)
    return indices[full][inside].astype(np.int32), row[inside].astype(np.int32)


_LARGEST = sys.float_info.max


def spark_columns(cells: int, symbols: Symbols) -> int:
    """Return the number of columns of an envelope for a sparkline of `cells` cells."""
    return max(cells, 1) * glyphs(symbols).columns


def sparkline(envelope: Envelope, cells: int, symbols: Symbols) -> str:
    """Draw the range of values of a curve in `cells` cells; columns without points are blank."""
    finite = np.isfinite(envelope.low) & np.isfinite(envelope.high)
    if cells < 1 or not finite.any():
        return " " * max(cells, 0)
    low, high = float(envelope.low[finite].min()), float(envelope.high[finite].max())
    if not low < high:
        half = max(abs(low), 1e-300) * 0.5
        low, high = max(low - half, -_LARGEST), min(low + half, _LARGEST)
    shape = glyphs(symbols)
    top, bottom, _ = spans(envelope, Axis(low, high), cells * shape.columns, shape.rows)
    codes = shape.codes[masks(top, bottom, 1, shape)]
    return "".join(map(chr, codes[0].tolist()))
