"""The board: panels on pages. draw.layout computes where panels go. Only the visible page has widgets, which the next
page uses again, so that a run of 10,000 metrics costs no more than one page of charts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext

from textual import geometry
from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from tuimon.draw.border import BORDERS_FROM, has_border, inside
from tuimon.draw.layout import Box, Page, grid_shape, neighbour, side_by_side
from tuimon.model.views import Size
from tuimon.panels import Panel, page_places
from tuimon.tui.action import TuimonApp
from tuimon.tui.box import Drawing, PanelBox
from tuimon.tui.terminal import textual_patches

FIRST_BOXES = 10
"""Number of boxes created with the board, so that the first page need not wait for its widgets."""
_SLICE = 0.005
"""Drawing time (s) after which other tasks of the event loop run."""
_TURNS = 5
"""Iterations of the event loop between two slices: a key needs no more from the terminal to its action."""
_QUICK = 0.05
"""Drawing time (s) after which a page is sent box by box instead of as a whole."""
_SENT_AFTER = 0.03
"""Time (s) after which Textual has sent what was drawn."""


class _PageLayout(Layout):
    """Layout that puts the boxes of a board where its page says."""

    name = "page"

    def arrange(
        self, parent: Widget, children: list[Widget], size: geometry.Size, greedy: bool = True
    ) -> ArrangeResult:
        assert isinstance(parent, Board)
        regions = (Region(place.x, place.y, place.width, place.height) for place in parent.places)
        return [
            WidgetPlacement(region, NULL_OFFSET, NULL_SPACING, box)
            for box, region in zip(parent.boxes, regions, strict=False)
        ]


class Board(Container):
    """Panels in boxes, one page at a time. One panel is selected, and it can be zoomed to the whole board."""

    DEFAULT_CSS = "Board { height: 1fr; width: 1fr; overflow: hidden; }"

    app: TuimonApp

    def __init__(self) -> None:
        super().__init__()
        self.panels: tuple[Panel, ...] = ()
        self.boxes = [PanelBox() for _ in range(FIRST_BOXES)]
        """One box for each place of the page, then unused boxes."""
        self.places: Page = ()
        self.page = 0
        self.page_count = 1
        self.selected = 0
        """Index of the panel that keys act upon."""
        self.zoomed = False
        self.larger = 0
        """Chart size, see ViewState.chart_size."""
        self.frames = False
        """Whether panels have borders if the screen is wide."""
        self.drawing = False
        """Whether boxes are waiting to be drawn."""
        self.room = Size(0, 0)
        """Size for which the boxes are placed."""
        self._drawing: Drawing | None = None
        self._due = asyncio.Event()
        self._batch = ExitStack()
        """Context in which nothing is sent, from the request for a page until it is drawn."""
        self._moved = False
        """Whether boxes have got another place since a page was sent."""
        for box in self.boxes:
            box.display = False
        self._page_layout = _PageLayout()

    def compose(self) -> ComposeResult:
        yield from self.boxes

    @property
    def layout(self) -> Layout:
        """Layout of the boxes. The `layout` style of Textual accepts only Textual's own layouts."""
        return self._page_layout

    def fit(self, room: Size) -> None:
        """Place the boxes for the size that the board will have on the screen. Called before Textual lays out the
        board, so that boxes can be drawn before they become visible."""
        if room != self.room:
            self.room = room
            self.place_boxes()

    def show(self, panels: Sequence[Panel]) -> bool:
        """Set the panels of the board; the selected panel stays selected. Return whether anything changed."""
        if tuple(panels) == self.panels:
            return False
        selected = self.panels[self.selected].id if self.selected < len(self.panels) else ""
        self.panels = tuple(panels)
        index = next((i for i, panel in enumerate(self.panels) if panel.id == selected), None)
        self.zoomed = self.zoomed and index is not None
        self.selected = index or 0
        if index is None:
            self.page = 0
        self.place_boxes()
        return True

    def place_boxes(self) -> None:
        """Assign a box to each place of the current page."""
        before, all_pages = self.places, self._pages()
        self.page_count = len(all_pages)
        self.page = max(0, min(self.page, self.page_count - 1))
        self.places = all_pages[self.page]
        if self.places and self.zoomed:
            self.places = (Box(self.selected, 0, 0, self.room.width, self.room.height),)
        if self.places and all(place.index != self.selected for place in self.places):
            self.selected = self.places[0].index
        missing = [PanelBox() for _ in range(len(self.places) - len(self.boxes))]
        if missing:
            self.boxes += missing
            self.mount(*missing)
        for number, box in enumerate(self.boxes):
            box.display = number < len(self.places)
            if box.display:
                place = self.places[number]
                box.room = Size(place.width, place.height)
                box.bordered = self._is_bordered(place)
                box.assign(self.panels[place.index])
        if self.places != before:
            self._moved = True
            self.boxes[0].refresh(layout=True)  # of a child: only that invalidates Textual's cached arrangement

    @property
    def _has_borders(self) -> bool:
        return self.frames and self.room.width >= BORDERS_FROM

    def _is_bordered(self, place: Box) -> bool:
        return self._has_borders and not self.zoomed and has_border(Size(place.width, place.height))

    def _pages(self) -> tuple[Page, ...]:
        return page_places(self.panels, self.room, self.larger, self._has_borders)

    def resize(self, larger: int) -> bool:
        """Change the chart size. Return False if charts cannot become larger or smaller."""
        width, height = self.room.width, self.room.height
        if larger and self.larger and grid_shape(width, height, larger) == grid_shape(width, height, self.larger):
            return False
        self.larger = larger
        self.page = self._page_of(self.selected)
        self.place_boxes()
        return True

    def on_mount(self) -> None:
        self.run_worker(self._draw_boxes())

    def update(self, drawing: Drawing) -> None:
        """Draw the current page, soon. Boxes are drawn a few at a time, one at a time on a slow link, and the
        event loop runs in between, so that a key never waits for a page. Panels on other pages compute nothing."""
        self._drawing = drawing
        for box, place in zip(self.boxes, self.places, strict=False):
            box.select(self._is_selected(place), drawing.theme)
        if not self.drawing:  # a paint that Textual has scheduled may come before the first box is drawn
            self._batch.enter_context(self.app.batch_update())
        self.drawing = True
        self._due.set()

    def draw_at_once(self) -> None:
        """Draw the whole page before it is laid out: at the start, and when the terminal has another size."""
        for number in range(len(self.places)):
            self._draw_box(number)
        self._align_axes()

    async def _draw_boxes(self) -> None:
        """Draw a page whenever one is due. A page requested meanwhile is begun after the current one."""
        while True:
            await self._due.wait()
            self._due.clear()
            slow = self.app.backpressure.slow
            with nullcontext() if slow else self.app.monitor.pause_writes(), self._batch.pop_all() as batch:
                if slow:
                    batch.close()
                else:
                    batch.enter_context(self.app.batch_update())
                await self._draw_page(batch)
            moved, self._moved = self._moved, False
            textual_patches.send_now(self.screen, moved)
            self.drawing = self._due.is_set()

    async def _draw_page(self, batch: ExitStack) -> None:
        """Draw the boxes of the page. batch: context in which nothing is sent, so that the page is sent as a whole; it
        is closed if drawing takes long."""
        number = 0
        first = begun = self.app.limiter.taken
        while number < len(self.places):  # a key may change them in between
            self._draw_box(number)
            number += 1
            if self.app.backpressure.slow:
                await asyncio.sleep(_SENT_AFTER)
                await self.app.backpressure.drained()
            elif self.app.limiter.taken - begun > _SLICE:
                if self.app.limiter.taken - first > _QUICK:
                    batch.close()  # longer than a key should wait for its result
                    self.screen.check_idle()
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
                begun = self.app.limiter.taken
        if not self.app.backpressure.slow:
            self._draw_new_boxes()
        self._align_axes()

    def _draw_new_boxes(self) -> None:
        """Draw boxes that a key has added or resized meanwhile, or else the page would be sent with holes."""
        for number, box in enumerate(self.boxes[: len(self.places)]):
            if not box.is_drawn:
                self._draw_box(number)

    def _align_axes(self) -> None:
        """Keep a row below the axis free in each chart beside one that has a note there."""
        for row in side_by_side(self.places):
            reserved = any(self.boxes[number].has_note for number in row)
            for number in row:
                self.boxes[number].reserve_note(reserved)

    def _draw_box(self, number: int) -> None:
        if self._drawing is not None:
            with self.app.limiter.piece():
                self.boxes[number].update(self._drawing, self._is_selected(self.places[number]))

    def _is_selected(self, place: Box) -> bool:
        return place.index == self.selected and len(self.places) > 1

    @property
    def panel(self) -> Panel | None:
        """Selected panel, or None if there is no panel."""
        return self.panels[self.selected] if self.selected < len(self.panels) else None

    @property
    def panel_size(self) -> Size:
        """Size of the selected panel without its border; 0 × 0 if it is not on the page."""
        place = next((place for place in self.places if place.index == self.selected), None)
        if place is None:
            return Size(0, 0)
        size = Size(place.width, place.height)
        return inside(size) if self._is_bordered(place) else size

    def open(self, index: int) -> None:
        """Select and zoom a panel."""
        self.selected, self.zoomed = index, True
        self.place_boxes()

    def step(self, by: int) -> bool:
        """Zoom another panel instead of the zoomed one. Return False if no panel is zoomed or there is no other."""
        target = self.selected + by
        if not self.zoomed or not 0 <= target < len(self.panels):
            return False
        self.selected = target
        self.place_boxes()
        return True

    def turn(self, pages: int) -> bool:
        """Go forward or back by pages. Return False if there is no such page or a panel is zoomed."""
        target = max(0, min(self.page_count - 1, self.page + pages))
        if self.zoomed or target == self.page:
            return False
        self.page = target
        self.place_boxes()
        return True

    def move(self, direction: str) -> None:
        """Select the neighbour in a direction; at the edge of a page, turn the page."""
        index = neighbour(self.places, self.selected, direction)
        if index is not None:
            self.selected = index
        else:
            self.turn(1 if direction in ("down", "right") else -1)

    def zoom(self, on: bool) -> None:
        """Zoom the selected panel to the whole board, or return to its page."""
        if self.panels and on != self.zoomed:
            self.zoomed = on
            if not on:
                self.page = self._page_of(self.selected)
            self.place_boxes()

    def _page_of(self, index: int) -> int:
        return next((n for n, page in enumerate(self._pages()) if any(box.index == index for box in page)), 0)
