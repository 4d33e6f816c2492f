"""The dashboard without widgets: what the screen shows before Textual is imported."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as replace_fields

from tuimon.analysis.run_states import critical_count
from tuimon.config import Settings
from tuimon.draw import FrameCache, render
from tuimon.draw.ascii import ascii_rows
from tuimon.draw.layout import Box
from tuimon.model.views import Rows, Size, Symbols
from tuimon.panels import ChartOptions, header_panel, page_boxes
from tuimon.run_notes import note_of
from tuimon.store import Run, Snapshot
from tuimon.tui.arrangement import panels_of
from tuimon.tui.run_choice import RunChoice, base_of, lines_of
from tuimon.tui.state import ViewState
from tuimon.tui.terminal import capabilities

HEADER_ROWS = 2


def default_state(settings: Settings, list_runs: bool) -> ViewState:
    """Return the view before any key is pressed. list_runs: whether several runs are listed, the urgent ones first."""
    symbols, theme = capabilities.symbols(settings.symbols), capabilities.theme(settings.theme)
    choice = RunChoice(sort="urgent" if list_runs else "found")
    return ViewState(symbols, theme, runs=choice, frames=settings.frames)


def chart_options(snapshot: Snapshot, state: ViewState, run: Run | None, zoomed: bool = False) -> ChartOptions:
    """Return the display options of the charts of a run."""
    options = replace(state.options, axis_named=True, fullscreen=zoomed, thresholds=state.own.thresholds)
    overlay = lines_of(snapshot, state.runs, run, state.symbols)
    return replace(options, overlay=overlay, base=base_of(snapshot, state.runs))


def header_options(snapshot: Snapshot, state: ViewState, run: Run | None) -> ChartOptions:
    """Return the display options of the header of a run."""
    return ChartOptions(alarms=critical_count(snapshot.alerts, run.id) if run else 0, values=state.own.values)


def dashboard_boxes(snapshot: Snapshot, run: Run, state: ViewState, size: Size, now: float) -> list[tuple[Box, Rows]]:
    """Return the places of the header and the panels of a run, and the rows of each; the last row is for the keys."""
    head = Size(size.width, HEADER_ROWS)
    header = header_panel().view(run, head, now, state.symbols, header_options(snapshot, state, run))
    options = replace(chart_options(snapshot, state, run), alerts=snapshot.alerts, note=note_of(run.path))
    room = Size(size.width, size.height - HEADER_ROWS - 1)
    frames, panels = state.frames, panels_of(run, state)
    page = page_boxes(run, panels, room, now, state.symbols, options, state.chart_size, frames, selects=True)
    boxes = [(Box(-1, 0, 0, size.width, HEADER_ROWS), render(header, head, state.symbols, FrameCache()))]
    boxes += [(replace_fields(box, y=box.y + HEADER_ROWS), rows) for box, rows in page]
    return [(box, ascii_rows(rows)) for box, rows in boxes] if state.symbols is Symbols.ASCII else boxes
