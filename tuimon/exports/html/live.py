"""The live page: the parts of the report, each of which is drawn by itself when its data has changed.

A page is a list of slots. `slots` names them, `draw` returns the HTML of one, `page` the document around them. A part
that is the same as before has the same `inputs`, so that it need not be drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

import tuimon
from tuimon.analysis.aligned_steps import step_name
from tuimon.exports import ranks, texts
from tuimon.exports.html import asset, environment, render
from tuimon.exports.html.figures import columns_for
from tuimon.exports.html.report import COLUMNS, panel_figure, settings_of, state_of
from tuimon.exports.metrics import summarise
from tuimon.exports.summary import runs_columns
from tuimon.panels import SINGLE_METRIC, Panel, arrange, relevant_metrics
from tuimon.rollouts.extremes import Extremes
from tuimon.store import Run, Snapshot
from tuimon.text import clean

GROUPS = (
    ("runs", "Runs"),
    ("state", ""),
    ("ranks", "Ranks"),
    ("curves", "Curves"),
    ("tables", "Time and memory"),
    ("others", "Other metrics"),
    ("texts", "Texts"),
    ("settings", "Checkpoint and configuration"),
    ("metrics", "Metrics"),
    ("sources", "Provenance"),
)
"""(name, heading) of the sections of the page, in order."""
ASSETS = {
    "style.css": "text/css",
    "live.css": "text/css",
    "chart.js": "text/javascript",
    "live.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""Files that the page loads, with their content types."""
_METRICS_OF_SLOT = 10
"""Number of rows of the table of metrics that are drawn together; a row takes about 9 ms with 20,000 points."""
_TICK = 2.0
"""Seconds after which parts that depend on the current time are drawn again."""


class Slot(Struct, frozen=True):
    """A part of the page of a run."""

    key: str
    """Unique within the page: lower-case letters, digits and "-"."""
    group: str
    """Name of its section."""
    content: Panel | tuple[str, ...] | None = None
    """The panel, or the names of the metrics of a part of the table."""
    first: bool = False
    """True for the first chart of the page, which is larger."""


def run_key(run: Run) -> str:
    """Return a name of a run for addresses, which stays the same when the logs are read again."""
    return _digest(run.path)


def _digest(text: str) -> str:
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def slots(run: Run, snapshot: Snapshot) -> tuple[Slot, ...]:
    """Return the parts of the page of a run, in order."""
    names = relevant_metrics(run)
    panels: list[Slot] = []
    for panel in arrange(run):
        group = "tables" if panel.kind != "chart" else "curves" if panel.order < SINGLE_METRIC else "others"
        first = group == "curves" and not any(slot.group == "curves" for slot in panels)
        panels.append(Slot(f"panel-{_digest(panel.id)}", group, panel, first))
    tables = (names[start : start + _METRICS_OF_SLOT] for start in range(0, len(names), _METRICS_OF_SLOT))
    return (
        *([Slot("runs", "runs")] if len(snapshot.runs) > 1 else []),
        Slot("state", "state"),
        *([Slot("ranks", "ranks")] if run.ranks else []),
        *panels,
        Slot("texts", "texts"),
        *([Slot("settings", "settings")] if run.config or run.best_checkpoint or run.final_metrics else []),
        *(Slot(f"metrics-{number}", "metrics", tuple(names)) for number, names in enumerate(tables)),
        Slot("sources", "sources"),
    )


def inputs(slot: Slot, run: Run, snapshot: Snapshot, now: float, samples: Extremes | None = None) -> tuple[Any, ...]:
    """Return all that the HTML of a slot depends on. samples: the texts of the run, for their slot."""
    time = now // _TICK if slot.group in ("runs", "state") or getattr(slot.content, "live", False) else 0
    if slot.group == "runs":
        return (snapshot.runs, snapshot.alerts, time)
    if slot.group == "state":
        return (run, snapshot.alerts, snapshot.notices[-1:], time)
    if slot.group == "ranks":
        return (run.ranks,)
    if slot.group == "texts":
        return (samples,)
    return (run, slot.content, slot.first, time)


def draw(
    slot: Slot,
    run: Run,
    snapshot: Snapshot,
    now: float,
    show_secrets: bool = False,
    samples: Extremes | None = None,
) -> str:
    """Return the HTML of a slot. now: wall time (s since epoch); samples: the texts of the run, for their slot."""
    macros: Any = environment().get_template("macros.html").module
    match slot.content:
        case None if slot.group == "runs":
            runs = [
                {"name": clean(r.name), "href": f"?run={run_key(r)}", "current": r.id == run.id} for r in snapshot.runs
            ]
            return str(macros.runs(runs_columns(snapshot, now), runs))
        case None if slot.group == "state":
            state = state_of(run, snapshot, now, count_entries=False)
            notices = [notice for notice in snapshot.notices[-1:] if notice.level != "info"]
            return str(macros.state(state) + macros.alerts(state["alerts"]) + macros.notices(notices))
        case None if slot.group == "ranks":
            return str(macros.ranks(ranks.for_page(run.ranks)))
        case None if slot.group == "texts":
            return str(macros.texts(texts.for_page(samples)))
        case None if slot.group == "settings":
            return str(macros.all_settings(settings_of(run, show_secrets)))
        case None:
            return str(macros.sources(run.streams))
        case tuple() as names:
            return "".join(str(macros.metric(summarise(run, name))) for name in names)
        case panel:
            return str(macros.figure(*panel_figure(panel, run, now, columns_for([run], COLUMNS), slot.first)))


def page(run: Run | None, parts: Sequence[Slot], drawn: Mapping[str, str], since: str) -> str:
    """Return the document. drawn: key -> HTML of the slots that were drawn. since: version of the page."""
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
