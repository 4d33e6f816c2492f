"""One panel as a widget: its view becomes rows, its rows become strips, and only changed cells are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from weakref import ref

from rich.segment import Segment
from textual.events import Click, MouseDown, MouseMove, MouseScrollDown, MouseScrollUp
from textual.geometry import Offset, Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tuimon.draw import FrameCache, render
from tuimon.draw.diff import changed_spans
from tuimon.model.alerts import Alert
from tuimon.model.views import ChartView, Role, Row, Rows, Size, Symbols
from tuimon.panels import PLAIN, Look, Panel, alerted
from tuimon.store import Run
from tuimon.tui import themes
from tuimon.tui._textual import paint_again, unscrolled

_CLOCK = 3.0
"""Seconds after which a panel that tells the time is asked again: none of them shows a second's passing."""


def strip(row: Row, theme: str) -> Strip:
    """A row in a theme's styles."""
    return Strip(segments(row, theme))


def segments(row: Row, theme: str) -> list[Segment]:
    """The same, as it is sent."""
    return [Segment(text, themes.style(theme, role)) for text, role in row]


class Cells(Widget):
    """Rows of cells; of new rows, only those cells are sent that differ from what is on the screen."""

    virtual_size = unscrolled()

    def __init__(self) -> None:
        super().__init__()
        self._rows: Rows = ()
        """What is on the screen."""
        self._strips: dict[int, Strip] = {}
        self._theme = "dark"

    def paint(self, rows: Rows, theme: str) -> None:
        """Shows these rows, in a theme."""
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
            paint_again(self, regions)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a part of the box, without asking for what a box never has: borders, padding, opacity. That is
        half of what painting costs."""
        width = self.outer_size.width
        strips = [self.render_line(y).adjust_cell_length(width) for y in crop.line_range]
        for line_filter in self.get_line_filters():
            strips = [line.apply_filter(line_filter, self.background_colors[1]) for line in strips]
        return strips if crop.column_span == (0, width) else [line.crop(*crop.column_span) for line in strips]

    def segments(self, rows: Sequence[int]) -> list[Iterable[Segment]] | None:
        """Some rows as they are sent, without a strip for each that has changed. None where a filter (NO_COLOR has one)
        or an end of the rows leaves it to strips."""
        if max(rows) >= len(self._rows) or self.get_line_filters():
            return None
        return [self._strips.get(y) or segments(self._rows[y], self._theme) for y in rows]

    def render_line(self, y: int) -> Strip:
        if y >= len(self._rows):
            return Strip([Segment(" " * self.outer_size.width, themes.style(self._theme, Role.TEXT))])
        found = self._strips.get(y)
        if found is None:
            found = self._strips[y] = strip(self._rows[y], self._theme)
        return found


class PanelBox(Cells):
    """Shows one panel. `update` is the only way in; it draws nothing that has not changed."""

    class Selected(Message):
        """A person has clicked the panel; twice: wants it on the whole screen."""

        def __init__(self, box: PanelBox, x: int, zoom: bool) -> None:
            """x: the cell, counted from the left edge."""
            super().__init__()
            self.box = box
            self.x = x
            self.zoom = zoom

    class Dragged(Message):
        """The mouse has moved by so many cells with a button held down."""

        def __init__(self, cells: int, rows: int) -> None:
            super().__init__()
            self.cells = cells
            self.rows = rows

    class Wheeled(Message):
        """The wheel was turned over a cell. aside: with shift or ctrl."""

        def __init__(self, x: int, up: bool, aside: bool) -> None:
            super().__init__()
            self.x = x
            self.up = up
            self.aside = aside

    def __init__(self, clock: bool = False) -> None:
        """clock: the panel tells the time, so that its passing is reason enough to ask it again."""
        super().__init__()
        self.panel: Panel | None = None
        self.room = Size(0, 0)
        """The cells that it is given on the screen, told before it is laid out there, so that it is drawn before."""
        self._frames = FrameCache()
        self._clock = clock
        self._made_of: tuple[object, ...] = ()
        self._run: Callable[[], Run | None] = lambda: None
        self._made: Rows = ()
        """What the panel gave, made of these."""
        self._shown: tuple[Rows, bool, str] = ((), False, "")
        self._dragged = False
        self._held: Offset | None = None
        """Where the mouse was last seen with its button held down."""

    def assign(self, panel: Panel) -> None:
        """The panel to show from now on."""
        if panel != self.panel:
            self.panel = panel
            self._made_of, self._made, self._rows = (), (), ()

    @property
    def is_drawn(self) -> bool:
        """Whether it shows its panel."""
        return bool(self._made)

    def update(
        self,
        run: Run | None,
        now: float,
        symbols: Symbols,
        theme: str,
        selected: bool,
        look: Look = PLAIN,
        alerts: tuple[Alert, ...] = (),
    ) -> None:
        """Draws the panel of a run as it is now; refreshes the cells that differ from what is on the screen. Costs next
        to nothing when nothing has changed for it."""
        size = self.room
        if run is None or self.panel is None or size.width < 1 or size.height < 1:
            return
        machine = run.machine if getattr(self.panel, "live", False) else None
        made_of = (self.panel, size, symbols, look, alerts, machine, now // _CLOCK if self._clock else 0)
        if made_of != self._made_of or self._run() is not run:
            view = self.panel.view(run, size, now, symbols, look)
            if isinstance(view, ChartView):
                view = alerted(view, run, alerts, look)
            self._made = render(view, size, symbols, self._frames)
            self._made_of, self._run = made_of, ref(run)
        self.select(selected, theme)

    def select(self, selected: bool, theme: str) -> None:
        """Shows what the panel gave last, in a theme, and whether keys act upon it: costs next to nothing."""
        shown = (self._made, selected, theme)
        if all(now is before for now, before in zip(shown, self._shown, strict=False)) and self._rows:
            return
        self._shown = shown
        rows = (_selected(self._made[0]), *self._made[1:]) if selected and self._made else self._made
        self.paint(rows, theme)

    def on_click(self, event: Click) -> None:
        if not self._dragged:
            self.post_message(self.Selected(self, event.x, zoom=event.chain >= 2))

    def on_mouse_down(self, event: MouseDown) -> None:
        self._dragged, self._held = False, event.screen_offset
        self.capture_mouse()

    def on_mouse_move(self, event: MouseMove) -> None:
        if self._held is not None and event.screen_offset != self._held:
            moved, self._held, self._dragged = event.screen_offset - self._held, event.screen_offset, True
            self.post_message(self.Dragged(moved.x, moved.y))

    def on_mouse_up(self) -> None:
        self._held = None
        self.release_mouse()

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self.post_message(self.Wheeled(event.x, up=True, aside=event.shift or event.ctrl))

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self.post_message(self.Wheeled(event.x, up=False, aside=event.shift or event.ctrl))


def _selected(row: Row) -> Row:
    """The title of the panel that keys act upon, told by its colour."""
    return tuple((text, Role.ACCENT if role is Role.TITLE else role) for text, role in row)
