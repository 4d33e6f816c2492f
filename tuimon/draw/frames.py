"""Frames of charts: gutter with y labels, x axis with ticks. The last ones are kept: limits and sizes seldom change."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tuimon.draw import _plotext
from tuimon.draw.raster import dot_rows, glyphs, unit_height
from tuimon.draw.ticks import axis_ticks
from tuimon.model.views import Axis, Symbols
from tuimon.text import cell_width, clean, fit

_TWO_TICKS_FROM = 3
"""Rows of a canvas from which on a y axis has at least two ticks."""
GUTTER = 8
"""Width left of the canvas: labels of up to 7 cells and the axis. Equal for all charts, so that they align."""
_MINUTES = len(":59:59")
"""Cells of a time without its hour, for ticks whose times with seconds do not fit into the gutter."""


class Frame(Struct, frozen=True):
    """The text around a canvas."""

    left: tuple[str, ...]
    """Text of GUTTER cells for each row of the canvas."""
    bottom: tuple[str, ...]
    """The x axis with its labels, a row of GUTTER + canvas width; () without an x axis."""


class FrameKey(Struct, frozen=True):
    """Everything that a frame depends on."""

    cells: int
    rows: int
    x: Axis
    y: Axis
    x_axis: bool
    symbols: Symbols


@lru_cache(maxsize=512)
def build_frame(key: FrameKey) -> Frame:
    """Return the frame for a key: own ticks and labels, drawn by plotext."""
    y_ticks = [(row, fit(label.rjust(GUTTER - 1), GUTTER - 1)) for row, label in y_places(key)]
    x_ticks = x_places(key) if key.x_axis else []
    lines = _plotext.frame(key.cells, key.rows, y_ticks, x_ticks, key.x_axis)
    if key.x_axis:
        lines[key.rows :] = [_with_label(_in_one_row(*lines[key.rows :]), clean(key.x.label, 40))]
    return Frame(tuple(line[:GUTTER] for line in lines[: key.rows]), tuple(lines[key.rows :]))


class _Tick(NamedTuple):
    row: int
    value: float
    label: str


def y_places(key: FrameKey) -> list[tuple[int, str]]:
    """Return (row, label) of the y ticks: at least two from three rows on, with labels that fit into the gutter.

    If the ticks of the usual number do not, fewer and then more are tried; then labels are shortened.
    """
    wanted = max(2, min(key.rows // 2, 6))
    tried = [_placed(key, count) for count in (wanted, *range(wanted - 1, 1, -1), 2 * wanted, 4 * wanted)]
    enough = [ticks for ticks in tried if len(ticks) >= 2 or key.rows < _TWO_TICKS_FROM] or tried[:1]
    fitting = (ticks for ticks in enough if all(cell_width(tick.label) < GUTTER for tick in ticks))
    ticks = next(fitting, None)
    if ticks is None:
        ticks = _shortened(enough[0]) if key.y.kind in ("number", "step") else enough[0]
        if key.y.kind == "time":
            ticks = [tick._replace(label=tick.label[-_MINUTES:]) for tick in ticks]
    return [(tick.row, tick.label) for tick in ticks] or [(key.rows - 1, "")]


def _placed(key: FrameKey, count: int) -> list[_Tick]:
    """Return about `count` ticks, thinned until there is a free row between any two."""
    shape = glyphs(key.symbols)
    ticks = axis_ticks(key.y, count)
    rows = dot_rows(np.array([value for value, _ in ticks]), key.y, key.rows * shape.rows) // shape.rows
    places = [_Tick(int(row), *tick) for row, tick in zip(rows, ticks, strict=True) if 0 <= row < key.rows]
    apart = 2 if key.rows > 3 else 1
    for every in range(1, len(places) + 1):
        thinned = places[::every]
        if all(abs(a.row - b.row) >= apart for a, b in pairwise(thinned)):
            return [places[0], places[-1]] if len(thinned) == 1 and places[0].row - places[-1].row >= apart else thinned
    return places[:1]


def _shortened(ticks: list[_Tick]) -> list[_Tick]:
    """Return ticks whose labels fit: values with fewer digits, or the first one and the distances of the others."""
    labels = [_short(tick.value) for tick in ticks]
    step = min((abs(b.value - a.value) for a, b in pairwise(ticks)), default=0.0)
    if any(abs(float(label) - tick.value) > step / 10 for label, tick in zip(labels, ticks, strict=True)):
        labels[1:] = ["+" + _short(tick.value - ticks[0].value, GUTTER - 2) for tick in ticks[1:]]
    return [tick._replace(label=label) for label, tick in zip(labels, ticks, strict=True)]


def _short(value: float, width: int = GUTTER - 1) -> str:
    """Format a value with as many digits as fit."""
    for digits in range(width, 0, -1):
        text = f"{value:.{digits}g}".replace("e+", "e").replace("e-0", "e-").replace("e0", "e")
        if len(text) <= width and math.isfinite(float(text)):
            return text
    return f"{value:.0e}"[:width]


def x_places(key: FrameKey) -> list[tuple[int, str]]:
    """Return (cell, label) of the x ticks: as many as do not touch, at most one in ten cells. If the name of the axis
    then has no room between two of them, and fits if there are fewer, at least three, there are fewer."""
    needed = cell_width(clean(key.x.label, 40)) + 6
    densest: list[tuple[int, str]] = []
    for n in range(max(2, min(key.cells // 10, 8)), 0, -1):
        ticks = axis_ticks(key.x, n)
        parts = unit_height(np.array([value for value, _ in ticks]), key.x)
        cells = np.clip(np.floor(parts * key.cells), 0, key.cells - 1).astype(int).tolist()
        placed = [(cell, label) for cell, (_, label) in zip(cells, ticks, strict=True)]
        gaps = _free_cells(placed, key.cells)
        if min(gaps, default=math.inf) < 2:
            continue
        densest = densest or placed
        if not key.x.label or (len(placed) > 2 and max(gaps) >= needed):
            return placed
    return densest or placed[:1]


def _free_cells(ticks: Sequence[tuple[int, str]], cells: int) -> list[float]:
    """Return the numbers of cells between the labels of consecutive ticks of an axis of `cells` cells."""
    # A label that would end after the axis is moved to its end.
    middles = [min(cell, cells - len(label) / 2) for cell, label in ticks]
    halves = [len(label) / 2 for _, label in ticks]
    return [b - a - (left + right) for (a, b), (left, right) in zip(pairwise(middles), pairwise(halves), strict=True)]


def _with_label(line: str, label: str) -> str:
    """Insert the name of the axis into the last part of the axis between tick labels that is wide enough."""
    width = cell_width(label)
    if not label:
        return line
    gap = line.rfind("─" * (width + 4), GUTTER)
    return line if gap < 0 else f"{line[: gap + 1]} {label} {line[gap + 3 + width :]}"


def _in_one_row(axis: str, labels: str) -> str:
    """Return the axis with the labels in it, and a blank on both sides of each."""
    row = list(axis)
    for label in re.finditer(r"\S+( \S+)*", labels):
        part = slice(label.start() - (label.start() > GUTTER), label.end() + 1)
        row[part] = labels[part]
    return "".join(row)
