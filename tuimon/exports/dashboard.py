"""The first page of the dashboard as text, for --once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tuimon.draw import render
from tuimon.model.views import Role, Row, Size, Symbols
from tuimon.panels import ChartOptions, OwnDashboard, arrange, header_panel, page_rows
from tuimon.run_notes import note_of
from tuimon.store import Snapshot
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
    options = ChartOptions(thresholds=own.thresholds, values=own.values)
    for number, run in enumerate(snapshot.runs):
        if number:
            yield ()
        size = Size(width, _HEADER)
        alerts = [alert for alert in snapshot.alerts if alert.run == run.id and alert.active]
        header = header_panel().view(run, size, now, symbols, replace(options, alerts=snapshot.alerts))
        yield from render(header, size, symbols)
        for alert in alerts:
            if alert.severity != "info":
                yield ((f"! {clean(alert.message)}", Role.CRITICAL if alert.severity == "critical" else Role.WARNING),)
        note = note_of(run.path)
        for text in note.lines:
            yield ((fit(text, width).rstrip(), Role.MUTED),)
        panels = own.arranged(arrange(run), run)
        size = Size(width, max(1, height - _HEADER))
        page = page_rows(run, panels, size, now, symbols, replace(options, note=note))
        filled = [y for y, row in enumerate(page) if any(text.strip() for text, _ in row)]
        yield from page[: max(filled, default=-1) + 1]
