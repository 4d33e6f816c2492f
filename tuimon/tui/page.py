"""The dashboard and the run list without widgets: what the screen shows before Textual is imported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec.structs import replace as replace_fields

from tuimon.config import Settings
from tuimon.draw import render
from tuimon.draw.ascii import ascii_rows
from tuimon.draw.layout import Box
from tuimon.draw.rows import fit_row
from tuimon.model.links import Link
from tuimon.model.views import Rows, Size, Symbols
from tuimon.panels import ChartOptions, header_panel, page_boxes, with_lost_links
from tuimon.run_notes import NO_NOTE, note_of
from tuimon.store import Run, Snapshot
from tuimon.tui.arrangement import panels_of
from tuimon.tui.run_choice import RunChoice, base_of, lines_of, seeds_of
from tuimon.tui.state import ViewState
from tuimon.tui.table import Sheet
from tuimon.tui.terminal import capabilities

if TYPE_CHECKING:
    from tuimon.tui.run_contents import RunContents

HEADER_ROWS = 2


def default_state(settings: Settings, list_runs: bool) -> ViewState:
    """Return the view before any key is pressed. list_runs: whether several runs are listed, the urgent ones first."""
    symbols, theme = capabilities.symbols(settings.symbols), capabilities.theme(settings.theme)
    choice = RunChoice(sort="urgent" if list_runs else "found")
    return ViewState(symbols, theme, runs=choice, frames=settings.frames)


def chart_options(snapshot: Snapshot, state: ViewState, run: Run | None, zoomed: bool = False) -> ChartOptions:
    """Return the display options of the charts of a run."""
    base = base_of(snapshot, state.runs)
    return replace(
        state.options,
        axis_named=True,
        fullscreen=zoomed,
        thresholds=state.own.thresholds,
        alerts=snapshot.alerts,
        note=NO_NOTE if run is None else note_of(run.path),
        overlay=lines_of(snapshot, state.runs, run),
        base=base,
        seeds=seeds_of(snapshot, base),
    )


def header_options(snapshot: Snapshot, state: ViewState) -> ChartOptions:
    """Return the display options of the header."""
    return ChartOptions(alerts=snapshot.alerts, values=state.own.values)


def dashboard_boxes(snapshot: Snapshot, run: Run, state: ViewState, size: Size, now: float) -> list[tuple[Box, Rows]]:
    """Return the places of the header and the panels of a run, and the rows of each; the last row is for the keys."""
    head = Size(size.width, HEADER_ROWS)
    header = header_panel().view(run, head, now, state.symbols, header_options(snapshot, state))
    options = chart_options(snapshot, state, run)
    room = Size(size.width, size.height - HEADER_ROWS - 1)
    frames, panels = state.frames, panels_of(run, state)
    page = page_boxes(run, panels, room, now, state.symbols, options, state.chart_size, frames, selects=True)
    boxes = [(Box(-1, 0, 0, size.width, HEADER_ROWS), render(header, head, state.symbols))]
    boxes += [(replace_fields(box, y=box.y + HEADER_ROWS), rows) for box, rows in page]
    return _shown(boxes, state.symbols)


def run_list_boxes(
    snapshot: Snapshot, contents: RunContents, state: ViewState, links: Sequence[Link], size: Size, now: float
) -> list[tuple[Box, Rows]]:
    """Return the place and the rows of the run list; the last row is for the keys."""
    from tuimon.tui.run_table import RunTable

    table = RunTable()
    table.surface = sheet = Sheet(Size(size.width, size.height - 2))
    table.show(contents, state.theme)
    head = table.head(size.width, snapshot.is_reading, state.paused, links, now)
    rows = (fit_row(with_lost_links(head, links, now), size.width), *sheet.rows)
    return _shown([(Box(-1, 0, 0, size.width, len(rows)), rows)], state.symbols)


def _shown(boxes: list[tuple[Box, Rows]], symbols: Symbols) -> list[tuple[Box, Rows]]:
    return [(box, ascii_rows(rows)) for box, rows in boxes] if symbols is Symbols.ASCII else boxes
