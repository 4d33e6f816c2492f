"""Runs as one self-contained HTML file: what the dashboard shows, all metrics, the settings and the sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.comparing import flat
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import critical_count, state_sign, state_words
from tuimon.analysis.words import setting_text
from tuimon.exports import ranks, texts
from tuimon.exports._shared import without_secrets
from tuimon.exports.html import page
from tuimon.exports.html.comparison import main_chart, summary_of
from tuimon.exports.html.figures import (
    TABLE_SIZE,
    ChartFigure,
    bar_figure,
    chart_figure,
    chart_size,
    columns_for,
    with_metric_names,
)
from tuimon.exports.metrics import metric_summaries
from tuimon.exports.summary import facts_of, runs_columns
from tuimon.model.views import BarView, ChartView, HeatView, Symbols, TextView
from tuimon.panels import SINGLE_METRIC, ChartOptions, Panel, arrange
from tuimon.panels.lists.comparison import compare
from tuimon.run_notes import note_of
from tuimon.store import Run, Snapshot
from tuimon.text import clean, shown_path

COLUMNS = 360
"""Columns of a chart of long curves."""
_COLUMNS_OF_MANY = 160
_MANY = 4
"""Number of runs above which charts of long curves are coarser, so that the page stays small."""
_LONGEST = 1000
"""Maximum characters of a setting."""


def as_html(
    snapshot: Snapshot,
    now: float,
    show_secrets: bool = False,
    samples: Sequence[str] = (),
    on_panel: Callable[[], None] = lambda: None,
) -> str:
    """Return the page. now: wall time (s since epoch). samples: directories outside of the runs that have generated
    texts. on_panel: called before each panel is drawn."""
    # The texts of a directory are shown once, with the first of its runs.
    with_texts = {texts.paths_of(run, samples): run.id for run in reversed(snapshot.runs)}
    columns = columns_for(snapshot.runs, _COLUMNS_OF_MANY if len(snapshot.runs) > _MANY else COLUMNS)
    runs = [
        {
            "href": f"#run-{number}",
            "current": False,
            **_run(run, snapshot, now, show_secrets, columns, on_panel),
            "texts": texts.for_page(
                texts.of_run(run, samples=samples) if with_texts[texts.paths_of(run, samples)] == run.id else None
            ),
        }
        for number, run in enumerate(snapshot.runs, 1)
    ]
    title = runs[0]["name"] if len(runs) == 1 else f"{len(runs)} runs"
    table = runs_columns(snapshot, now) if len(runs) > 1 else []
    compared = compare(snapshot.runs, None, show_secrets, snapshot.alerts) if len(runs) > 1 else None
    chart = main_chart(compared) if compared is not None else None
    summary = summary_of(compared) if compared is not None else {}
    return page("report.html", now, title=title, runs=runs, table=table, chart=chart, **summary)


def _run(
    run: Run, snapshot: Snapshot, now: float, show_secrets: bool, columns: int, on_panel: Callable[[], None]
) -> dict[str, Any]:
    charts, tables, others = _panels(run, now, columns, on_panel)
    return {
        "charts": charts,
        "tables": tables,
        "others": others,
        "metrics": metric_summaries(run, snapshot.alerts),
        "steps": step_name(run),
        "streams": run.streams,
        "ranks": ranks.for_page(run.ranks),
        **state_of(run, snapshot, now),
        **settings_of(run, show_secrets),
    }


def state_of(run: Run, snapshot: Snapshot, now: float, count_entries: bool = True) -> dict[str, Any]:
    """Return name, path, state, facts and alerts of a run for the templates; cleaned except for the alerts.

    count_entries: see `facts_of`.
    """
    progress = progress_of(run, now)
    critical = critical_count(snapshot.alerts, run.id)
    return {
        "name": clean(run.name),
        "path": shown_path(run.path),
        "state": progress.state,
        "state_words": f"{state_sign(progress.state, False, critical)} {state_words(progress.state, critical)}",
        "critical": critical,
        "evidence": clean(progress.evidence),
        "facts": [(name, text) for name, text in facts_of(run, now, count_entries) if name != "state"],
        "alerts": [alert for alert in snapshot.alerts if alert.run == run.id],
    }


def settings_of(run: Run, show_secrets: bool) -> dict[str, list[tuple[str, str]]]:
    """Return the cleaned names and values of the best checkpoint, the final metrics and the configuration."""

    def settings(values: Any) -> list[tuple[str, str]]:
        pairs = flat(without_secrets(values or {}, show_secrets))
        return [(clean(name), setting_text(value, _LONGEST)) for name, value in pairs]

    return {
        "checkpoint": settings(run.best_checkpoint),
        "final": settings(run.final_metrics),
        "config": settings(run.config),
    }


def _panels(
    run: Run, now: float, columns: int, on_panel: Callable[[], None]
) -> tuple[list[ChartFigure], list[tuple[str, Any]], list[ChartFigure]]:
    """Return the charts, the tables as (kind, figure), and the charts of single metrics that no other panel shows."""
    charts: list[ChartFigure] = []
    others: list[ChartFigure] = []
    tables: list[tuple[str, Any]] = []
    for panel in arrange(run):
        on_panel()
        kind, figure = panel_figure(panel, run, now, columns, first=not charts)
        if kind != "chart":
            tables.append((kind, figure))
        else:
            (charts if panel.order < SINGLE_METRIC else others).append(figure)
    return charts, tables, others


def panel_figure(panel: Panel, run: Run, now: float, columns: int, first: bool) -> tuple[str, Any]:
    """Return (kind, figure) of a panel for the macro `figure`. first: draw the chart of a curve panel larger."""
    size = chart_size(columns) if panel.kind == "chart" else TABLE_SIZE
    match panel.view(run, size, now, Symbols.BRAILLE, ChartOptions(note=note_of(run.path))):
        case ChartView() as view:
            view = with_metric_names(view)
            return "chart", chart_figure(view, first and panel.order < SINGLE_METRIC, step_name(run))
        case BarView() as view:
            return "bars", bar_figure(view)
        case HeatView() as view:
            return "heat", view
        case TextView() as view:
            return "text", view
