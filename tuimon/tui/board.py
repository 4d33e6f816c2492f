"""The dashboard: panels on pages. draw.layout says where panels go; there are widgets for the present page alone, and
they are used again for the next one, so a run of ten thousand metrics costs what a page of charts costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext

from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import NULL_OFFSET, NULL_SIZE, NULL_SPACING, Region
from textual.geometry import Size as Cells
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from tuimon.draw.layout import Box, Page, Wish, grid_of, neighbour, pages
from tuimon.model.alerts import Alert
from tuimon.model.views import Size, Symbols
from tuimon.panels import PLAIN, Look, Panel
from tuimon.store import Run
from tuimon.tui import _textual
from tuimon.tui.box import PanelBox
from tuimon.tui.link import Link
from tuimon.tui.pace import Pace

FIRST_BOXES = 10
"""Made with the board, so that the first page need not wait for its widgets."""
_SLICE = 0.005
"""Seconds of drawing after which the event loop goes on …"""
_TURNS = 5
"""… for so many turns: a key takes no more from the terminal to what it does."""
_QUICK = 0.05
"""Seconds of drawing after which a page is sent box by box."""
_SENT_AFTER = 0.03
"""Seconds after which Textual has sent what was drawn."""


class _Placed(Layout):
    """Puts the board's boxes where the page says."""

    name = "placed"

    def arrange(self, parent: Widget, children: list[Widget], size: Cells, greedy: bool = True) -> ArrangeResult:
        assert isinstance(parent, Board)
        found = []
        for child, place in zip(parent.boxes, parent.places, strict=False):
            region = Region(place.x, place.y, place.width, place.height)
            found.append(WidgetPlacement(region, NULL_OFFSET, NULL_SPACING, child))
        return found


class Board(Container):
    """Panels in boxes, a page at a time; one panel is selected, one may be zoomed to the whole board."""

    DEFAULT_CSS = "Board { height: 1fr; width: 1fr; overflow: hidden; }"
    virtual_size = _textual.unscrolled()

    def __init__(
        self,
        pace: Pace,
        link: Link,
        undisturbed: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """undisturbed: a context in which no other thread competes for the interpreter."""
        super().__init__()
        self.panels: tuple[Panel, ...] = ()
        self.boxes = [PanelBox() for _ in range(FIRST_BOXES)]
        """One for each place of the page; more may be there, unused."""
        self.places: Page = ()
        self.page = 0
        self.page_count = 1
        self.selected = 0
        """Index of the panel that keys act upon."""
        self.zoomed = False
        self.larger = 0
        """See draw.layout.pages."""
        self.drawing = False
        """Whether boxes wait to be drawn."""
        self._pace = pace
        self._link = link
        self._undisturbed = undisturbed
        self.room = NULL_SIZE
        """See fit."""
        self._wanted: tuple[Run | None, float, Symbols, str, Look, tuple[Alert, ...]] | None = None
        self._due = asyncio.Event()
        for box in self.boxes:
            box.display = False

        self._placed = _Placed()

    def compose(self) -> ComposeResult:
        yield from self.boxes

    @property
    def layout(self) -> Layout:
        """Textual's setter for styles knows its own layouts only."""
        return self._placed

    def fit(self, room: Cells) -> None:
        """The cells that it is given on the screen. Told before it is laid out there, so that boxes can be drawn for
        their places before they are seen."""
        if room != self.room:
            self.room = room
            self.place_boxes()

    def show(self, panels: Sequence[Panel]) -> bool:
        """Makes these the board's panels. The selection stays with its panel. True when something changed."""
        if tuple(panels) == self.panels:
            return False
        before = self.panels[self.selected].id if self.selected < len(self.panels) else ""
        self.panels = tuple(panels)
        same = next((i for i, panel in enumerate(self.panels) if panel.id == before), None)
        self.zoomed = self.zoomed and same is not None
        self.selected = same or 0
        if same is None:
            self.page = 0
        self.place_boxes()
        return True

    def place_boxes(self) -> None:
        """Gives each place of the present page a box."""
        before, made = self.places, self._pages()
        self.page_count = len(made)
        self.page = max(0, min(self.page, self.page_count - 1))
        self.places = made[self.page]
        if self.places and self.zoomed:
            self.places = (Box(self.selected, 0, 0, *self.room),)
        if self.places and all(place.index != self.selected for place in self.places):
            self.selected = self.places[0].index
        missing = [PanelBox() for _ in range(len(self.places) - len(self.boxes))]
        if missing:
            self.boxes += missing
            self.mount(*missing)
        for number, box in enumerate(self.boxes):
            used = number < len(self.places)
            box.display = used
            if used:
                place = self.places[number]
                box.room = Size(place.width, place.height)
                box.assign(self.panels[place.index])
        if self.places != before:
            self.boxes[0].refresh(layout=True)  # a child's: only that makes Textual forget how it was arranged

    def _pages(self) -> tuple[Page, ...]:
        return pages(*self.room, [Wish(panel.kind, panel.rows) for panel in self.panels], self.larger)

    def resize(self, larger: int) -> bool:
        """Makes charts larger or smaller; False where they cannot be."""
        if larger and self.larger and grid_of(*self.room, larger) == grid_of(*self.room, self.larger):
            return False
        self.larger = larger
        self.page = self._page_of(self.selected)
        self.place_boxes()
        return True

    def on_mount(self) -> None:
        self.run_worker(self._draw_boxes())

    def update(
        self,
        run: Run | None,
        now: float,
        symbols: Symbols,
        theme: str,
        look: Look = PLAIN,
        alerts: tuple[Alert, ...] = (),
    ) -> None:
        """What the present page shows from now on. Boxes are drawn a few at a time, one at a time on a slow link, and
        the event loop goes on in between: a key never waits behind a page. Panels on other pages compute nothing."""
        self._wanted = run, now, symbols, theme, look, alerts
        for box, place in zip(self.boxes, self.places, strict=False):
            box.select(self._is_selected(place), theme)
        self.drawing = True
        self._due.set()

    def draw_at_once(self) -> None:
        """The whole page, before it is laid out: at the start, and in another size of the terminal."""
        for number in range(len(self.places)):
            self._draw_box(number)

    async def _draw_boxes(self) -> None:
        """As long as there is a board. A page that is wanted anew meanwhile is begun once this one is done."""
        while True:
            await self._due.wait()
            self._due.clear()
            slow = self._link.slow
            with nullcontext() if slow else self._undisturbed(), ExitStack() as batch:
                if not slow:
                    batch.enter_context(self.app.batch_update())
                await self._draw_page(batch)
            _textual.send_now(self.screen)
            self.drawing = self._due.is_set()

    async def _draw_page(self, batch: ExitStack) -> None:
        """batch: within it nothing is sent, so that a page goes as one; a slow page leaves it."""
        number = 0
        first = begun = self._pace.taken
        while number < len(self.places):  # a key may change them in between
            self._draw_box(number)
            number += 1
            if self._link.slow:
                await asyncio.sleep(_SENT_AFTER)
                await self._link.drained()
            elif self._pace.taken - begun > _SLICE:
                if self._pace.taken - first > _QUICK:
                    batch.close()  # it takes longer than one should wait for the answer to a key
                    self.screen.check_idle()
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
                begun = self._pace.taken
        if not self._link.slow:
            self._draw_boxes_that_came_meanwhile()

    def _draw_boxes_that_came_meanwhile(self) -> None:
        """By a key: before what has been drawn is sent, as it would be sent with holes."""
        for number, box in enumerate(self.boxes[: len(self.places)]):
            if not box.is_drawn:
                self._draw_box(number)

    def _draw_box(self, number: int) -> None:
        if self._wanted is None:
            return
        run, now, symbols, theme, look, alerts = self._wanted
        selected = self._is_selected(self.places[number])
        with self._pace.piece():
            self.boxes[number].update(run, now, symbols, theme, selected, look, alerts)

    def _is_selected(self, place: Box) -> bool:
        return place.index == self.selected and len(self.places) > 1

    @property
    def panel(self) -> Panel | None:
        """The one that keys act upon."""
        return self.panels[self.selected] if self.selected < len(self.panels) else None

    @property
    def panel_size(self) -> Size:
        """Its size; 0 × 0 where it is not on the page."""
        found = next((place for place in self.places if place.index == self.selected), None)
        return Size(found.width, found.height) if found is not None else Size(0, 0)

    def open(self, index: int) -> None:
        """Zooms a panel, whatever was zoomed."""
        self.selected, self.zoomed = index, True
        self.place_boxes()

    def step(self, by: int) -> bool:
        """Zooms the next panel, or one further away, in place of this one."""
        target = self.selected + by
        if not self.zoomed or not 0 <= target < len(self.panels):
            return False
        self.selected = target
        self.place_boxes()
        return True

    def turn(self, pages: int) -> bool:
        """Goes on or back by pages."""
        target = max(0, min(self.page_count - 1, self.page + pages))
        if self.zoomed or target == self.page:
            return False
        self.page = target
        self.place_boxes()
        return True

    def move(self, direction: str) -> None:
        """Selects the neighbour; at the edge of a page, the next or the previous page."""
        forward = direction in ("down", "right")
        found = neighbour(self.places, self.selected, direction)
        if found is not None:
            self.selected = found
        else:
            self.turn(1 if forward else -1)

    def zoom(self, on: bool) -> None:
        """Gives the selected panel the whole board, or takes it back."""
        if self.panels and on != self.zoomed:
            self.zoomed = on
            if not on:
                self.page = self._page_of(self.selected)
            self.place_boxes()

    def _page_of(self, index: int) -> int:
        return next((n for n, page in enumerate(self._pages()) if any(box.index == index for box in page)), 0)
