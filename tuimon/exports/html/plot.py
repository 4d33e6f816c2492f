"""The SVG geometry of a chart: paths, ticks and marks. The template writes the texts.

A curve is drawn from its envelope: in each column a stroke from the minimum to the maximum of its points, and a line
from its last value to the first value of the next column. The picture is therefore the same as if every point were
drawn. Path coordinates are integers, one unit per column and GRID units high, which keeps paths short.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.draw.heat import level
from tuimon.draw.numbers import format_value, nonfinite
from tuimon.draw.raster import unit_height
from tuimon.draw.ticks import axis_ticks, power_label
from tuimon.exports.pictures import polyline
from tuimon.model.points import Floats
from tuimon.model.views import SERIES_ROLES, Axis, ChartView, Envelope, HeatView, Line, Mark, Size
from tuimon.store import Curve, Run
from tuimon.store.envelope import wide_enough
from tuimon.text import clean

GRID = 1000
"""Height of a chart in path units."""
_OUTSIDE = GRID // 20
"""Path units by which a value outside the axis limits is drawn outside the frame."""
SPARK_COLUMNS = 70
"""Columns of the small curve of a metric."""
_SINGLE = re.compile(r"(M[^Mlv]+)(?=M|$)")
"""A point without a line: as a stroke of no length, whose round caps are a dot."""
_WIDTHS = ("", " thick", " thin")
"""Classes of lines: the next one follows when the colours are used up."""
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


def plot_lines(view: ChartView) -> list[PlotLine]:
    """Return the curves of a chart, in its order."""
    widths = iter([width for width in _WIDTHS for _ in SERIES_ROLES])
    return [_line(line, view.y, "" if line.behind else next(widths, "")) for line in view.lines]


def plot_ticks(axis: Axis, count: int) -> list[tuple[float, str]]:
    """Return (position from 0 to 1, label) of about `count` ticks of an axis."""
    placed = ((_along(tick, axis), label) for tick, label in axis_ticks(axis, count))
    return [(place, label) for place, label in placed if 0 <= place <= 1]


def plot_marks(view: ChartView) -> list[Mark]:
    """Return the marks of a chart. Their `x` is a position from 0 (left) to 1 (right)."""
    return [
        Mark(_along(mark.x, view.x), mark.kind, clean(mark.label) or _MARK_GLYPHS.get(mark.kind, ""))
        for mark in view.marks
    ]


def spoken(view: ChartView) -> str:
    """Return the description of a chart for screen readers."""
    names = ", ".join(clean(line.label) for line in view.lines if line.label)
    low, high = (power_label(float(f"{limit:.4g}")) for limit in (view.y.low, view.y.high))
    values = f"values from {low} to {high} {clean(view.unit)}".rstrip()
    return f"{clean(view.title)}: chart, {names or 'one curve'}, {values}"


def lacks_unit(view: ChartView) -> bool:
    """Return whether the headline does not contain the unit. Then it follows the title."""
    unit = clean(view.unit)
    return bool(unit) and not any(clean(text).endswith(f" {unit}") for text, _ in view.headline)


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


def _along(value: float, axis: Axis) -> float:
    return round(float(unit_height(np.array(value), axis)), 4)


def _line(line: Line, y: Axis, width: str) -> PlotLine:
    dots = "".join(_dots(line.envelope, y)) if line.markers else ""
    path = _area(line.envelope, y) if line.filled else _path(line.envelope, y)
    return PlotLine(clean(line.label), line.role + width, path, dots, line.filled, line.behind)


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
    placed = Envelope(low, high, first, last, envelope.gap_after)
    columns, rows = polyline(np.arange(len(low), dtype=np.float64), placed)
    gaps = np.isnan(rows)
    path: list[str] = []
    x_before, y_before = -1, 0
    whole = (columns.astype(np.int64).tolist(), np.where(gaps, 0, rows).astype(np.int64).tolist())
    for x, row, is_gap in zip(*whole, gaps.tolist(), strict=True):
        if is_gap:
            x_before = -1
            continue
        if x_before < 0:
            path.append(f"M{x} {row}")
        else:
            path.append(f"v{row - y_before}" if x == x_before else f"l{x - x_before} {row - y_before}")
        x_before, y_before = x, row
    return _SINGLE.sub(r"\1h0", "".join(path))


def _dots(envelope: Envelope, y: Axis) -> Iterator[str]:
    for values in (envelope.first, envelope.last):
        rows = _rows(values, y)
        for column in np.flatnonzero(np.isfinite(rows)).tolist():
            if values is envelope.first or envelope.first[column] != envelope.last[column]:
                yield f"M{column} {int(rows[column])}h0"


_FINE = 1000
"""Columns of a chart: about the pixels of a wide one."""
_FEW_POINTS = 300_000
"""Number of points of all runs of a page up to which charts have that many columns: about 3 MB."""
TABLE_SIZE = Size(200, 60)
"""Size that panels with a table are asked for: enough for the whole table."""


def columns_for(runs: Iterable[Run], columns: int) -> int:
    """Return the number of columns of the charts of a page.

    A wide chart has about a thousand pixels: so many columns keep all points apart. `columns` are used instead if the
    runs have so many points that the page would be large.
    """
    return _FINE if sum(run.point_count for run in runs) <= _FEW_POINTS else columns


def with_metric_names(view: ChartView) -> ChartView:
    """Return the chart of one run with the logged name of each curve in the legend: "train (critic/score/mean)"."""
    names = [line.metric for line in view.lines if line.metric and not line.behind]
    if names == [view.title]:
        return view
    lines = (
        replace(line, label=f"{line.label} ({line.metric})" if line.label not in ("", line.metric) else line.metric)
        if line.metric and not line.behind
        else line
        for line in view.lines
    )
    return replace(view, lines=tuple(lines))


def heat_cells(view: HeatView, row: int) -> Iterator[tuple[str, str]]:
    """Yield (text, role) of the cells of a row: percentages, with the second value after a slash."""
    for column in range(len(view.columns)):
        value = view.cells[row][column]
        second = view.second[row][column] if view.second else None
        if value is None:
            yield "–", "absent"
        else:
            yield _percent(value) + (f" / {_percent(second)}" if second is not None else ""), str(level(value))


def _percent(value: float) -> str:
    return f"{value:.0%}" if abs(value) < 1e6 else format_value(value) if value == value else nonfinite(value)
