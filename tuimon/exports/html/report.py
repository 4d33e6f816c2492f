"""Pages of runs: one self-contained file, the live page, and fragments for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

import tuimon
from tuimon.analysis.aligned_steps import common_step_name, step_name
from tuimon.draw.table import TextColumn, TextTable
from tuimon.exports import sample_lines
from tuimon.exports.html import asset, page, render
from tuimon.exports.html.comparison import main_chart, seeds_summary
from tuimon.exports.html.parts import COLUMNS, GROUPS, Slot, draw, run_key, slots
from tuimon.exports.html.plot import columns_for
from tuimon.exports.summary_text import runs_table
from tuimon.panels.lists.comparison import compare
from tuimon.run_notes import note_of
from tuimon.store import Run, Snapshot
from tuimon.text import clean, shown_path

_COLUMNS_OF_MANY = 160
_MANY = 4
"""Number of runs above which charts of long curves are coarser, so that the page stays small."""


def as_html(
    snapshot: Snapshot,
    now: float,
    samples: Sequence[str] = (),
    on_panel: Callable[[], None] = lambda: None,
) -> str:
    """Return the page. now: wall time (s since epoch). samples: directories outside of the runs that have generated
    texts. on_panel: called before each part is drawn."""
    # The texts of a directory are shown once, with the first of its runs.
    with_texts = {sample_lines.paths_of(run, samples): run.id for run in reversed(snapshot.runs)}
    columns = columns_for(snapshot.runs, _COLUMNS_OF_MANY if len(snapshot.runs) > _MANY else COLUMNS)

    def parts_of(run: Run) -> dict[str, list[str]]:
        found = (
            sample_lines.of_run(run, samples=samples)
            if with_texts[sample_lines.paths_of(run, samples)] == run.id
            else None
        )
        drawn: dict[str, list[str]] = {name: [] for name, _ in GROUPS}
        for slot in slots(run, snapshot):
            if slot.group == "runs" or (slot.group == "texts" and found is None):
                continue
            on_panel()
            drawn[slot.group].append(draw(slot, run, snapshot, now, found, columns))
        return drawn

    runs: list[dict[str, Any]] = [
        {
            "href": f"#run-{number}",
            "current": False,
            "name": clean(run.name),
            "path": shown_path(run.path),
            "steps": step_name(run),
            "metrics": len(run.metrics),
            "parts": parts_of(run),
        }
        for number, run in enumerate(snapshot.runs, 1)
    ]
    title = runs[0]["name"] if len(runs) == 1 else f"{len(runs)} runs"
    values: dict[str, Any] = {"table": None, "chart": None, "steps": ""}
    if len(runs) > 1:
        compared = compare(snapshot.runs, alerts=snapshot.alerts)
        values = {
            "table": runs_table(snapshot, now),
            "chart": main_chart(compared),
            "steps": common_step_name(snapshot.runs),
            **seeds_summary(compared),
        }
    return page("report.html", now, title=title, runs=runs, groups=GROUPS, **values)


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
    table = runs_table(snapshot, now) if snapshot.runs else TextTable("", (), ())
    notes = TextColumn("note", [note_of(run.path).line for run in snapshot.runs], left=True)
    table = replace(table, columns=(*table.columns, notes))
    runs = [{"name": clean(run.name), "href": "", "current": False} for run in snapshot.runs]
    return render("notebook.html", style=asset("notebook.css"), name="", runs=runs, table=table)


ASSETS = {
    "style.css": "text/css",
    "live.css": "text/css",
    "chart.js": "text/javascript",
    "live.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""Files that the page loads, with their content types."""


def live_page(run: Run | None, parts: Sequence[Slot], drawn: Mapping[str, str], since: str) -> str:
    """Return the live page, whose script replaces its parts as they change.

    drawn: key -> HTML of the slots that were drawn. since: version of the page.
    """
    name = clean(run.name) if run is not None else "tuimon"
    grouped = [(group, title, [slot for slot in parts if slot.group == group]) for group, title in GROUPS]
    return render(
        "live.html",
        title=name,
        run="" if run is None else run_key(run),
        path="" if run is None else clean(run.path),
        groups=grouped,
        drawn=drawn,
        steps="step" if run is None else step_name(run),
        metrics=0 if run is None else len(run.metrics),
        since=since,
        version=tuimon.__version__,
    )


def asset_text(name: str) -> str:
    """Return the text of a file of ASSETS. Raise KeyError for another name."""
    if name not in ASSETS:
        raise KeyError(name)
    return str(asset(name))
