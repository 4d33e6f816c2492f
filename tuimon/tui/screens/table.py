"""Table that renders only the rows on the screen."""

from __future__ import annotations

from abc import abstractmethod

from tuimon.tui.box import CellGrid
from tuimon.tui.screens.wheel import Wheel
from tuimon.tui.screens.work_screen import WorkScreen


class Table(Wheel, CellGrid):
    """Rows below some head rows. One row is selected, and the table scrolls to keep it visible."""

    HEADS = 1
    """Number of head rows."""

    def __init__(self) -> None:
        super().__init__()
        self.cursor = 0
        """Index of the selected row."""
        self.top = 0
        """Index of the first visible row."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of rows."""

    @abstractmethod
    def draw(self) -> None:
        """Draw the visible rows if the table has been given any."""

    @property
    def room(self) -> int:
        """Number of rows that can be visible at once."""
        return max(self.size.height - self.HEADS, 1)

    def move(self, rows: int) -> None:
        """Select another row, or the last one in that direction."""
        self.cursor = max(0, min(self.cursor + rows, self.count - 1))
        self.draw()

    def scroll_to_cursor(self) -> range:
        """Scroll as far as needed to show the selected row and return the indices of the visible rows."""
        self.top = max(min(self.top, self.cursor, self.count - self.room), self.cursor - self.room + 1, 0)
        return range(self.top, min(self.top + self.room, self.count))


class TableScreen(WorkScreen):
    """Work screen whose body is a table."""

    _body: Table

    def move(self, rows: int = 0, pages: int = 0) -> None:
        self._body.move(rows + pages * self._body.room)
