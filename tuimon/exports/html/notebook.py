"""Runs as fragments of HTML for notebooks: a few static charts and a table, without scripts."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports.html import picture
from tuimon.exports.html.figures import chart_figure, chart_size
from tuimon.exports.metrics import summarise
from tuimon.exports.summary import facts_of, runs_columns
from tuimon.exports.table import Column
from tuimon.model.alerts import Alert
from tuimon.model.views import ChartView, Symbols
from tuimon.panels import ChartOptions, arrange, relevant_metrics
from tuimon.run_notes import note_of
from tuimon.store import Run, Snapshot
from tuimon.text import clean, shown_path

_CHARTS = 3
_ROWS = 8
"""Metrics in the table: the notebook shows what matters, `tuimon report` everything."""
_COLUMNS = 240


def run_as_html(run: Run, now: float, alerts: Sequence[Alert]) -> str:
    """Return the first charts and the most relevant metrics of a run. now: wall time (s since epoch)."""
    views: list[ChartView] = []
    note = note_of(run.path)
    for panel in arrange(run):
        if panel.kind == "chart" and len(views) < _CHARTS:
            view = panel.view(run, chart_size(_COLUMNS), now, Symbols.BRAILLE, ChartOptions(note=note))
            if isinstance(view, ChartView) and view.lines:
                views.append(view)
    names = relevant_metrics(run)
    return picture(
        "notebook.html",
        "notebook.css",
        name=clean(run.name),
        path=shown_path(run.path),
        progress=progress_of(run, now),
        facts=[(name, text) for name, text in facts_of(run, now) if name != "state"],
        alerts=[(alert.severity, clean(alert.message)) for alert in alerts],
        figures=[chart_figure(view, steps=step_name(run)) for view in views],
        metrics=[summarise(run, name) for name in names[:_ROWS]],
        more=max(len(names) - _ROWS, 0),
        steps=step_name(run),
        runs=(),
        columns=(),
    )


def runs_as_html(snapshot: Snapshot, now: float) -> str:
    """Return the table of all runs. now: wall time (s since epoch)."""
    columns = runs_columns(snapshot, now) if snapshot.runs else []
    notes = [note_of(run.path).line for run in snapshot.runs]
    if any(notes):
        columns.append(Column("note", notes, left=True))
    return picture(
        "notebook.html",
        "notebook.css",
        name="",
        runs=[clean(run.name) for run in snapshot.runs],
        columns=columns,
    )
