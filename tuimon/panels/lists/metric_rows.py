"""Columns of the list of metrics: last, lowest and highest value, recent change, curve, number of points, source."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, TypeAlias

from msgspec.structs import asdict

from tuimon.analysis.change import change
from tuimon.draw.numbers import format_number, thousands
from tuimon.draw.table import KEPT, Column
from tuimon.model.views import Role, Row, Symbols
from tuimon.panels._charts.captions import recent_change_row
from tuimon.panels._charts.traces import spark
from tuimon.panels._metrics import MetricReading, reading_of
from tuimon.store import CurvePoint, Run
from tuimon.text import cell_width, clean, fit, fit_name
from tuimon.vocabulary import unit_text

Value: TypeAlias = "Callable[[_Metric], Any]"
Show: TypeAlias = "Callable[[_Metric, int], Row]"


class _Metric(MetricReading, frozen=True, eq=False):
    """A metric with at least one point, as a row. All values are in the unit of its concept."""

    run: Run
    symbols: Symbols
    cursor: int | None = None

    def number(self, value: float | None, width: int) -> Row:
        """Format a value, with its unit if it fits into `width`: not in "min" and "max", as "last" has it."""
        if value is None:
            return ()
        unit = unit_text(self.meaning.unit)
        text, role = format_number(value, unit), Role.VALUE if math.isfinite(value) else Role.CRITICAL
        return ((f"{text} {unit}" if unit and len(text) + 1 + cell_width(unit) <= width else text, role),)

    def value(self, point: CurvePoint | None) -> float | None:
        """The value of a point."""
        return None if point is None else point.value * self.factor

    @property
    def at_cursor(self) -> CurvePoint | None:
        """The point at the cursor, or else the last one before it."""
        return None if self.cursor is None else self.curve.sample_at(self.cursor)

    @property
    def least(self) -> float | None:
        return self.value(self.curve.min if self.factor > 0 else self.curve.max)

    @property
    def most(self) -> float | None:
        return self.value(self.curve.max if self.factor > 0 else self.curve.min)

    @property
    def change(self) -> float:
        recent = change(self.curve.values)
        return math.nan if recent is None else recent.change * self.factor


def metric_columns(
    run: Run,
    symbols: Symbols,
    cursor: int | None = None,
    usual: Mapping[str, float] | None = None,
    shown: Mapping[str, str] | None = None,
) -> tuple[Column[str], ...]:
    """Return the columns of the metrics of a run, whose rows are their names.

    cursor: step of the cursor, whose values have a column; None without one. usual: metric -> median before the cursor,
    for a column of its own. shown: metric -> its name as it is displayed, for those that have another one.
    """
    metric = lru_cache(maxsize=4096)(partial(_metric, run, symbols, cursor))

    def column(id: str, value: Value, show: Show, least: int, keep: int, **more: Any) -> Column[str]:
        def exact(name: str) -> Any:
            found = metric(name)
            return None if found is None else value(found)

        def cell(name: str, width: int) -> Row:
            found = metric(name)
            return () if found is None else show(found, width)

        return Column(id, more.pop("head", id), exact, cell, least, keep, down=more.pop("down", True), **more)

    def name_cell(name: str, width: int) -> Row:
        return _name(metric(name), (shown or {}).get(name) or clean(name), width)

    def before(metric: _Metric) -> float | None:
        known = (usual or {}).get(metric.metric)
        return None if known is None else known * metric.factor

    return (
        Column("metric", "metric", str.lower, name_cell, 14, KEPT, ((94, 24), (6, 35)), 200, right=False),
        *(
            [column("at", lambda m: m.value(m.at_cursor), _at, 16, KEPT, head=f"at {cursor}")]
            if cursor is not None
            else []
        ),
        *(
            [column("before", before, lambda m, width: m.number(before(m), width), 12, KEPT)]
            if usual is not None
            else []
        ),
        column("last", lambda m: m.last, lambda m, width: m.number(m.last, width), 12, 96),
        column("recent", lambda m: m.change, _recent, 11, 8, right=False),
        column("min", lambda m: m.least, lambda m, width: m.number(m.least, 0), 10, 7, down=False),
        column("max", lambda m: m.most, lambda m, width: m.number(m.most, 0), 10, 8),
        column("curve", lambda m: len(m.curve), _curve, 12, 9, most=120, fills=True, right=False),
        column("points", lambda m: len(m.curve), lambda m, width: ((thousands(len(m.curve)), Role.MUTED),), 8, 4),
        column("source", _provenance, _source, 16, 5, right=False, down=False),
    )


def metric_signs(selected: bool, marked: bool) -> Row:
    """Return the signs before the first column: cursor and mark."""
    return ((f"{'▸' if selected else ' '}{'●' if marked else ' '}", Role.ACCENT),)


def _metric(run: Run, symbols: Symbols, cursor: int | None, name: str) -> _Metric | None:
    reading = reading_of(run, (name,))
    return None if reading is None else _Metric(**asdict(reading), run=run, symbols=symbols, cursor=cursor)


def _name(metric: _Metric | None, shown: str, width: int) -> Row:
    """Return the name, muted without points, with a sign if two sources have different values."""
    if metric is None or not metric.run.disagreements(metric.metric):
        return ((fit_name(shown, width), Role.MUTED if metric is None else Role.TEXT),)
    return (fit_name(shown, max(width - 2, 1)), Role.TEXT), (" ≠", Role.WARNING)


def _recent(metric: _Metric, width: int) -> Row:
    if not math.isfinite(metric.change):
        return ()
    return recent_change_row(metric.curve, metric.meaning, metric.factor, metric.symbols)


def _curve(metric: _Metric, width: int) -> Row:
    line = spark(metric.curve, metric.factor, width, metric.symbols)
    return ((line, Role.SERIES_0),) if line else ()


def _provenance(metric: _Metric) -> Any:
    return metric.run.provenance(metric.metric)[:1] or None


def _source(metric: _Metric, width: int) -> Row:
    sources = metric.run.provenance(metric.metric)
    if not sources:
        return ()
    more = f" +{len(sources) - 1}" if len(sources) > 1 else ""
    return ((fit(clean(sources[0][0]), max(width - len(more), 1), keep="end") + more, Role.MUTED),)


def _at(metric: _Metric, width: int) -> Row:
    """Return the value at the cursor, with the step of its point if none was logged at the cursor's."""
    sample = metric.at_cursor
    if sample is None:
        return (("-", Role.MUTED),)
    if metric.curve.ordinal or sample.step == metric.cursor:
        return metric.number(metric.value(sample), width)
    place = f" @ {sample.step}"
    return (*metric.number(metric.value(sample), width - len(place)), (place, Role.MUTED))
