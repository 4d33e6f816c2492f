"""Widgets of the texts view: the list and the text."""

from __future__ import annotations

from collections.abc import Callable

from textual.events import Click

from tuimon.draw.rows import fit_row
from tuimon.model.views import Row, Size
from tuimon.tui.box import CellGrid
from tuimon.tui.screens.table import Table
from tuimon.tui.screens.text_choice import SCATTER, Choice
from tuimon.tui.screens.text_list import Columns, list_rows, scatter_rows
from tuimon.tui.screens.wheel import Wheel
from tuimon.tui.state import ViewState


class SampleTable(Table):
    """The list of samples or groups."""

    DEFAULT_CSS = "SampleTable { height: 1fr; width: 1fr; }"

    def __init__(self, chosen: Callable[[], object]) -> None:
        """chosen: called when another row has been selected."""
        super().__init__()
        self._chosen = chosen
        self.choice = Choice()
        self._state: ViewState | None = None
        self._columns: tuple[object, int, Columns] | None = None

    @property
    def count(self) -> int:
        return self.choice.count

    def move(self, rows: int) -> None:
        super().move(rows)
        self._chosen()

    def show(self, state: ViewState) -> None:
        """Display the current choice."""
        self._state = state
        self.cursor = max(0, min(self.cursor, self.count - 1))
        self.draw()

    def draw(self) -> None:
        width, height = self.size
        if self._state is None or width < 2 or height < 1:
            return
        entries = self.choice.entries
        if self._columns is None or self._columns[0] is not entries or self._columns[1] != width:
            self._columns = entries, width, Columns(entries, width)
        shown, symbols = self.scroll_to_cursor(), self._state.symbols
        if self.choice.mode == SCATTER:
            rows = scatter_rows(self.choice, self.cursor, symbols, Size(width, height))
            self.paint_filled(rows, self._state.theme)
            return
        rows = list_rows(self.choice, self._columns[2], shown, self.cursor, symbols, width)
        self.paint_filled(rows[:height], self._state.theme)

    def on_resize(self) -> None:
        self._rows = ()
        self.draw()

    def on_click(self, event: Click) -> None:
        index = self.top + event.y - self.HEADS
        if event.y and index < self.count and self.choice.mode != SCATTER:
            self.move(index - self.cursor)


class TextPane(Wheel, CellGrid):
    """The rows of a text, scrolled."""

    DEFAULT_CSS = "TextPane { height: 1fr; width: 1fr; }"

    def __init__(self, on_new_size: Callable[[], object]) -> None:
        """on_new_size: called when the pane has another size."""
        super().__init__()
        self._on_new_size = on_new_size
        self.lines: list[Row] = []
        self.top = 0
        self._theme_shown = "dark"

    @property
    def last(self) -> int:
        """Largest value of `top`."""
        return max(0, len(self.lines) - self.size.height)

    def show(self, lines: list[Row], theme: str) -> None:
        """Display these rows; the position is kept if possible."""
        self.lines, self._theme_shown = lines, theme
        self.move()

    def draw(self, theme: str) -> None:
        """Draw the visible rows in a theme."""
        self._theme_shown = theme
        self.move()

    def move(self, rows: int = 0, pages: int = 0) -> None:
        """Scroll down (positive) or up."""
        self.top = max(0, min(self.top + rows + pages * max(1, self.size.height - 1), self.last))
        width, height = self.size
        if width > 1 and height > 0:
            self.paint_filled(
                [fit_row(row, width) for row in self.lines[self.top : self.top + height]], self._theme_shown
            )

    def on_resize(self) -> None:
        self._on_new_size()
