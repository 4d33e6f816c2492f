"""A page of panels as rows, without widgets: for --once, and for the screen before Textual is imported."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tuimon.draw import render
from tuimon.draw.border import BORDERS_FROM, has_border, inside, with_border
from tuimon.draw.chart import has_note_row, with_note_row
from tuimon.draw.layout import Box, Page, PanelRequest, pages, side_by_side
from tuimon.model.views import Role, Row, Rows, Size, Span, Symbols, View
from tuimon.panels._charts.curve_panel import CurvePanel
from tuimon.panels._charts.options import ChartOptions
from tuimon.panels._charts.panel import Panel
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit

_LONGEST = 24
"""Maximum cells of the name."""
_AROUND = 6
"""Cells beside title and name: the gap, the marker and two blanks on each side of the name."""


def with_run_name(view: View, panel: Panel, run: Run, width: int, options: ChartOptions) -> View:
    """Return the view with the run's marker and name beside its title, in the colour of its line in the charts.

    The view itself is returned without an overlay, if the panel draws all runs of it, if it has no title, and for a
    `live` panel, which shows the machine. width: of the panel in cells.
    """
    line = next((line for line in options.overlay if any(own.id == run.id for own in line.runs)), None)
    if line is None or isinstance(panel, CurvePanel) or panel.live or not view.title:
        return view
    name = clean(line.label if len(line.runs) == 1 else run.name)
    room = min(_LONGEST, max(width - cell_width(clean(view.title)) - _AROUND, 1))
    own: Row = ((f"{line.marker} {fit(name, min(cell_width(name), room), 'ends')}", line.role),)
    return replace(view, headline=(*own, *([("  ", Role.MUTED), *view.headline] if view.headline else ())))


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
    rooms = [Size(place.width, place.height) for place in page]
    framed = [bordered and has_border(room) for room in rooms]
    sizes = [inside(room) if frame else room for room, frame in zip(rooms, framed, strict=True)]
    views = [
        panel_view(panels[place.index], run, size, now, symbols, options)
        for place, size in zip(page, sizes, strict=True)
    ]
    noted = {n for row in side_by_side(page) if any(has_note_row(views[n], sizes[n]) for n in row) for n in row}
    selected = min((place.index for place in page), default=-1) if selects and len(page) > 1 else -1
    drawn: list[tuple[Box, Rows]] = []
    for n, place in enumerate(page):
        rows = panel_rows(views[n], sizes[n], symbols, n in noted, framed[n])
        drawn.append((place, highlighted(rows) if place.index == selected else rows))
    return drawn


def panel_view(panel: Panel, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions) -> View:
    """Return the view of a panel, with the name of the run where other panels draw several. size: without a border."""
    return with_run_name(panel.view(run, size, now, symbols, options), panel, run, size.width, options)


def panel_rows(view: View, size: Size, symbols: Symbols, noted: bool, bordered: bool) -> Rows:
    """Return a view as rows of `size`, and a border around them if it is `bordered`.

    noted: whether the row of a note is kept free, as a chart beside this one has a note."""
    rows = render(with_note_row(view, size) if noted else view, size, symbols)
    return with_border(rows) if bordered else rows


def page_places(panels: Sequence[Panel], room: Size, larger: int, bordered: bool) -> tuple[Page, ...]:
    """Return the places of panels on their pages. bordered: whether those with enough room have borders."""
    wishes = [PanelRequest(panel.kind, panel.rows and panel.rows + bordered) for panel in panels]
    return pages(room.width, room.height, wishes, larger)


def highlighted(rows: Rows) -> Rows:
    """Return the rows of a panel with its title as that of the selected one, without the blanks after the title."""
    spans: list[Span] = []
    for text, role in rows[0] if rows else ():
        title = text.rstrip() if role is Role.TITLE else ""
        spans += [(title, Role.SELECTED), (text[len(title) :], role)] if title else [(text, role)]
    return (tuple(spans), *rows[1:]) if rows else rows


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
