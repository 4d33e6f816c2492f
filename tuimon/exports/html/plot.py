"""The SVG geometry of a chart: paths, ticks and marks. The template writes the texts.

A curve is drawn from its envelope: in each column a stroke from the minimum to the maximum of its points, and a line
from its last value to the first value of the next column. The picture is therefore the same as if every point were
drawn. Path coordinates are integers, one unit per column and GRID units high, which keeps paths short.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tuimon.draw.raster import unit_height
from tuimon.draw.ticks import axis_ticks
from tuimon.model.points import Floats
from tuimon.model.views import Axis, ChartView, Envelope, Line
from tuimon.store import Curve
from tuimon.store.envelope import wide_enough
from tuimon.text import clean

GRID = 1000
"""Height of a chart in path units."""
_OUTSIDE = GRID // 20
"""Path units by which a value outside the axis limits is drawn outside the frame."""
SPARK_COLUMNS = 70
"""Columns of the small curve of a metric."""
_X_TICKS = 6
_Y_TICKS = 5
_ROOM = 50
"""Part of the columns (1 / _ROOM) that is empty at each end of a chart with dots, so that none lies on the frame."""
_MARK_GLYPHS = {"nan": "NaN", "infinity": "Inf"}


class PlotLine(Struct, frozen=True):
    """A curve."""

    label: str
    role: str
    path: str
    dots: str
    """Path of zero-length strokes whose round caps are dots; "" if points are not marked."""
    filled: bool
    """True if the path is the border of an area."""
    behind: bool
    """True if the curve is the background of the others."""

    @property
    def depth(self) -> int:
        """Drawing order: curves of lower depth hide those of higher depth."""
        return self.filled + 2 * self.behind


class PlotMark(Struct, frozen=True):
    """An event. x: position from 0 (left) to 1 (right)."""

    x: float
    kind: str
    label: str


class Plot(Struct, frozen=True):
    """A chart."""

    columns: int
    x: Axis
    y: Axis
    lines: tuple[PlotLine, ...]
    x_ticks: tuple[tuple[float, str], ...]
    """(position from 0 to 1, label)."""
    y_ticks: tuple[tuple[float, str], ...]
    """(position from 0 at the top to 1, label)."""
    marks: tuple[PlotMark, ...]
    room: int = 0
    """Number of `columns` at each end that are outside the limits of `x`."""

    @property
    def drawn(self) -> list[PlotLine]:
        """The curves in drawing order: the first curve is drawn last, on top of the others."""
        return sorted(self.lines, key=lambda line: line.depth)[::-1]

    @property
    def named(self) -> list[PlotLine]:
        """The curves that appear in the legend."""
        return [line for line in self.lines if line.label]


def plot_of(view: ChartView) -> Plot:
    """Return the geometry of a chart."""
    inside = max(view.columns, 1)
    room = math.ceil(inside / _ROOM) if any(line.markers for line in view.lines) else 0
    columns = inside + 2 * room

    def place(part: float) -> float:
        return round((room + part * inside) / columns, 4)

    return Plot(
        columns,
        view.x,
        view.y,
        tuple(_line(line, view.y, room) for line in view.lines),
        tuple((place(part), label) for part, label in _ticks(view.x, _X_TICKS)),
        tuple((round(1 - place, 4), label) for place, label in _ticks(view.y, _Y_TICKS)),
        tuple(
            PlotMark(place(_along(mark.x, view.x)), mark.kind, clean(mark.label) or _MARK_GLYPHS.get(mark.kind, ""))
            for mark in view.marks
        ),
        room,
    )


def sparkline(curve: Curve, columns: int = SPARK_COLUMNS) -> str:
    """Return a path of the curve over steps, `columns` wide and GRID high, or "" if nothing can be drawn."""
    limits = curve.limits()
    if limits is None or curve.min is None or curve.max is None:
        return ""
    low, high = (limits[0] - 0.5, limits[1] + 0.5) if limits[0] == limits[1] else limits
    low, high = wide_enough(low, high)
    bottom, top = curve.min.value, curve.max.value
    if bottom == top or not math.isfinite(top - bottom):
        bottom, top = (bottom - 1, top + 1) if bottom == top else (-1e308, 1e308)
    return _path(curve.envelope(low, high, columns), Axis(bottom, top))


def _ticks(axis: Axis, count: int) -> Iterator[tuple[float, str]]:
    for tick, label in axis_ticks(axis, count):
        if 0 <= (place := _along(tick, axis)) <= 1:
            yield place, label


def _along(value: float, axis: Axis) -> float:
    return round(float(unit_height(np.array(value), axis)), 4)


def _line(line: Line, y: Axis, room: int) -> PlotLine:
    envelope = _with_room(line.envelope, room) if room else line.envelope
    dots = "".join(_dots(envelope, y)) if line.markers else ""
    path = _area(envelope, y) if line.filled else _path(envelope, y)
    return PlotLine(clean(line.label), str(line.role), path, dots, line.filled, line.behind)


def _with_room(envelope: Envelope, room: int) -> Envelope:
    """Return the envelope with empty columns at both ends."""
    values = (envelope.low, envelope.high, envelope.first, envelope.last)
    low, high, first, last = (np.pad(own, room, constant_values=np.nan) for own in values)
    return Envelope(low, high, first, last, np.pad(envelope.gap_after, room))


def _area(envelope: Envelope, y: Axis) -> str:
    """Return the border of the area between low and high, closed for each stretch of columns without a gap."""
    low, high = _rows(envelope.low, y), _rows(envelope.high, y)
    there = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    path: list[str] = []
    for columns in np.split(there, np.flatnonzero(np.diff(there) > 1) + 1):
        if not len(columns):
            continue
        above, below = high[columns].astype(int), low[columns].astype(int)
        path.append(f"M{columns[0]} {above[0]}")
        path += [f"l1 {step}" for step in np.diff(above).tolist()]
        path.append(f"h1V{below[-1]}h-1")
        path += [f"l-1 {step}" for step in np.diff(below[::-1]).tolist()]
        path.append("z")
    return "".join(path)


def _rows(values: Floats, y: Axis) -> Floats:
    """Return the vertical positions as integers from 0 (top) to GRID; NaN stays NaN."""
    return np.clip(np.round((1 - unit_height(values, y)) * GRID), -_OUTSIDE, GRID + _OUTSIDE)


def _path(envelope: Envelope, y: Axis) -> str:
    low, high, first, last = (_rows(v, y) for v in (envelope.low, envelope.high, envelope.first, envelope.last))
    path: list[str] = []
    drawing, x_before, y_before = False, 0, 0

    def end_stroke() -> None:
        """Turn a single point into a zero-length stroke: its round cap is a dot."""
        if path and path[-1].startswith("M"):
            path.append("h0")

    columns = np.flatnonzero(np.isfinite(first))
    rows = (values[columns].astype(np.int64).tolist() for values in (first, last, high, low))
    for column, start, end, top, bottom, gap in zip(
        columns.tolist(), *rows, envelope.gap_after[columns].tolist(), strict=True
    ):
        if drawing:
            path.append(f"l{column - x_before} {start - y_before}")
        else:
            end_stroke()
            path.append(f"M{column} {start}")
        row = start
        for stop in (top, bottom, end) if abs(start - top) < abs(start - bottom) else (bottom, top, end):
            if stop != row:
                path.append(f"v{stop - row}")
                row = stop
        drawing, x_before, y_before = not gap, column, row
    end_stroke()
    return "".join(path)


def _dots(envelope: Envelope, y: Axis) -> Iterator[str]:
    for values in (envelope.first, envelope.last):
        rows = _rows(values, y)
        for column in np.flatnonzero(np.isfinite(rows)).tolist():
            if values is envelope.first or envelope.first[column] != envelope.last[column]:
                yield f"M{column} {int(rows[column])}h0"
