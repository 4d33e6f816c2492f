"""The geometry of a chart as SVG has it: paths, ticks, marks. Only numbers are made here; the template writes the text.

A line is drawn from its envelope: in each column a stroke from the lowest to the highest value of the points in it, and
from its last value on to the first of the next. So what is drawn of a million points is what a million strokes would
show. Paths are of whole numbers in a grid of one unit a column and GRID units of height, which keeps them short.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tuimon.draw.ticks import axis_ticks
from tuimon.model.points import Floats
from tuimon.model.views import Axis, ChartView, Envelope, Line
from tuimon.store import Curve
from tuimon.text import clean

GRID = 1000
_OUTSIDE = GRID // 20
"""A value outside the limits is drawn so far outside the frame: cut off, but not lost."""
_X_TICKS = 6
_Y_TICKS = 5
_MARK_GLYPHS = {"nan": "NaN", "infinity": "Inf"}


class PlotLine(Struct, frozen=True):
    """One curve."""

    label: str
    role: str
    path: str
    dots: str
    """A path of points without length, for a round cap; "" where points are not marked."""
    filled: bool
    """True: the path is the border of an area."""
    behind: bool
    """True: it is only the background of the others."""

    @property
    def depth(self) -> int:
        """Where it is drawn: what has less hides what has more."""
        return self.filled + 2 * self.behind


class PlotMark(Struct, frozen=True):
    """Something that happened at x, 0 … 1 from left to right."""

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
    """(place 0 … 1, label)."""
    y_ticks: tuple[tuple[float, str], ...]
    """(place 0 … 1 from the top, label)."""
    marks: tuple[PlotMark, ...]

    @property
    def drawn(self) -> list[PlotLine]:
        """The lines in the order in which they are drawn, the leading one last: it lies above all others."""
        places = sorted(range(len(self.lines)), key=lambda at: (-self.lines[at].depth, -at))
        return [self.lines[at] for at in places]

    @property
    def named(self) -> list[PlotLine]:
        """Those that a legend has."""
        return [line for line in self.lines if line.label]


def plot_of(view: ChartView) -> Plot:
    """What is drawn of a chart's view."""
    return Plot(
        max(view.columns, 1),
        view.x,
        view.y,
        tuple(_line(line, view.y) for line in view.lines),
        tuple(_ticks(view.x, _X_TICKS)),
        tuple((round(1 - place, 4), label) for place, label in _ticks(view.y, _Y_TICKS)),
        tuple(
            PlotMark(_along(mark.x, view.x), mark.kind, clean(mark.label) or _MARK_GLYPHS.get(mark.kind, ""))
            for mark in view.marks
        ),
    )


def sparkline(curve: Curve, columns: int) -> str:
    """A curve by step as the path of a small picture, `columns` wide and GRID high; "" where nothing can be drawn."""
    limits = curve.limits()
    if limits is None or curve.min is None or curve.max is None:
        return ""
    low, high = limits
    if low == high:
        low, high = low - 0.5, high + 0.5
    bottom, top = curve.min.value, curve.max.value
    if bottom == top or not math.isfinite(top - bottom):
        bottom, top = (bottom - 1, top + 1) if bottom == top else (-1e308, 1e308)
    return _path(curve.envelope(low, high, columns), Axis(bottom, top))


def _ticks(axis: Axis, count: int) -> Iterator[tuple[float, str]]:
    for tick, label in axis_ticks(axis, count):
        if 0 <= (place := _along(tick, axis)) <= 1:
            yield place, label


def _along(value: float, axis: Axis) -> float:
    if axis.scale == "log":
        low, high = math.log10(axis.low), math.log10(axis.high)
        return round((math.log10(value) - low) / (high - low), 4) if value > 0 else -1.0
    return round((value / 2 - axis.low / 2) / (axis.high / 2 - axis.low / 2), 4)


def _line(line: Line, y: Axis) -> PlotLine:
    dots = "".join(_dots(line.envelope, y)) if line.markers else ""
    path = _area(line.envelope, y) if line.filled else _path(line.envelope, y)
    return PlotLine(clean(line.label), str(line.role), path, dots, line.filled, line.behind)


def _area(envelope: Envelope, y: Axis) -> str:
    """The closed border of what lies between low and high, a piece for each stretch of columns without a gap."""
    low, high = _rows(envelope.low, y), _rows(envelope.high, y)
    there = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    found: list[str] = []
    for columns in np.split(there, np.flatnonzero(np.diff(there) > 1) + 1):
        if not len(columns):
            continue
        above, below = high[columns].astype(int), low[columns].astype(int)
        found.append(f"M{columns[0]} {above[0]}")
        found += [f"l1 {step}" for step in np.diff(above).tolist()]
        found.append(f"h1V{below[-1]}h-1")
        found += [f"l-1 {step}" for step in np.diff(below[::-1]).tolist()]
        found.append("z")
    return "".join(found)


def _rows(values: Floats, y: Axis) -> Floats:
    """Whole numbers from 0 (top) to GRID; NaN stays."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if y.scale == "log":
            low, high = math.log10(y.low), math.log10(y.high)
            part = (np.log10(values) - low) / (high - low)
        else:
            part = (values / 2 - y.low / 2) / (y.high / 2 - y.low / 2)
    return np.clip(np.round((1 - part) * GRID), -_OUTSIDE, GRID + _OUTSIDE)


def _path(envelope: Envelope, y: Axis) -> str:
    low, high, first, last = (_rows(v, y) for v in (envelope.low, envelope.high, envelope.first, envelope.last))
    found: list[str] = []
    drawing, x_before, y_before = False, 0, 0

    def ended() -> None:
        """A single point is a stroke without length: its round cap is a dot."""
        if found and found[-1].startswith("M"):
            found.append("h0")

    for column in np.flatnonzero(np.isfinite(first)).tolist():
        start, end = int(first[column]), int(last[column])
        if drawing:
            found.append(f"l{column - x_before} {start - y_before}")
        else:
            ended()
            found.append(f"M{column} {start}")
        at = start
        top, bottom = int(high[column]), int(low[column])
        for stop in (top, bottom, end) if abs(start - top) < abs(start - bottom) else (bottom, top, end):
            if stop != at:
                found.append(f"v{stop - at}")
                at = stop
        drawing, x_before, y_before = not envelope.gap_after[column], column, at
    ended()
    return "".join(found)


def _dots(envelope: Envelope, y: Axis) -> Iterator[str]:
    for values in (envelope.first, envelope.last):
        rows = _rows(values, y)
        for column in np.flatnonzero(np.isfinite(rows)).tolist():
            if values is envelope.first or envelope.first[column] != envelope.last[column]:
                yield f"M{column} {int(rows[column])}h0"
