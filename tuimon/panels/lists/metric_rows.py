"""Every metric of a run as a row: its last, lowest and highest value, where it goes, its curve, where it comes from.

Only the rows that are asked for are made; a column is a line of METRIC_COLUMNS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from tuimon.draw.numbers import format_value, thousands
from tuimon.draw.rows import fit_row
from tuimon.draw.spark import spark_columns, sparkline
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._chart import factor_of
from tuimon.panels._headline import in_context, recent_change
from tuimon.panels._select import curve_or_none
from tuimon.panels._text import change_span, unit_text
from tuimon.panels._traces import scaled
from tuimon.store import Curve, Run
from tuimon.text import cell_width, clean, fit
from tuimon.vocabulary import Meaning, classify

_LEAST_NAME = 14
_WANTED_NAME = 35
"""Cells of a name for which there is room before …"""
_FOR_NAMES = 5
"""… there is for the columns that are dropped from here on."""
_STILL = 0.005
"""A change of less than this part of all that a curve has covered is none."""
_BETWEEN: Span = ("  ", Role.MUTED)
_SIGN = 2
"""Cells before the first column."""


class _Told(Struct, frozen=True):
    """A metric and what is known of it."""

    run: Run
    name: str
    curve: Curve
    meaning: Meaning
    factor: float
    symbols: Symbols

    def number(self, value: float | None, width: int) -> Row:
        """With its unit where there is room."""
        if value is None:
            return ()
        text, role = format_value(value * self.factor), Role.VALUE if math.isfinite(value) else Role.CRITICAL
        unit = unit_text(self.meaning.unit)
        return ((f"{text} {unit}" if unit and len(text) + 1 + cell_width(unit) <= width else text, role),)

    @property
    def last(self) -> float:
        return float(self.curve.values[-1])

    @property
    def least(self) -> float | None:
        found = self.curve.min if self.factor > 0 else self.curve.max
        return found.value if found else None

    @property
    def most(self) -> float | None:
        found = self.curve.max if self.factor > 0 else self.curve.min
        return found.value if found else None

    @property
    def moved(self) -> float:
        found = recent_change(self.curve)
        return math.nan if found is None else found * self.factor


class MetricColumn(Struct, frozen=True):
    """One thing that is said of every metric."""

    id: str
    width: int
    by: Callable[[_Told], Any]
    """What it is sorted by; None or NaN is unknown, and comes last."""
    cell: Callable[[_Told, int], Row]
    drop: int
    """Which column goes first where there is no room: the one with the highest number; 0 never."""
    right: bool = True
    down: bool = True
    """The highest first."""


def _trend(told: _Told, width: int) -> Row:
    curve = told.curve
    if not math.isfinite(told.moved) or curve.min is None or curve.max is None:
        return ()
    still = (curve.max.value - curve.min.value) * _STILL * abs(told.factor)
    return (change_span(told.moved, still, in_context(told.run, told.meaning).direction, told.symbols),)


def _curve(told: _Told, width: int) -> Row:
    limits = told.curve.limits()
    if limits is None:
        return ()
    low, high = limits if limits[0] < limits[1] else (limits[0], limits[0] + 1)
    envelope = scaled(told.curve.envelope(low, high, spark_columns(width, told.symbols)), told.factor)
    return ((sparkline(envelope, width, told.symbols), Role.SERIES_0),)


def _source(told: _Told, width: int) -> Row:
    held = told.run.provenance(told.name)
    more = f" +{len(held) - 1}" if len(held) > 1 else ""
    return ((fit(clean(held[0][0]), max(width - len(more), 1), keep="end") + more, Role.MUTED),) if held else ()


def _left(told: _Told, width: int) -> Row:
    return ((fit(clean(told.name), width, keep="end"), Role.TEXT),)


METRIC_COLUMNS = (
    MetricColumn("metric", 0, lambda told: told.name.lower(), _left, 0, right=False, down=False),
    MetricColumn(
        "last", 12, lambda told: told.last * told.factor, lambda told, width: told.number(told.last, width), 0
    ),
    MetricColumn("trend", 11, lambda told: told.moved, _trend, 3, right=False),
    MetricColumn("min", 10, lambda told: told.least, lambda told, width: told.number(told.least, width), 4, down=False),
    MetricColumn("max", 10, lambda told: told.most, lambda told, width: told.number(told.most, width), 4),
    MetricColumn("curve", 12, lambda told: len(told.curve), _curve, 1, right=False),
    MetricColumn(
        "points",
        8,
        lambda told: len(told.curve),
        lambda told, width: ((thousands(len(told.curve)), Role.MUTED),),
        6,
    ),
    MetricColumn("source", 16, lambda told: told.run.provenance(told.name)[:1], _source, 5, right=False, down=False),
)
METRIC_SORTS = ("relevance", *(column.id for column in METRIC_COLUMNS))
MetricWidths = tuple[tuple[MetricColumn, int], ...]


def metric_layout(width: int, longest: int = _LEAST_NAME) -> MetricWidths:
    """The columns that have room in `width` cells, each with its own; what is left is the name's, then the curve's.
    longest: the longest name, in cells, for which the columns go that tell where a metric comes from."""
    columns = list(METRIC_COLUMNS)
    while True:
        taken = _SIGN + sum(column.width + 2 for column in columns if column.id != "metric")
        droppable = [column for column in columns if column.drop]
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


def metric_head(widths: MetricWidths, sort: str, reverse: bool, symbols: Symbols, width: int) -> Row:
    """The heads of the columns; an arrow stands at the one that the list is sorted by."""
    down, up = ("v", "^") if symbols is Symbols.ASCII else ("▾", "▴")
    spans: list[Span] = [(" " * _SIGN, Role.MUTED)]
    for column, cells in widths:
        sorted_by = column.id == sort
        text = column.id + ((down if column.down != reverse else up) if sorted_by else "")
        placed = fit(text.rjust(cells) if column.right else text, cells)
        spans += [(placed, Role.ACCENT if sorted_by else Role.MUTED), _BETWEEN]
    return fit_row(spans[:-1], width)


def metric_row(run: Run, name: str, widths: MetricWidths, selected: bool, symbols: Symbols, width: int) -> Row:
    """The row of a metric; of one without a point, its name."""
    sign = (">" if symbols is Symbols.ASCII else "▸") if selected else " "
    spans: list[Span] = [(f"{sign} ", Role.ACCENT)]
    told = _told(run, name, symbols)
    for column, cells in widths:
        row = fit_row(column.cell(told, cells) if told else ((clean(name), Role.MUTED),), cells)
        if column.right:
            row = _to_the_right(row, cells)
        if selected and column.id == "metric":
            row = tuple((text, Role.ACCENT) for text, _ in row)
        spans += [*row, _BETWEEN]
        if told is None:
            break
    return fit_row(spans[:-1], width)


def _to_the_right(row: Row, cells: int) -> Row:
    text = "".join(part for part, _ in row)
    blanks = len(text) - len(text.rstrip(" "))
    if not blanks:
        return row
    *front, (last, role) = row
    return ((" " * blanks, Role.MUTED), *front, (last[: len(last) - blanks], role))


def metrics_listed(run: Run, names: Sequence[str], sort: str, reverse: bool) -> tuple[str, ...]:
    """The names in the order of a column; what is not known comes last, and equals stay as they were."""
    column = next((column for column in METRIC_COLUMNS if column.id == sort), None)
    if column is None:
        return tuple(reversed(names) if reverse else names)
    keys: dict[str, Any] = {}
    for name in names:
        told = _told(run, name, Symbols.BRAILLE)
        key = column.by(told) if told else None
        if key is not None and key == key:
            keys[name] = key
    known = sorted(keys, key=keys.__getitem__, reverse=column.down != reverse)
    return (*known, *(name for name in names if name not in keys))


def _told(run: Run, name: str, symbols: Symbols) -> _Told | None:
    curve = curve_or_none(run, name)
    if curve is None:
        return None
    meaning = classify(name)
    return _Told(run, name, curve, meaning, factor_of(meaning, curve), symbols)
