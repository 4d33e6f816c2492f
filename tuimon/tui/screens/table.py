"""TableGrid: a table on the screen. TableScreen: the keys of the screens that are a table."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from textual import events
from textual.containers import Container
from textual.message import Message
from textual.widget import Widget

from tuimon.draw.table import Order
from tuimon.model.views import Size
from tuimon.tui.action import Action
from tuimon.tui.box import CellGrid
from tuimon.tui.screens.work_screen import WorkScreen
from tuimon.tui.table import Click, Table

Body = TypeVar("Body", bound=Table[Any])


class TableGrid(CellGrid):
    """Surface of a table on the screen, with the mouse."""

    DEFAULT_CSS = "TableGrid { height: 1fr; width: 1fr; }"

    class Clicked(Message):
        """A click on the table."""

        def __init__(self, click: Click) -> None:
            super().__init__()
            self.click = click

    def __init__(self, table: Table[Any]) -> None:
        super().__init__()
        self.table = table
        table.surface = self
        self.room = Size(0, 0)
        """Size that the table will have, before it is laid out."""

    @property
    def extent(self) -> Size:
        return Size(*self.size) if self.size else self.room

    def on_mouse_scroll_down(self) -> None:
        self.table.scroll(1)

    def on_mouse_scroll_up(self) -> None:
        self.table.scroll(-1)

    def on_resize(self) -> None:
        self._rows = ()
        self.table.forget_widths()
        self.table.draw()

    def on_click(self, event: events.Click) -> None:
        click = self.table.click(event.x, event.y, event.chain >= 2)
        if click is not None:
            self.post_message(self.Clicked(click))


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

    def move(self, rows: int = 0, pages: int = 0) -> None:
        self.table.move(rows + pages * self.table.room)

    def mark(self) -> None:
        """Mark the selected row, or remove its mark."""

    def sort_by(self, order: Order) -> None:
        """Sort the rows in another order."""
        self._order = order
        self.dashboard.redraw()

    def next_sort(self, by: int) -> None:
        """Sort by the next column (by = 1) or the previous one (-1)."""
        place = self.sorts.index(self.order.by) if self.order.by in self.sorts else 0
        self.sort_by(Order(self.sorts[(place + by) % len(self.sorts)]))

    def reverse_order(self) -> None:
        """Reverse the order."""
        self.sort_by(Order(self.order.by, not self.order.reverse))

    def on_table_grid_clicked(self, event: TableGrid.Clicked) -> None:
        column, opens, marks = event.click
        if column is not None:
            again = column == self.order.by
            self.sort_by(Order(column, again and not self.order.reverse))
        elif opens:
            self.open()
        elif marks:
            self.mark()
