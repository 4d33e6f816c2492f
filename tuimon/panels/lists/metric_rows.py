"""Every metric of a run as a row: last, lowest and highest value, recent change, sparkline, number of points, source.

A column is an entry of METRIC_COLUMNS. The column of the values at the cursor is shown only while a cursor is set, and
that of the medians before it only where metrics are compared with their points before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from tuimon.analysis.change import change
from tuimon.analysis.printed_units import meaning_of
from tuimon.draw.numbers import format_number, thousands
from tuimon.draw.rows import fit_row
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._charts.captions import recent_change_row
from tuimon.panels._charts.traces import spark
from tuimon.panels._metrics import curve_or_none, factor_of
from tuimon.store import Curve, Run, Sample
from tuimon.text import cell_width, clean, fit, fit_distinct, fit_name
from tuimon.vocabulary import Meaning, unit_text

_LEAST_NAME = 14
_WANTED_NAME = 35
"""Preferred width of the name: columns whose `drop` is at least _FOR_NAMES are left out to make room for it."""
_FOR_NAMES = 5
_BETWEEN: Span = ("  ", Role.MUTED)
_SIGN = 2
"""Width of the cursor before the first column."""


class _Metric(Struct, frozen=True):
    """A metric with at least one point, as a row."""

    run: Run
    name: str
    curve: Curve
    meaning: Meaning
    factor: float
    symbols: Symbols
    shown: str = ""
    """The name as it is displayed."""
    cursor: int | None = None
    usual: float | None = None
    """Median of the points before the cursor."""

    def number(self, value: float | None, width: int) -> Row:
        """Format a value, with its unit if it fits into `width`: not in "min" and "max", as "last" has it."""
        if value is None:
            return ()
        unit = unit_text(self.meaning.unit)
        text, role = format_number(value * self.factor, unit), Role.VALUE if math.isfinite(value) else Role.CRITICAL
        return ((f"{text} {unit}" if unit and len(text) + 1 + cell_width(unit) <= width else text, role),)

    @property
    def last(self) -> float:
        return float(self.curve.values[-1])

    @property
    def at_cursor(self) -> Sample | None:
        """The point at the cursor, or else the last one before it."""
        return None if self.cursor is None else self.curve.sample_at(self.cursor)

    @property
    def least(self) -> float | None:
        sample = self.curve.min if self.factor > 0 else self.curve.max
        return sample.value if sample else None

    @property
    def most(self) -> float | None:
        sample = self.curve.max if self.factor > 0 else self.curve.min
        return sample.value if sample else None

    @property
    def change(self) -> float:
        recent = change(self.curve.values)
        return math.nan if recent is None else recent.change * self.factor


class MetricColumn(Struct, frozen=True):
    """A column of the list of metrics."""

    id: str
    width: int
    by: Callable[[_Metric], Any]
    """Sort key; rows with None or NaN come last."""
    cell: Callable[[_Metric, int], Row]
    drop: int
    """Columns with the highest number are left out first if there is no room; 0 is never left out."""
    right: bool = True
    down: bool = True
    """Sort in descending order."""


def _recent(metric: _Metric, width: int) -> Row:
    if not math.isfinite(metric.change):
        return ()
    return recent_change_row(metric.curve, metric.meaning, metric.factor, metric.symbols)


def _curve(metric: _Metric, width: int) -> Row:
    line = spark(metric.curve, metric.factor, width, metric.symbols)
    return ((line, Role.SERIES_0),) if line else ()


def _source(metric: _Metric, width: int) -> Row:
    sources = metric.run.provenance(metric.name)
    if not sources:
        return ()
    more = f" +{len(sources) - 1}" if len(sources) > 1 else ""
    return ((fit(clean(sources[0][0]), max(width - len(more), 1), keep="end") + more, Role.MUTED),)


def _name(metric: _Metric, width: int) -> Row:
    """Return the name, with a sign if two sources have different values."""
    name = metric.shown or clean(metric.name)
    if metric.curve.disagreement is None:
        return ((fit_name(name, width), Role.TEXT),)
    sign = "!=" if metric.symbols is Symbols.ASCII else "≠"
    return (fit_name(name, max(width - len(sign) - 1, 1)), Role.TEXT), (f" {sign}", Role.WARNING)


def _at(metric: _Metric, width: int) -> Row:
    """Return the value at the cursor, with the step of its point if none was logged at the cursor's."""
    sample = metric.at_cursor
    if sample is None:
        return (("-", Role.MUTED),)
    if metric.curve.ordinal or sample.step == metric.cursor:
        return metric.number(sample.value, width)
    place = f" @ {sample.step}"
    return (*metric.number(sample.value, width - len(place)), (place, Role.MUTED))


def _value_at(metric: _Metric) -> float | None:
    sample = metric.at_cursor
    return None if sample is None else sample.value * metric.factor


METRIC_COLUMNS = (
    MetricColumn("metric", 0, lambda m: m.name.lower(), _name, 0, right=False, down=False),
    MetricColumn("at", 16, _value_at, _at, 0),
    MetricColumn("before", 12, lambda m: m.usual and m.usual * m.factor, lambda m, width: m.number(m.usual, width), 0),
    MetricColumn("last", 12, lambda m: m.last * m.factor, lambda m, width: m.number(m.last, width), 0),
    MetricColumn("recent", 11, lambda m: m.change, _recent, 3, right=False),
    MetricColumn("min", 10, lambda m: m.least, lambda m, width: m.number(m.least, 0), 4, down=False),
    MetricColumn("max", 10, lambda m: m.most, lambda m, width: m.number(m.most, 0), 4),
    MetricColumn("curve", 12, lambda m: len(m.curve), _curve, 1, right=False),
    MetricColumn("points", 8, lambda m: len(m.curve), lambda m, width: ((thousands(len(m.curve)), Role.MUTED),), 6),
    MetricColumn("source", 16, lambda m: m.run.provenance(m.name)[:1], _source, 5, right=False, down=False),
)
MetricWidths = tuple[tuple[MetricColumn, int], ...]


def metric_sorts(cursor: int | None = None) -> tuple[str, ...]:
    """Return the orders of the list: "relevance" and the columns. cursor: step of the cursor, or None."""
    return ("relevance", *(column.id for column in _columns(cursor, False)))


def _columns(cursor: int | None, with_before: bool) -> list[MetricColumn]:
    shown = {"at": cursor is not None, "before": with_before}
    return [column for column in METRIC_COLUMNS if shown.get(column.id, True)]


def metric_layout(
    width: int, longest: int = _LEAST_NAME, cursor: int | None = None, with_before: bool = False
) -> MetricWidths:
    """Return the columns that fit into `width` cells, with their widths; name and curve share the remaining cells.

    longest: width of the longest name. The columns `points` and `source` are left out if names would not fit. cursor:
    step of the cursor, or None. with_before: with the medians before the cursor.
    """
    columns = _columns(cursor, with_before)
    while True:
        taken = _SIGN + sum(column.width + 2 for column in columns if column.id != "metric")
        droppable = [column for column in columns if column.drop or (column.id == "last" and cursor is not None)]
        wanted = min(longest, _WANTED_NAME) if any(column.drop >= _FOR_NAMES for column in columns) else _LEAST_NAME
        if taken + max(wanted, _LEAST_NAME) <= width or not droppable:
            break
        columns.remove(max(droppable, key=lambda column: column.drop))
    left = max(width - taken, 1)
    name = min(left, max(left * 2 // 3, 24, min(longest, _WANTED_NAME)))
    more = {"metric": name, "curve": 12 + left - name}
    if all(column.id != "curve" for column in columns):
        more["metric"] = left
    return tuple((column, more.get(column.id, column.width)) for column in columns)


def metric_head(
    widths: MetricWidths, sort: str, reverse: bool, symbols: Symbols, width: int, cursor: int | None = None
) -> Row:
    """Return the headings of the columns, with an arrow at the sort column."""
    down, up = ("v", "^") if symbols is Symbols.ASCII else ("▾", "▴")
    spans: list[Span] = [(" " * _SIGN, Role.MUTED)]
    for column, cells in widths:
        sorted_by = column.id == sort
        text = f"at {cursor}" if column.id == "at" else column.id
        text += (down if column.down != reverse else up) if sorted_by else ""
        placed = fit(text.rjust(cells) if column.right else text, cells)
        spans += [(placed, Role.ACCENT if sorted_by else Role.MUTED), _BETWEEN]
    return fit_row(spans[:-1], width)


def metric_names(names: Sequence[str], widths: MetricWidths) -> list[str]:
    """Return the names as the rows display them: those that are cut stay distinct."""
    cells = next(cells for column, cells in widths if column.id == "metric")
    return fit_distinct([clean(name) for name in names], cells)


def metric_row(
    run: Run,
    name: str,
    widths: MetricWidths,
    selected: bool,
    symbols: Symbols,
    width: int,
    marked: bool = False,
    cursor: int | None = None,
    shown: str = "",
    usual: float | None = None,
) -> Row:
    """Return the row of a metric; only its name if it has no points.

    usual: median before the cursor, if it has a column. shown: the name as it is displayed, see `metric_names`; "" for
    the name itself, cut if it does not fit.
    """
    sign = (">" if symbols is Symbols.ASCII else "▸") if selected else " "
    mark = ("*" if symbols is Symbols.ASCII else "●") if marked else " "
    spans: list[Span] = [(f"{sign}{mark}", Role.ACCENT)]
    metric = _metric(run, name, symbols, shown, cursor, usual)
    for column, cells in widths:
        row = fit_row(column.cell(metric, cells) if metric else ((shown or clean(name), Role.MUTED),), cells)
        if column.right:
            row = _aligned_right(row, cells)
        if selected and column.id == "metric":
            row = tuple((text, Role.ACCENT if role is Role.TEXT else role) for text, role in row)
        spans += [*row, _BETWEEN]
        if metric is None:
            break
    return fit_row(spans[:-1], width)


def _aligned_right(row: Row, cells: int) -> Row:
    text = "".join(part for part, _ in row)
    blanks = len(text) - len(text.rstrip(" "))
    if not blanks:
        return row
    *front, (last, role) = row
    return ((" " * blanks, Role.MUTED), *front, (last[: len(last) - blanks], role))


def sort_metrics(
    run: Run,
    names: Sequence[str],
    sort: str,
    reverse: bool,
    cursor: int | None = None,
    usual: Mapping[str, float] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Sort metrics by a column; those with unknown values come last, and the sort is stable.

    usual: metric -> median before the cursor."""
    column = next((column for column in METRIC_COLUMNS if column.id == sort), None)
    if column is None:
        return tuple(reversed(names) if reverse else names)
    keys: dict[str, Any] = {}
    for name in names:
        metric = _metric(run, name, Symbols.BRAILLE, cursor=cursor, usual=usual.get(name))
        key = column.by(metric) if metric else None
        if key is not None and key == key:
            keys[name] = key
    known = sorted(keys, key=keys.__getitem__, reverse=column.down != reverse)
    return (*known, *(name for name in names if name not in keys))


def _metric(
    run: Run, name: str, symbols: Symbols, shown: str = "", cursor: int | None = None, usual: float | None = None
) -> _Metric | None:
    curve = curve_or_none(run, name)
    if curve is None:
        return None
    meaning = meaning_of(run, name)
    return _Metric(run, name, curve, meaning, factor_of(meaning, curve), symbols, shown, cursor, usual)
