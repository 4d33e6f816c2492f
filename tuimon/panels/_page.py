"""A page of panels as rows, without widgets: for --once, and for the screen before Textual is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuimon.draw import FrameCache, render
from tuimon.draw.border import BORDERS_FROM, has_border, inside, with_border
from tuimon.draw.chart import has_note_row, with_note_row
from tuimon.draw.layout import Box, Page, PanelRequest, pages, side_by_side
from tuimon.model.views import Role, Row, Rows, Size, Span, Symbols
from tuimon.panels._charts.options import ChartOptions
from tuimon.panels._charts.run_name import with_run_name
from tuimon.store import Run

if TYPE_CHECKING:
    from tuimon.panels import Panel


def page_rows(
    run: Run, panels: Sequence[Panel], size: Size, now: float, symbols: Symbols, options: ChartOptions
) -> Rows:
    """Return the rows of the first page of panels, exactly `size`."""
    boxes = page_boxes(run, panels, size, now, symbols, options)
    return tuple(_row(y, boxes, size.width) for y in range(size.height))


def page_boxes(
    run: Run,
    panels: Sequence[Panel],
    size: Size,
    now: float,
    symbols: Symbols,
    options: ChartOptions,
    larger: int = 0,
    frames: bool = False,
    selects: bool = False,
) -> list[tuple[Box, Rows]]:
    """Return the places of the panels of the first page, and the rows of each.

    - larger: chart size, see draw.layout.pages.
    - frames: whether panels have borders on a wide screen.
    - selects: whether the title of the first panel is highlighted, if there are others.
    """
    bordered = frames and size.width >= BORDERS_FROM
    page = page_places(panels, size, larger, bordered)[0]
    framed = [bordered and has_border(Size(place.width, place.height)) for place in page]
    sizes = [Size(place.width, place.height) for place in page]
    sizes = [inside(room) if framed[n] else room for n, room in enumerate(sizes)]
    views = []
    for place, room in zip(page, sizes, strict=True):
        panel = panels[place.index]
        views.append(with_run_name(panel.view(run, room, now, symbols, options), panel, run, room.width, options))
    for row in side_by_side(page):
        if any(has_note_row(views[n], sizes[n]) for n in row):
            for n in row:
                views[n] = with_note_row(views[n], sizes[n])
    drawn: list[tuple[Box, Rows]] = []
    selected = min((place.index for place in page), default=-1) if selects and len(page) > 1 else -1
    cache = FrameCache()
    for n, place in enumerate(page):
        rows = render(views[n], sizes[n], symbols, cache)
        rows = with_border(rows) if framed[n] else rows
        drawn.append((place, (highlighted(rows[0]), *rows[1:]) if place.index == selected else rows))
    return drawn


def page_places(panels: Sequence[Panel], room: Size, larger: int, bordered: bool) -> tuple[Page, ...]:
    """Return the places of panels on their pages. bordered: whether those with enough room have borders."""
    wishes = [PanelRequest(panel.kind, panel.rows and panel.rows + bordered) for panel in panels]
    return pages(room.width, room.height, wishes, larger)


def highlighted(row: Row) -> Row:
    """Return the title row of the selected panel; the blanks after the title are not part of it."""
    spans: list[Span] = []
    for text, role in row:
        title = text.rstrip() if role is Role.TITLE else ""
        spans += [(title, Role.SELECTED), (text[len(title) :], role)] if title else [(text, role)]
    return tuple(spans)


def _row(y: int, drawn: Sequence[tuple[Box, Rows]], width: int) -> Row:
    """Return row `y` of the page. Each row of a box is exactly as wide as the box."""
    row: list[Span] = []
    end = 0
    for box, rows in sorted(drawn, key=lambda pair: pair[0].x):
        if box.y <= y < box.y + box.height:
            if box.x > end:
                row.append((" " * (box.x - end), Role.TEXT))
            row.extend(rows[y - box.y])
            end = box.x + box.width
    return (*row, (" " * (width - end), Role.TEXT)) if end < width else tuple(row)
