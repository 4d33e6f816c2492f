"""Runs as fragments of HTML for notebooks: the first charts and a table of metrics, without scripts."""

from __future__ import annotations

from tuimon.analysis.aligned_steps import step_name
from tuimon.exports.html import asset, render
from tuimon.exports.html.parts import draw, slots
from tuimon.exports.summary_text import runs_columns
from tuimon.exports.table import page_columns, text_column
from tuimon.run_notes import note_of
from tuimon.store import Run, Snapshot
from tuimon.text import clean, shown_path

_CHARTS = 3
_COLUMNS = 240
_SHOWN = ("state", "curves", "metrics")


def run_as_html(run: Run, snapshot: Snapshot, now: float) -> str:
    """Return state, first charts and most relevant metrics of a run. now: wall time (s since epoch)."""
    parts: dict[str, list[str]] = {group: [] for group in _SHOWN}
    for slot in slots(run, snapshot):
        if slot.group in parts and len(parts[slot.group]) < (_CHARTS if slot.group == "curves" else 1):
            parts[slot.group].append(draw(slot, run, snapshot, now, columns=_COLUMNS))
    values = {"name": clean(run.name), "path": shown_path(run.path), "steps": step_name(run)}
    return render("notebook.html", style=asset("notebook.css"), parts=parts, metrics=len(run.metrics), **values)


def runs_as_html(snapshot: Snapshot, now: float) -> str:
    """Return the table of all runs. now: wall time (s since epoch)."""
    columns = runs_columns(snapshot, now) if snapshot.runs else []
    notes = [note_of(run.path).line for run in snapshot.runs]
    if any(notes):
        columns.append(text_column("note", notes, left=True))
    runs = [{"name": clean(run.name), "href": "", "current": False} for run in snapshot.runs]
    return render(
        "notebook.html", style=asset("notebook.css"), name="", runs=runs, columns=page_columns(columns, len(runs))
    )
