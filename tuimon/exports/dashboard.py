"""The dashboard as text, for --once and for whoever has no screen: the same panels, below each other."""

from __future__ import annotations

from collections.abc import Iterator

from tuimon.draw import FrameCache, render
from tuimon.model.views import Rows, Size, Symbols
from tuimon.panels import arrange, header_panel
from tuimon.store import Snapshot
from tuimon.text import clean


def dashboard(snapshot: Snapshot, width: int, height: int, now: float, symbols: Symbols) -> Iterator[str]:
    """Lines of at most `width` cells: every run's header, its charts and panels; standing alerts first.

    height is the room for a run: its first charts and panels are given what they need, the others are left out.
    """
    frames = FrameCache()
    for number, run in enumerate(snapshot.runs):
        if number:
            yield ""
        yield from _text(
            render(header_panel().view(run, Size(width, 2), now, symbols), Size(width, 2), symbols, frames)
        )
        for alert in snapshot.alerts:
            if alert.run == run.id:
                yield f"! {clean(alert.message)}"
        room = height - 2
        for panel in arrange(run):
            rows = min(panel.rows or 11, max(6, room))
            if room < rows:
                continue
            size = Size(width, rows)
            yield from _text(render(panel.view(run, size, now, symbols), size, symbols, frames))
            room -= rows


def _text(rows: Rows) -> Iterator[str]:
    for row in rows:
        yield "".join(text for text, _ in row).rstrip()
