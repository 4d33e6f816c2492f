"""The parts of the page of a run: a report has them all, a live page draws each again when its data has changed.

`slots` names the parts, `draw` returns the HTML of one. A part that is the same as before has the same `inputs`, so
that it need not be drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.comparing import flat
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import critical_count, state_sign, state_words
from tuimon.analysis.words import setting_text
from tuimon.draw.table import TextTable, rows_table
from tuimon.exports import sample_lines
from tuimon.exports.html import environment
from tuimon.exports.html.plot import TABLE_SIZE, columns_for, sparkline, with_metric_names
from tuimon.exports.pictures import chart_size
from tuimon.exports.ranks import rank_table
from tuimon.exports.summary import summarise
from tuimon.exports.summary_text import facts_of, runs_table
from tuimon.model.views import BarView, ChartView, HeatView, Symbols
from tuimon.panels import SINGLE_METRIC, ChartOptions, Panel, arrange, relevant_metrics
from tuimon.panels.lists.files_table import files_table
from tuimon.redact import redacted, redacted_text
from tuimon.run_notes import note_of
from tuimon.samples.extremes import Extremes
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
_METRICS_OF_SLOT = 10
"""Number of rows of the table of metrics that are drawn together; a row takes about 9 ms with 20,000 points."""
_TICK = 2.0
"""Seconds after which parts that depend on the current time are drawn again."""


COLUMNS = 360
"""Columns of a chart of long curves."""
_LONGEST = 1000
"""Maximum characters of a setting."""


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
    time = (
        now // _TICK
        if slot.group in ("runs", "state") or (isinstance(slot.content, Panel) and slot.content.live)
        else 0
    )
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
    samples: Extremes | None = None,
    columns: int | None = None,
) -> str:
    """Return the HTML of a slot.

    now: wall time (s since epoch). samples: the texts of the run, for their slot. columns: of charts; None: as many as
    the run alone needs.
    """
    macros: Any = environment().get_template("macros.html").module
    match slot.content:
        case None if slot.group == "runs":
            runs = [
                {"name": clean(r.name), "href": f"?run={run_key(r)}", "current": r.id == run.id} for r in snapshot.runs
            ]
            return str(macros.runs(runs_table(snapshot, now), runs))
        case None if slot.group == "state":
            notices = [notice for notice in snapshot.notices[-1:] if notice.level != "info"]
            alerts = [alert for alert in snapshot.alerts if alert.run == run.id]
            return str(macros.state(*_state(run, snapshot, now)) + macros.alerts(alerts) + macros.notices(notices))
        case None if slot.group == "ranks":
            if run.ranks is None:
                return ""
            return str(macros.ranks(redacted_text(clean(run.ranks.verdict)), rank_table(run.ranks)))
        case None if slot.group == "texts":
            return str(macros.texts(sample_lines.for_page(samples)))
        case None if slot.group == "settings":
            return "".join(str(macros.grid(table)) for table in _settings(run) if table.names)
        case None:
            return str(macros.grid(files_table(run)))
        case tuple() as names:
            return "".join(str(macros.metric(summarise(run, name), sparkline(run.curve(name)))) for name in names)
        case panel:
            return _panel(panel, run, now, columns or columns_for([run], COLUMNS), slot.first)


def _state(run: Run, snapshot: Snapshot, now: float) -> tuple[str, str, str, list[tuple[str, str]]]:
    """Return the class of the state, its words, the evidence and the facts of a run; cleaned."""
    progress, critical = progress_of(run, now), critical_count(snapshot.alerts, run.id)
    words = f"{state_sign(progress.state, critical)} {state_words(progress.state, critical)}"
    facts = [fact for fact in facts_of(run, now, count_entries=False) if fact[0] != "state"]
    return "crashed" if critical else progress.state, words, clean(progress.evidence), facts


def _settings(run: Run) -> Iterator[TextTable]:
    """Yield the tables of settings; those that are empty, too."""
    parts = (
        ("Best checkpoint", run.best_checkpoint),
        ("Final metrics", run.final_metrics),
        ("Configuration", run.config),
    )
    for title, own in parts:
        rows = ((clean(name), setting_text(value, _LONGEST)) for name, value in flat(redacted(own or {})))
        table = rows_table(title, ("setting", "value"), rows, "value")
        yield replace(table, columns=[replace(column, wraps=True) for column in table.columns])


def _panel(panel: Panel, run: Run, now: float, columns: int, first: bool) -> str:
    macros: Any = environment().get_template("macros.html").module
    size = chart_size(columns) if panel.kind == "chart" else TABLE_SIZE
    match panel.view(run, size, now, Symbols.BRAILLE, ChartOptions(note=note_of(run.path))):
        case ChartView() as view:
            view = with_metric_names(view)
            return str(macros.chart(view, first and panel.order < SINGLE_METRIC, step_name(run)))
        case BarView() as view:
            return str(macros.bars(view))
        case HeatView() as view:
            return str(macros.heat(view))
        case view:
            return str(macros.text(view))
