"""Frames of charts: gutter with y labels, x axis with ticks. Cached until limits or size change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from msgspec import Struct

from tuimon.draw import _plotext
from tuimon.draw.raster import dot_rows, glyphs, unit_height
from tuimon.draw.row_cache import RowCache
from tuimon.draw.ticks import axis_ticks
from tuimon.model.views import Axis, Symbols
from tuimon.text import cell_width, clean, fit

GUTTER = 8
"""Width left of the canvas: labels of up to 7 cells and the axis. Equal for all charts, so that they align."""

_TO_ASCII = str.maketrans("│┤└┬─…µ", "|+++-.u")


class Frame(Struct, frozen=True):
    """The text around a canvas."""

    left: tuple[str, ...]
    """Text of GUTTER cells for each row of the canvas."""
    bottom: tuple[str, ...]
    """The x axis and its labels, two rows of GUTTER + canvas width; () without an x axis."""


class FrameKey(Struct, frozen=True):
    """Everything that a frame depends on."""

    cells: int
    rows: int
    x: Axis
    y: Axis
    x_axis: bool
    symbols: Symbols


class FrameCache:
    """Least-recently-used cache of frames, and of the rows drawn last. Not thread-safe; best used for one chart."""

    def __init__(self, size: int = 16) -> None:
        self.row_cache = RowCache()
        self._frames: OrderedDict[FrameKey, Frame] = OrderedDict()
        self._size = size

    def get(self, key: FrameKey, build: Callable[[FrameKey], Frame]) -> Frame:
        """Return the frame for the key; build it if it is not cached."""
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = build(key)
            if len(self._frames) > self._size:
                self._frames.popitem(last=False)
        else:
            self._frames.move_to_end(key)
        return frame

    def __len__(self) -> int:
        return len(self._frames)


def build_frame(key: FrameKey) -> Frame:
    """Build a frame: own ticks and labels, drawn by plotext."""
    y_ticks = [(row, fit(label.rjust(GUTTER - 1), GUTTER - 1, keep="end")) for row, label in y_places(key)]
    x_ticks = x_places(key) if key.x_axis else []
    lines = _plotext.frame(key.cells, key.rows, y_ticks, x_ticks, key.x_axis)
    if key.x_axis:
        lines[-1] = _with_label(lines[-1], clean(key.x.label, 40))
    if key.symbols is Symbols.ASCII:
        lines = [line.translate(_TO_ASCII) for line in lines]
    return Frame(tuple(line[:GUTTER] for line in lines[: key.rows]), tuple(lines[key.rows :]))


def y_places(key: FrameKey) -> list[tuple[int, str]]:
    """Return (row, label) of the y ticks, evenly thinned until there is a free row between any two."""
    shape = glyphs(key.symbols)
    ticks = axis_ticks(key.y, max(2, min(key.rows // 2, 6)))
    rows = dot_rows(np.array([value for value, _ in ticks]), key.y, key.rows * shape.rows) // shape.rows
    places = [(int(row), label) for row, (_, label) in zip(rows, ticks, strict=True) if 0 <= row < key.rows]
    apart = 2 if key.rows > 3 else 1
    for every in range(1, len(places) + 1):
        thinned = places[::every]
        if all(abs(a[0] - b[0]) >= apart for a, b in pairwise(thinned)):
            return thinned
    return places[:1] or [(key.rows - 1, "")]


def x_places(key: FrameKey) -> list[tuple[int, str]]:
    """Return (cell, label) of the x ticks: as many as do not touch, at most one in ten cells."""
    for n in range(max(2, min(key.cells // 10, 8)), 0, -1):
        ticks = axis_ticks(key.x, n)
        parts = unit_height(np.array([value for value, _ in ticks]), key.x)
        cells = np.clip(np.floor(parts * key.cells), 0, key.cells - 1).astype(int).tolist()
        placed = [(cell, label) for cell, (_, label) in zip(cells, ticks, strict=True)]
        if all(b[0] - a[0] >= (len(a[1]) + len(b[1])) / 2 + 2 for a, b in pairwise(placed)):
            return placed
    return placed[:1]


def _with_label(line: str, label: str) -> str:
    """Insert the name of the axis into the last gap between tick labels that is wide enough."""
    width = cell_width(label)
    if not label:
        return line
    gap = line.rfind(" " * (width + 4), GUTTER)
    return line if gap < 0 else line[: gap + 2] + label + line[gap + 2 + width :]
