"""Charts of tables: the lines that wandb.plot draws, and any table of two columns of numbers.

wandb.plot logs a chart as a table (wandb 0.31, wandb/plot/*.py). The columns of its lines are: line_series: step,
lineKey, lineVal; roc_curve: class, fpr, tpr; pr_curve: class, precision, recall; line and scatter: two numbers, of
which the first is drawn to the right. Charts of SwanLab are tables of the same kinds, see `echarts`. Bars, histograms
and confusion matrices are shown as the rows of their table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tuimon.draw import render
from tuimon.draw.rows import fit_row
from tuimon.media.echarts import SERIES
from tuimon.media.tables import Table
from tuimon.model.points import Floats
from tuimon.model.views import SERIES_ROLES, Axis, ChartView, Envelope, Line, Role, Row, Size, Symbols
from tuimon.text import clean

_PRESETS = {
    frozenset({"step", "lineKey", "lineVal"}): ("lineKey", "step", "lineVal"),
    frozenset({"class", "fpr", "tpr"}): ("class", "fpr", "tpr"),
    frozenset({"class", "precision", "recall"}): ("class", "recall", "precision"),
}
"""Columns -> (column that separates the lines, x, y)."""
_MARKED = 64
"""Maximum number of points of a line that are marked."""
LEAST = Size(30, 6)
"""Minimum size of a chart."""


def chart_rows(table: Table, size: Size, symbols: Symbols, columns: tuple[str, str, str] | None = None) -> list[Row]:
    """Return a chart of the rows of a table, at most `size` large; [] if its columns cannot be drawn.

    columns: the ones that separate the lines, and go to the right and up; by their names and values if None.
    """
    if size.width < LEAST.width or size.height < LEAST.height or not table.rows:
        return []
    lines = columns or _columns_of(table)
    return [fit_row(row, size.width) for row in _lines(table, lines, size, symbols)] if lines else []


def _columns_of(table: Table) -> tuple[str, str, str] | None:
    """Return (column that separates the lines or "", x, y); None if the columns cannot be drawn."""
    columns = table.columns
    if preset := _PRESETS.get(frozenset(columns)):
        return preset
    numeric = [
        _is_numeric(row[index] if index < len(row) else None for row in table.rows) for index in range(len(columns))
    ]
    if columns[0] == SERIES and numeric == [False, True, True]:
        return SERIES, columns[1], columns[2]
    return ("", columns[0], columns[1]) if numeric == [True, True] else None


def _is_numeric(values: Iterable[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _lines(table: Table, preset: tuple[str, str, str], size: Size, symbols: Symbols) -> list[Row]:
    """Draw y against x, a line for each value of the column that separates them."""
    key, x, y = (table.columns.index(name) if name else -1 for name in preset)
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        if len(row) == len(table.columns):
            point = _number(row[x]), _number(row[y])
            line = lines.setdefault(clean(str(row[key]), 40) if key >= 0 else "", [])
            line += [point] if all(map(math.isfinite, point)) else []
    points = np.array([point for line in lines.values() for point in line])
    if not len(points):
        return []
    across, up = _axis(points[:, 0], clean(preset[1], 40)), _axis(points[:, 1], "")
    columns = size.width * 2
    drawn = tuple(
        _line(name, role, line, across, columns)
        for (name, line), role in zip(lines.items(), SERIES_ROLES, strict=False)
    )
    left = len(lines) - len(drawn)
    notes = [f"{left} more lines are not drawn"] if left else []
    if table.count > len(table.rows):
        notes.append(f"the first {len(table.rows)} of {table.count} rows")
    view = ChartView(clean(preset[2], 60), (), across, up, drawn, columns=columns, notes=tuple(notes))
    return list(render(view, size, symbols))


def _axis(values: Floats, label: str) -> Axis:
    low, high = float(values.min()), float(values.max())
    if not high > low:
        low, high = low - 0.5, high + 0.5
    return Axis(low, high, label=label)


def _line(name: str, role: Role, points: list[tuple[float, float]], axis: Axis, columns: int) -> Line:
    """Reduce the points of a line to the columns of the chart. Points that are neither in ascending order nor, as the
    recall of rising thresholds, in descending order are only marked: they are a scatter plot."""
    x, y = np.array(points).reshape(-1, 2).T
    if (np.diff(x) <= 0).all():
        x, y = x[::-1], y[::-1]
    bins = np.minimum(((x - axis.low) / (axis.high - axis.low) * columns).astype(np.int64), columns - 1)
    low, high, first, last = (np.full(columns, np.nan) for _ in range(4))
    np.fmin.at(low, bins, y)
    np.fmax.at(high, bins, y)
    first[bins[::-1]], last[bins] = y[::-1], y
    ascending = bool((np.diff(x) >= 0).all())
    gaps = np.zeros(columns) if ascending else np.ones(columns)
    envelope = Envelope(low, high, first, last, gaps)
    return Line(name, role, envelope, markers=not ascending or len(x) <= _MARKED)
