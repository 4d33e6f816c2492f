"""The dashboard as text, for --once and for whoever has no screen: its first page, laid out as on the screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuimon.draw import FrameCache, render
from tuimon.draw.layout import Box, Wish, pages
from tuimon.model.views import Rows, Size, Symbols
from tuimon.panels import arrange, header_panel
from tuimon.store import Run, Snapshot
from tuimon.text import clean

_HEADER = 2


def dashboard(snapshot: Snapshot, width: int, height: int, now: float, symbols: Symbols) -> Iterator[str]:
    """Lines of at most `width` cells: for every run its header, its standing alerts, its panels in `height` rows."""
    frames = FrameCache()
    for number, run in enumerate(snapshot.runs):
        if number:
            yield ""
        size = Size(width, _HEADER)
        yield from _text(render(header_panel().view(run, size, now, symbols), size, symbols, frames))
        for alert in snapshot.alerts:
            if alert.run == run.id:
                yield f"! {clean(alert.message)}"
        yield from _page(run, Size(width, max(1, height - _HEADER)), now, symbols, frames)


def _page(run: Run, size: Size, now: float, symbols: Symbols, frames: FrameCache) -> Iterator[str]:
    panels = arrange(run)
    page = pages(size.width, size.height, [Wish(panel.kind, panel.rows) for panel in panels])[0]
    drawn = []
    for box in page:
        room = Size(box.width, box.height)
        drawn.append(
            (box, tuple(_text(render(panels[box.index].view(run, room, now, symbols), room, symbols, frames))))
        )
    lines = [_line(y, drawn) for y in range(size.height)]
    while lines and not lines[-1]:
        lines.pop()
    yield from lines


def _line(y: int, drawn: Sequence[tuple[Box, Sequence[str]]]) -> str:
    """One line across the boxes that cross it. Every row of a box is exactly as wide as the box."""
    line, end = "", 0
    for box, rows in sorted(drawn, key=lambda one: one[0].x):
        if box.y <= y < box.y + box.height:
            line += " " * (box.x - end) + rows[y - box.y]
            end = box.x + box.width
    return line.rstrip()


def _text(rows: Rows) -> Iterator[str]:
    for row in rows:
        yield "".join(text for text, _ in row)
