"""TableGrid: a table on the screen. TableScreen: the keys of the screens that are a table."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from textual import events
from textual.containers import Container
from textual.widget import Widget

from tuimon.draw.table import Order
from tuimon.model.views import Size
from tuimon.tui.action import Action
from tuimon.tui.box import CellGrid
from tuimon.tui.screens.wheel import Wheel
from tuimon.tui.screens.work_screen import WorkScreen
from tuimon.tui.table import Movable, Table

Body = TypeVar("Body", bound=Table[Any])


class TableGrid(Wheel, CellGrid):
    """Surface of a table on the screen."""

    DEFAULT_CSS = "TableGrid { height: 1fr; width: 1fr; }"

    def __init__(self, table: Table[Any]) -> None:
        super().__init__()
        self.table, self.TURN = table, table.TURN
        table.surface = self
        self.room = Size(0, 0)
        """Size that the table will have, before it is laid out."""

    @property
    def extent(self) -> Size:
        return Size(*self.size) if self.size else self.room

    def move(self, rows: int) -> None:
        self.table.move(rows)

    def on_resize(self) -> None:
        self._rows = ()
        self.table.forget_widths()
        self.table.draw()


class TableScreen(WorkScreen, Generic[Body]):
    """Work screen with a table: movement, order and clicks."""

    _order = Order()

    def __init__(self, actions: tuple[Action, ...], table: Body, *others: Widget) -> None:
        """others: further widgets, beside the table or in its place."""
        self.table, self.grid = table, TableGrid(table)
        super().__init__(actions, Container(self.grid, *others) if others else self.grid)

    @property
    def order(self) -> Order:
        """Order of the rows."""
        return self._order

    @property
    def sorts(self) -> tuple[str, ...]:
        """Orders that keys go through: the given one, and by each column that is displayed."""
        return ("", *(column.id for column, _ in self.table.fitted))

    @property
    def moved(self) -> Movable:
        """Part of the screen that keys move."""
        return self.table

    def move(self, rows: int = 0, pages: int = 0) -> None:
        self.moved.move(rows, pages)

    def aside(self, by: int) -> None:
        self.moved.aside(by)

    def mark(self) -> None:
        """Mark the selected row, or remove its mark."""

    def sort_by(self, order: Order) -> None:
        """Sort the rows in another order."""
        self._order = order

    def next_sort(self, by: int) -> None:
        """Sort by the next column (by = 1) or the previous one (-1)."""
        place = self.sorts.index(self.order.by) if self.order.by in self.sorts else 0
        self.sort_by(Order(self.sorts[(place + by) % len(self.sorts)]))

    def reverse_order(self) -> None:
        """Reverse the order."""
        self.sort_by(Order(self.order.by, not self.order.reverse))

    def on_click(self, event: events.Click) -> None:
        if not isinstance(event.widget, TableGrid):
            return
        column, opens, marks = event.widget.table.click(event.x, event.y, event.chain >= 2)
        if column is not None:
            again = column == self.order.by
            self.sort_by(Order(column, again and not self.order.reverse))
        elif opens:
            self.open()
        elif marks:
            self.mark()
        self.app.redraw()
