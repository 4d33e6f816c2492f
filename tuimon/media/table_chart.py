"""Charts of tables: what wandb.plot draws, and any table of one or two columns of numbers.

wandb.plot logs a chart as a table (wandb 0.31, wandb/plot/*.py). The columns of its charts are: line_series: step,
lineKey, lineVal; roc_curve: class, fpr, tpr; pr_curve: class, precision, recall; confusion_matrix: Actual, Predicted,
nPredictions; bar: a label and a number; histogram: a number; line and scatter: two numbers, of which the first is drawn
to the right. Charts of SwanLab are tables of the same kinds, see `echarts`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tuimon.draw import render
from tuimon.draw.numbers import format_exact
from tuimon.draw.rows import fit_row
from tuimon.media.echarts import SERIES
from tuimon.media.tables import Table
from tuimon.model.points import Floats
from tuimon.model.views import SERIES_ROLES, Axis, ChartView, Envelope, Line, Role, Row, Size, Symbols
from tuimon.text import clean, fit

_PRESETS = {
    frozenset({"step", "lineKey", "lineVal"}): ("lineKey", "step", "lineVal"),
    frozenset({"class", "fpr", "tpr"}): ("class", "fpr", "tpr"),
    frozenset({"class", "precision", "recall"}): ("class", "recall", "precision"),
}
"""Columns -> (column that separates the lines, x, y)."""
_MATRICES = (("Actual", "Predicted", "nPredictions"), ("Ground truth", "Prediction", "Confusion Matrix"))
"""Columns of the confusion matrices of W&B and SwanLab."""
_MARKED = 64
"""Maximum number of points of a line that are marked."""
_MOST_BARS = 40
_BINS = 20
LEAST = Size(30, 6)
"""Minimum size of a chart."""


def chart_rows(table: Table, size: Size, symbols: Symbols) -> list[Row]:
    """Return a chart of the rows of a table, at most `size` large; [] if its columns cannot be drawn."""
    if size.width < LEAST.width or size.height < LEAST.height or not table.rows:
        return []
    return [fit_row(row, size.width) for row in _chart(table, size, symbols)]


def _chart(table: Table, size: Size, symbols: Symbols) -> list[Row]:
    columns = table.columns
    if columns in _MATRICES:
        return _matrix(table, size)
    preset = _PRESETS.get(frozenset(columns))
    if preset is not None and len(columns) == 3:
        return _lines(table, preset, size, symbols)
    numeric = [
        _is_numeric(row[index] if index < len(row) else None for row in table.rows) for index in range(len(columns))
    ]
    if columns[0] == SERIES and numeric == [False, True, True]:
        return _lines(table, (SERIES, columns[1], columns[2]), size, symbols)
    if numeric == [True, True]:
        return _lines(table, ("", columns[0], columns[1]), size, symbols)
    if numeric == [False, True] and len(table.rows) <= _MOST_BARS:
        pairs = [(str(row[0]), _number(row[1])) for row in table.rows if len(row) > 1]
        return _bars(pairs, clean(columns[1]), size, symbols)
    if numeric == [True]:
        return _histogram(table, size, symbols)
    return []


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


def _bars(pairs: list[tuple[str, float]], title: str, size: Size, symbols: Symbols) -> list[Row]:
    """Draw a horizontal bar for each number; negative ones have a bar of their size, too, as the number names the
    sign."""
    block = "#" if symbols is Symbols.ASCII else "█"
    listed = pairs[: size.height - 1]
    names = min(max((len(clean(name, 40)) for name, _ in listed), default=0), size.width // 3)
    texts = [format_exact(value, 10) for _, value in listed]
    numbers = max(map(len, texts), default=0)
    room = size.width - names - numbers - 3
    largest = max((abs(value) for _, value in listed if math.isfinite(value)), default=0.0) or 1.0
    rows: list[Row] = [((f" {title}", Role.TITLE),)]
    for (name, value), text in zip(listed, texts, strict=True):
        length = round(abs(value) / largest * room) if math.isfinite(value) else 0
        rows.append(
            (
                (f" {fit(clean(name, 40), names)} ", Role.MUTED),
                (text.rjust(numbers) + " ", Role.VALUE),
                (block * length, Role.SERIES_0),
            )
        )
    return rows


def _histogram(table: Table, size: Size, symbols: Symbols) -> list[Row]:
    values = np.array([_number(row[0]) for row in table.rows if row])
    values = values[np.isfinite(values)]
    if not len(values):
        return []
    counts, edges = np.histogram(values, min(_BINS, size.height - 1))
    pairs = [
        (f"{format_exact(float(low), 8)} to {format_exact(float(high), 8)}", float(count))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    return _bars(pairs, f"{clean(table.columns[0], 60)}, {len(values)} values", size, symbols)


def _matrix(table: Table, size: Size) -> list[Row]:
    """Show a confusion matrix: a row for each actual class, a column for each predicted one."""
    counts = {(str(a), str(p)): _number(n) for a, p, n in (row for row in table.rows if len(row) == 3)}
    classes = list(dict.fromkeys(name for pair in counts for name in pair))
    names = min(max(len(clean(name, 40)) for name in classes), size.width // 4)
    cell = max(8, min(names, 12))
    room = max((size.width - names - 3) // (cell + 1), 1)
    shown = classes[: min(room, size.height - 2)]
    head = "".join(f" {fit(clean(name, 40), cell).rstrip().rjust(cell)}" for name in shown)
    left = len(classes) - len(shown)
    title = " actual class by predicted class" + (f", {left} classes are not shown" if left else "")
    rows: list[Row] = [((title, Role.TITLE),), ((" " * (names + 1) + head, Role.ACCENT),)]
    for actual in shown:
        cells = [
            (f" {format_exact(counts.get((actual, p), 0.0), cell):>{cell}}", Role.VALUE if p == actual else Role.TEXT)
            for p in shown
        ]
        rows.append(((f" {fit(clean(actual, 40), names)}", Role.MUTED), *cells))
    return rows
