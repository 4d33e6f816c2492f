"""Scatter plots: every point has its dot, also where several points share a column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.draw.chart import plot_cells, plot_columns, render_chart
from tuimon.draw.raster import glyphs
from tuimon.model.points import Floats, Steps
from tuimon.model.views import Axis, ChartView, Envelope, Line, Role, Row, Rows, Size, Symbols

_MARKED = 64
"""Maximum number of points that are drawn as large dots."""


class Points(Struct, frozen=True, eq=False):
    """Points of one colour. x and y are finite and have the same length."""

    label: str
    role: Role
    x: Floats
    y: Floats


def render_scatter(
    title: str, headline: Row, labels: tuple[str, str], groups: Sequence[Points], size: Size, symbols: Symbols
) -> Rows:
    """Return the rows of a scatter plot. labels: names of x and y; groups: the first one is drawn on top."""
    x, y = np.concatenate([group.x for group in groups]), np.concatenate([group.y for group in groups])
    if not len(x):
        return ((),) * size.height
    across, up = _axis(x, labels[0]), _axis(y, labels[1])
    columns, rows = plot_columns(size.width, symbols), plot_cells(size)[1] * glyphs(symbols).rows
    markers = len(x) <= _MARKED
    lines = tuple(line for group in groups for line in _lines(group, across, up, columns, max(rows, 1), markers))
    view = ChartView(title, headline, across, up, lines, columns=columns)
    return render_chart(view, size, symbols)


def _axis(values: Floats, label: str) -> Axis:
    low, high = float(values.min()), float(values.max())
    if not high > low:
        margin = abs(low) / 2 or 0.5
        low, high = low - margin, high + margin
    return Axis(low, high, label=label)


def _lines(group: Points, across: Axis, up: Axis, columns: int, rows: int, markers: bool) -> list[Line]:
    """Return lines that together cover the dots of the points: a line has one stretch of dots without a gap in each
    column, and the next stretches of the column are in further lines."""
    place = _dots(group.x, across, columns) * (rows + 1) + _dots(group.y, up, rows)  # neighbours are in one column
    order = np.lexsort((group.y, place))
    place, values = place[order], group.y[order]
    begins = np.flatnonzero(np.diff(place, prepend=-2) > 1)
    ends = np.append(begins[1:], len(place)) - 1
    column = place[begins] // (rows + 1)
    layer = np.arange(len(column)) - np.searchsorted(column, column)
    lines: list[Line] = []
    for number in range(int(layer.max(initial=-1)) + 1):
        low, high = np.full(columns, np.nan), np.full(columns, np.nan)
        chosen = layer == number
        low[column[chosen]], high[column[chosen]] = values[begins[chosen]], values[ends[chosen]]
        envelope = Envelope(low, high, low, high, np.ones(columns))
        lines.append(Line("" if number else group.label, group.role, envelope, markers=markers))
    return lines


def _dots(values: Floats, axis: Axis, count: int) -> Steps:
    return np.minimum(((values - axis.low) / (axis.high - axis.low) * count).astype(np.int64), count - 1)
