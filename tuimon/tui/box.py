"""Widgets that draw rows: a grid of cells, and the box of one panel. Only cells that changed are painted again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from weakref import ref

from rich.segment import Segment
from textual.events import Click, MouseDown, MouseMove, MouseScrollDown, MouseScrollUp
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widget import Widget

from tuimon.draw.ascii import ascii_rows
from tuimon.draw.border import inside
from tuimon.draw.chart import has_note_row
from tuimon.draw.diff import changed_spans
from tuimon.model.views import Role, Row, Rows, Size, Symbols, View
from tuimon.panels import (
    DEFAULTS,
    ChartOptions,
    Panel,
    highlighted,
    panel_rows,
    panel_view,
)
from tuimon.store import Run
from tuimon.tui import themes
from tuimon.tui.action import TuimonApp
from tuimon.tui.ascii_mode import ascii_only

_CLOCK = 3.0
"""Interval (s) at which a panel that displays times is computed again although nothing changed."""


def strip(row: Row, theme: str) -> Strip:
    """Convert a row to a strip of Textual."""
    return Strip(segments(row, theme))


def segments(row: Row, theme: str) -> list[Segment]:
    """Convert a row to segments of rich."""
    return [Segment(text, themes.style(theme, role)) for text, role in themes.parts(row, theme)]


class CellGrid(Widget):
    """Rows of cells. When the rows change, only the cells that differ are painted again."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Rows = ()
        """Rows that are painted."""
        self._strips: dict[int, Strip] = {}
        self._theme = "dark"

    def paint(self, rows: Rows, theme: str) -> None:
        """Display these rows in a theme."""
        if ascii_only():
            rows = ascii_rows(rows)
        old, self._rows = self._rows, rows
        if theme != self._theme or len(old) != len(rows):
            self._theme = theme
            self._strips.clear()
            self.refresh()
            return
        regions = []
        for y, start, end in changed_spans(old, rows):
            self._strips.pop(y, None)
            regions.append(Region(start, y, end - start, 1))
        if regions:
            self.refresh(*regions)

    def paint_filled(self, rows: Sequence[Row], theme: str) -> None:
        """Display these rows, and blank rows below them."""
        width, height = self.size
        blank: Row = ((" " * width, Role.MUTED),)
        self.paint((*rows, *[blank] * (height - len(rows))), theme)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of a region, from `render_line` alone: a grid has none of the borders and padding that
        Textual's method adds."""
        width = self.outer_size.width
        strips = [self.render_line(y).adjust_cell_length(width) for y in crop.line_range]
        for line_filter in self.get_line_filters():
            strips = [line.apply_filter(line_filter, self.background_colors[1]) for line in strips]
        return strips if crop.column_span == (0, width) else [line.crop(*crop.column_span) for line in strips]

    def segments(self, rows: Sequence[int]) -> list[Iterable[Segment]] | None:
        """Return some rows as segments, without making a strip of each row that changed. Return None if strips are
        needed: for a line filter (NO_COLOR has one), or past the last row."""
        if max(rows) >= len(self._rows) or self.get_line_filters():
            return None
        return [self._strips.get(y) or segments(self._rows[y], self._theme) for y in rows]

    def render_line(self, y: int) -> Strip:
        if y >= len(self._rows):
            return Strip([Segment(" " * self.outer_size.width, themes.style(self._theme, Role.TEXT))])
        if y not in self._strips:
            self._strips[y] = strip(self._rows[y], self._theme)
        return self._strips[y]


class Drawing(NamedTuple):
    """What the panels of a page are drawn from."""

    run: Run | None
    now: float
    symbols: Symbols
    theme: str
    options: ChartOptions = DEFAULTS


class PanelBox(CellGrid):
    """Displays one panel. Only `update` and `select` draw, and only if something changed."""

    app: TuimonApp

    def __init__(self, clock: bool = False) -> None:
        """clock: whether the panel displays times, so that it is computed again as time passes."""
        super().__init__()
        self.panel: Panel | None = None
        self.room = Size(0, 0)
        """Size that the box will have on the screen. Set before it is laid out, so that it can be drawn before."""
        self.bordered = False
        """Whether the panel has a border."""
        self.view: View | None = None
        """View that was drawn last."""
        self._symbols = Symbols.BRAILLE
        self._note_reserved = False
        """Whether the row of a note is kept free, because a chart beside this one has a note."""
        self._clock = clock
        self._drawn: Rows = ()
        """Rows of the panel."""
        self._drawn_from: tuple[object, ...] = ()
        """Everything that `_drawn` was computed from, except the run."""
        self._run: Callable[[], Run | None] = lambda: None
        self._shown: tuple[Rows, bool, str] = ((), False, "")
        self._dragged = False
        self._held: Offset | None = None
        """Last position of the mouse while its button is held down."""

    def assign(self, panel: Panel) -> None:
        """Set the panel to display."""
        if panel != self.panel:
            self.panel = panel
            self._drawn_from, self._drawn, self._rows = (), (), ()
            self.view = None

    @property
    def inside(self) -> Size:
        """Size of the panel without its border."""
        return inside(self.room) if self.bordered else self.room

    @property
    def is_drawn(self) -> bool:
        """Whether the panel has been drawn since it was assigned, and for the size that the box has now."""
        return self._drawn_from[1:3] == (self.room, self.bordered)

    def update(self, drawing: Drawing, selected: bool) -> None:
        """Draw the panel for a run. Costs almost nothing if nothing that the panel depends on has changed."""
        run, now, symbols, theme, options = drawing
        size = self.inside
        if run is None or self.panel is None or size.width < 1 or size.height < 1:
            return
        machine = run.machine if self.panel.live else None
        place = self.panel, self.room, self.bordered
        inputs = (*place, symbols, options, machine, now // _CLOCK if self._clock else 0)
        if inputs != self._drawn_from or self._run() is not run:
            self.view, self._symbols = panel_view(self.panel, run, size, now, symbols, options), symbols
            self._draw_view()
            self._drawn_from, self._run = inputs, ref(run)
        self.select(selected, theme)

    @property
    def has_note(self) -> bool:
        """Whether the view has a note in a row of its own."""
        return self.view is not None and self.is_drawn and has_note_row(self.view, self.inside)

    def reserve_note(self, reserved: bool) -> None:
        """Keep the row of a note free, or do not, so that the axes of the charts of a row are in the same row."""
        if reserved != self._note_reserved:
            self._note_reserved = reserved
            if self.view is not None and self.is_drawn:
                self._draw_view()
                self.select(*self._shown[1:])

    def _draw_view(self) -> None:
        assert self.view is not None
        self._drawn = panel_rows(self.view, self.inside, self._symbols, self._note_reserved, self.bordered)

    def select(self, selected: bool, theme: str) -> None:
        """Display the rows drawn last in a theme; selected: highlight the title."""
        shown = (self._drawn, selected, theme)
        if all(new is old for new, old in zip(shown, self._shown, strict=False)) and self._rows:
            return
        self._shown = shown
        self.paint(highlighted(self._drawn) if selected else self._drawn, theme)

    def on_click(self, event: Click) -> None:
        if not self._dragged:
            self.app.click_box(self, event.x, event.chain >= 2)

    def on_mouse_down(self, event: MouseDown) -> None:
        self._dragged, self._held = False, event.screen_offset
        self.capture_mouse()

    def on_mouse_move(self, event: MouseMove) -> None:
        if self._held is not None and event.screen_offset != self._held:
            moved, self._held, self._dragged = event.screen_offset - self._held, event.screen_offset, True
            self.app.drag_chart(moved.x)

    def on_mouse_up(self) -> None:
        self._held = None
        self.release_mouse()

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self.app.turn_wheel(event.x, True, event.shift or event.ctrl)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self.app.turn_wheel(event.x, False, event.shift or event.ctrl)
