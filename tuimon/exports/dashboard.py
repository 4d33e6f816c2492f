"""The first page of the dashboard as text, for --once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tuimon.draw import FrameCache, render
from tuimon.draw.chart import has_note_row, with_note_row
from tuimon.draw.layout import Box, PanelRequest, pages, side_by_side
from tuimon.model.views import Role, Row, Rows, Size, Symbols
from tuimon.panels import ChartOptions, OwnDashboard, Panel, arrange, header_panel
from tuimon.run_notes import RunNote, note_of
from tuimon.store import Run, Snapshot
from tuimon.text import clean, fit

_HEADER = 2


def dashboard(
    snapshot: Snapshot, width: int, height: int, now: float, symbols: Symbols, own: OwnDashboard | None = None
) -> Iterator[str]:
    """Yield lines of at most `width` cells: for each run its header, active alerts, notes, and panels in `height` rows.

    own: the user's choice of panels.
    """
    for row in _rows(snapshot, width, height, now, symbols, own or OwnDashboard()):
        yield "".join(text for text, _ in row).rstrip()


def _rows(
    snapshot: Snapshot, width: int, height: int, now: float, symbols: Symbols, own: OwnDashboard
) -> Iterator[Row]:
    frames = FrameCache()
    options = ChartOptions(thresholds=own.thresholds, values=own.values)
    for number, run in enumerate(snapshot.runs):
        if number:
            yield ()
        size = Size(width, _HEADER)
        alerts = [alert for alert in snapshot.alerts if alert.run == run.id and alert.active]
        alarms = sum(alert.severity == "critical" for alert in alerts)
        header = header_panel().view(run, size, now, symbols, replace(options, alarms=alarms))
        yield from render(header, size, symbols, frames)
        for alert in alerts:
            if alert.severity != "info":
                yield ((f"! {clean(alert.message)}", Role.CRITICAL if alert.severity == "critical" else Role.WARNING),)
        note = note_of(run.path)
        for text in note.lines:
            yield ((fit(text, width).rstrip(), Role.MUTED),)
        panels = own.arranged(arrange(run), run)
        yield from _page(run, note, panels, Size(width, max(1, height - _HEADER)), now, symbols, frames, options)


def _page(
    run: Run,
    note: RunNote,
    panels: Sequence[Panel],
    size: Size,
    now: float,
    symbols: Symbols,
    frames: FrameCache,
    options: ChartOptions,
) -> Iterator[Row]:
    page = pages(size.width, size.height, [PanelRequest(panel.kind, panel.rows) for panel in panels])[0]
    sizes = [Size(box.width, box.height) for box in page]
    options = replace(options, note=note)
    views = [panels[box.index].view(run, size, now, symbols, options) for box, size in zip(page, sizes, strict=True)]
    for row in side_by_side(page):
        if any(has_note_row(views[n], sizes[n]) for n in row):
            for n in row:
                views[n] = with_note_row(views[n], sizes[n])
    drawn = [(box, render(view, size, symbols, frames)) for box, view, size in zip(page, views, sizes, strict=True)]
    rows = [_row(y, drawn) for y in range(size.height)]
    while rows and not any(text.strip() for text, _ in rows[-1]):
        rows.pop()
    yield from rows


def _row(y: int, drawn: Sequence[tuple[Box, Rows]]) -> Row:
    """Return row `y` of the page. Each row of a box is exactly as wide as the box."""
    row: list[tuple[str, Role]] = []
    end = 0
    for box, rows in sorted(drawn, key=lambda pair: pair[0].x):
        if box.y <= y < box.y + box.height:
            if box.x > end:
                row.append((" " * (box.x - end), Role.TEXT))
            row.extend(rows[y - box.y])
            end = box.x + box.width
    return tuple(row)
