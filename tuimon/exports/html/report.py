"""Runs as one self-contained HTML file: the parts of the page of each run, below what compares them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tuimon.analysis.aligned_steps import step_name
from tuimon.exports import texts
from tuimon.exports.html import page
from tuimon.exports.html.comparison import main_chart, seeds_summary
from tuimon.exports.html.figures import columns_for
from tuimon.exports.html.parts import COLUMNS, GROUPS, draw, slots
from tuimon.exports.summary_text import runs_columns
from tuimon.exports.table import page_columns
from tuimon.panels.lists.comparison import compare
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
    with_texts = {texts.paths_of(run, samples): run.id for run in reversed(snapshot.runs)}
    columns = columns_for(snapshot.runs, _COLUMNS_OF_MANY if len(snapshot.runs) > _MANY else COLUMNS)

    def parts_of(run: Run) -> dict[str, list[str]]:
        found = texts.of_run(run, samples=samples) if with_texts[texts.paths_of(run, samples)] == run.id else None
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
    values: dict[str, Any] = {"table": [], "chart": None}
    if len(runs) > 1:
        compared = compare(snapshot.runs, alerts=snapshot.alerts)
        values = {
            "table": page_columns(runs_columns(snapshot, now), len(snapshot.runs)),
            "chart": main_chart(compared),
            **seeds_summary(compared),
        }
    return page("report.html", now, title=title, runs=runs, groups=GROUPS, **values)
