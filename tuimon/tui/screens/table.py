"""Table: rows of any kind with a selected one, of which only those on the screen are drawn; TableScreen: its keys."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from textual.events import Click
from textual.message import Message

from tuimon.draw.rows import fit_row, wrap_row
from tuimon.draw.table import GAP, Column, Fitted, Order, column_at, cursor_sign, fit_columns, head_row, table_row
from tuimon.model.views import Row, Rows, Symbols
from tuimon.tui.box import CellGrid
from tuimon.tui.screens.wheel import Wheel
from tuimon.tui.screens.work_screen import WorkScreen

Item = TypeVar("Item")


class Table(Wheel, CellGrid, Generic[Item]):
    """Items as rows of columns below a head. One is selected, and the table scrolls to keep it visible."""

    DEFAULT_CSS = "Table { height: 1fr; width: 1fr; }"
    SIGNS, GAP = 1, GAP
    """Cells before the first column, and between two columns."""

    class Clicked(Message):
        """A click on the head of a column ("" beside them), or on an item: on its signs (`mark`), or twice (`open`)."""

        def __init__(self, column: str | None = None, open: bool = False, mark: bool = False) -> None:
            super().__init__()
            self.column, self.open, self.mark = column, open, mark

    def __init__(self) -> None:
        super().__init__()
        self.items: Sequence[Item] = ()
        self.columns: tuple[Column[Any], ...] = ()
        self.order = Order()
        self.fitted: Fitted[Item] = ()
        """Columns that are displayed."""
        self.cursor = 0
        """Index of the selected item."""
        self.top = 0
        """Index of the first visible item."""
        self.symbols, self.theme_shown = Symbols.BRAILLE, "dark"
        self.empty: Row = ()
        """What is displayed in place of missing items."""
        self.heads = 1
        """Number of rows above the first item."""
        self._seen: dict[str, int] = {}
        self._cache: dict[tuple[Hashable, bool], Row] = {}
        self._is_shown = False
        self._kept: Hashable = None
        """Key of the selected item, which stays selected when the order changes."""

    # ------------------------------------------------------------------ what a table may have besides cells

    def key(self, item: Item) -> Hashable:
        """Return what identifies an item in later snapshots."""
        return item

    def signs(self, item: Item, selected: bool) -> Row:
        """Return the signs before the first column."""
        return (cursor_sign(selected, self.symbols),)

    def heading(self, item: Item, selected: bool) -> Row | None:
        """Return the row of an item without cells, such as the heading of a group; None for one with cells."""
        return None

    def above(self) -> Rows:
        """Return rows above the head of the columns."""
        return ()

    def below(self, visible: Sequence[Item], taken: int) -> Rows:
        """Return rows below the visible items. taken: number of rows above them."""
        return ()

    def columns_for(self, visible: Sequence[Item]) -> tuple[Column[Any], ...]:
        """Return the columns, given the items that are visible."""
        return self.columns

    def prepare(self, visible: Sequence[Item]) -> None:
        """Do what needs the widths of the columns before the rows are drawn."""

    # ------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def selected(self) -> Item | None:
        """The selected item; None without any."""
        return self.items[self.cursor] if 0 <= self.cursor < self.count else None

    @property
    def room(self) -> int:
        """Number of items that can be visible at once."""
        return max(self.size.height - self.heads, 1)

    def show_items(
        self, items: Sequence[Item], columns: tuple[Column[Any], ...], order: Order, symbols: Symbols, theme: str
    ) -> None:
        """Display these items in this order; the selected one stays selected if it is among them.

        The rows are drawn again only if `items` or `columns` is another object than before.
        """
        if columns is not self.columns or symbols is not self.symbols:
            self._cache.clear()
        self.columns, self.order, self.symbols, self.theme_shown = columns, order, symbols, theme
        self._is_shown = True
        if items is not self.items:
            self.items = items
            self._cache.clear()
            if not self.cursor < self.count or self.key(items[self.cursor]) != self._kept:
                self.cursor = self._place_of(self._kept, max(0, min(self.cursor, self.count - 1)))
        self.draw()

    def select(self, key: Hashable) -> None:
        """Select an item by its key if it is among the items, now or when they are displayed."""
        self._kept = key
        self.cursor = self._place_of(key, self.cursor)
        self.draw()

    def keep(self) -> None:
        """Keep the selected item selected when the order changes; without items the one before."""
        if (item := self.selected) is not None:
            self._kept = self.key(item)

    def move(self, rows: int) -> None:
        """Select another item, or the last one in that direction."""
        self.cursor = max(0, min(self.cursor + rows, self.count - 1))
        self.keep()
        self.draw()

    def scroll_to_cursor(self) -> range:
        """Scroll as far as needed to show the selected item and return the indices of the visible ones."""
        self.top = max(min(self.top, self.cursor, self.count - self.room), self.cursor - self.room + 1, 0)
        return range(self.top, min(self.top + self.room, self.count))

    def draw(self) -> None:
        """Draw the visible items."""
        width, height = self.size
        if width < 2 or height < 1 or not self._is_shown:
            return
        above = self.above()
        self.heads = len(above) + (bool(self.items) and any(column.head for column in self.columns))
        shown = self.scroll_to_cursor()
        visible = self.items[shown.start : shown.stop]
        with_cells = [item for item in visible if self.heading(item, False) is None]
        columns = self.columns_for(with_cells)
        fitted = fit_columns(columns, with_cells, width - self.SIGNS, self.GAP, self.order.by, self._seen)
        if fitted != self.fitted:
            self.fitted = fitted
            self._cache.clear()
        self.prepare(with_cells)
        head = [head_row(fitted, self.order, self.symbols, self.SIGNS, self.GAP)] if self.heads > len(above) else []
        rows = [*above, *head, *(self._row(self.items[index], index == self.cursor) for index in shown)]
        if not self.items and self.empty:
            rows += wrap_row(self.empty, width, max(height - len(rows), 1))
        rows += self.below(visible, len(rows))
        self.paint_filled([fit_row(row, width) for row in rows[:height]], self.theme_shown)

    def forget_rows(self) -> None:
        """Draw the rows again although their columns are the same: other items are marked."""
        self._cache.clear()
        self.draw()

    def forget_widths(self) -> None:
        """Let columns be as narrow as their contents now are."""
        self._seen.clear()
        self._cache.clear()

    def on_resize(self) -> None:
        self._rows = ()
        self.forget_widths()
        self.draw()

    def on_click(self, event: Click) -> None:
        index = self.top + event.y - self.heads
        if event.y == self.heads - 1:
            column = column_at(self.fitted, event.x, self.SIGNS, self.GAP)
            self.post_message(self.Clicked(column.id if column else ""))
        elif event.y >= self.heads and index < self.count:
            self.move(index - self.cursor)
            self.post_message(self.Clicked(None, event.chain >= 2, event.x < self.SIGNS))

    def _row(self, item: Item, selected: bool) -> Row:
        key = self.key(item), selected
        row = self._cache.get(key)
        if row is None:
            row = self.heading(item, selected)
            if row is None:
                row = table_row(self.fitted, item, self.signs(item, selected), self.GAP, selected)
            self._cache[key] = row
        return row

    def _place_of(self, key: Hashable, otherwise: int) -> int:
        return next((index for index, item in enumerate(self.items) if self.key(item) == key), otherwise)


class TableScreen(WorkScreen, Generic[Item]):
    """Work screen whose body is a table: movement, order and clicks."""

    table: Table[Item]
    _order = Order()

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

    def on_table_clicked(self, event: Table.Clicked) -> None:
        if event.column is not None:
            again = event.column == self.order.by
            self.sort_by(Order(event.column, again and not self.order.reverse))
        elif event.open:
            self.open()
        elif event.mark:
            self.mark()
