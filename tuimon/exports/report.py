"""Runs as one HTML file to keep, to send and to print: what the dashboard shows, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tuimon.analysis.progress_inputs import progress_of
from tuimon.draw.numbers import format_count, format_value
from tuimon.exports._figures import (
    TABLE_SIZE,
    ChartFigure,
    bar_figure,
    chart_figure,
    chart_size,
    heat_figure,
    text_figure,
)
from tuimon.exports._html import page
from tuimon.exports._metrics import MetricSummary, metric_summaries
from tuimon.exports._plot import sparkline
from tuimon.exports._settings import flat, opened, shown
from tuimon.exports.summary import facts_of, odd_text, runs_columns, trend_text
from tuimon.model.views import BarView, ChartView, HeatView, Symbols, TextView
from tuimon.panels import SINGLE, arrange
from tuimon.store import Run, Snapshot
from tuimon.text import clean, shown_path

_COLUMNS = 360
"""Of a chart: one a pixel, about."""
_COLUMNS_OF_MANY = 160
_MANY = 4
"""Runs from which charts are coarser, so that the page stays small."""
_SPARK = 70
_LONGEST = 1000
"""Characters of a setting."""


def as_html(snapshot: Snapshot, now: float, show_secrets: bool = False) -> str:
    """The page. now: seconds since the epoch."""
    runs = [_run(run, snapshot, now, show_secrets, len(snapshot.runs) > _MANY) for run in snapshot.runs]
    title = runs[0]["name"] if len(runs) == 1 else f"{len(runs)} runs"
    table = runs_columns(snapshot, now) if len(runs) > 1 else []
    return page("report.html", now, title=title, runs=runs, table=table, columns=_SPARK)


def _run(run: Run, snapshot: Snapshot, now: float, show_secrets: bool, coarse: bool) -> dict[str, Any]:
    progress = progress_of(run, now)
    charts, tables, others = _panels(run, now, _COLUMNS_OF_MANY if coarse else _COLUMNS)

    def settings(told: Any) -> list[tuple[str, str]]:
        return [(clean(name), shown(value, _LONGEST)) for name, value in flat(opened(told or {}, show_secrets))]

    return {
        "name": clean(run.name),
        "path": shown_path(run.path),
        "state": progress.state,
        "evidence": clean(progress.evidence),
        "facts": [(name, text) for name, text in facts_of(run, now) if name != "state"],
        "alerts": [
            {"severity": alert.severity, "message": clean(alert.message), "hint": clean(alert.hint)}
            for alert in snapshot.alerts
            if alert.run == run.id
        ],
        "charts": charts,
        "tables": tables,
        "others": others,
        "checkpoint": settings(run.best_checkpoint),
        "final": settings(run.final_metrics),
        "config": settings(run.config),
        "metrics": [_metric(metric) for metric in metric_summaries(run)],
        "sources": list(_sources(run)),
    }


def _panels(run: Run, now: float, columns: int) -> tuple[list[ChartFigure], list[tuple[str, Any]], list[ChartFigure]]:
    """The charts of a run, its tables as (kind, figure), and the charts of single metrics that no panel shows."""
    charts: list[ChartFigure] = []
    others: list[ChartFigure] = []
    tables: list[tuple[str, Any]] = []
    for panel in arrange(run):
        size = chart_size(columns) if panel.kind == "chart" else TABLE_SIZE
        match panel.view(run, size, now, Symbols.BRAILLE):
            case ChartView() as view:
                if panel.order < SINGLE:
                    charts.append(chart_figure(view, first=not charts))
                else:
                    others.append(chart_figure(view))
            case BarView() as view:
                tables.append(("bars", bar_figure(view)))
            case HeatView() as view:
                tables.append(("heat", heat_figure(view)))
            case TextView() as view:
                tables.append(("text", text_figure(view)))
    return charts, tables, others


def _metric(metric: MetricSummary) -> dict[str, Any]:
    top = metric.best
    return {
        "name": clean(metric.name),
        "path": sparkline(metric.curve, _SPARK),
        "points": len(metric.curve),
        "last": format_value(metric.last),
        "step": metric.last_step,
        "best": format_value(top[1]) if top else "",
        "best_step": top[0] if top else "",
        "mean": format_value(metric.numbers.mean),
        "deviation": format_value(metric.numbers.deviation),
        "trend": trend_text(metric),
        "odd": odd_text(metric),
    }


def _sources(run: Run) -> Iterator[dict[str, Any]]:
    for stream in run.streams:
        status = stream.status
        yield {
            "name": clean(stream.found.source),
            "format": clean(stream.found.format),
            "points": format_count(stream.point_count),
            "state": status.state if status else "waiting",
            "damaged": status.damaged if status else 0,
        }
