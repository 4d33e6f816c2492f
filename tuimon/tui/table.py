"""Table: rows of any kind with a selected one, of which only those that are visible are drawn. Not a widget.

table = RunTable(); table.surface = Sheet(Size(80, 22)); table.show(contents, "dark"); table.surface.rows
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tuimon.draw.rows import blank, fit_row, wrap_row
from tuimon.draw.table import GAP, Column, Fitted, Order, column_at, cursor_sign, fit_columns, head_row, table_row
from tuimon.model.views import Row, Rows, Size, Symbols

Item = TypeVar("Item")


class Surface(Protocol):
    """Where a table is drawn: a widget, or a Sheet."""

    @property
    def extent(self) -> Size:
        """Columns and rows."""

    def paint_filled(self, rows: Sequence[Row], theme: str) -> None:
        """Display these rows, and blank rows below them."""


class Movable(Protocol):
    """What keys move on a screen: a table, or a text."""

    def move(self, rows: int = 0, pages: int = 0) -> None:
        """Select another row, or scroll."""

    def aside(self, by: int) -> None:
        """Move to the left (by = -1) or to the right (1)."""


class Sheet:
    """Surface that keeps the rows instead of displaying them."""

    def __init__(self, extent: Size) -> None:
        self.extent = extent
        self.rows: Rows = ()
        """Exactly `extent`, once something was drawn."""

    def paint_filled(self, rows: Sequence[Row], theme: str) -> None:
        self.rows = (*rows, *[blank(self.extent.width)] * (self.extent.height - len(rows)))


class Click(NamedTuple):
    """A click on the head of a column ("" beside them), or on an item: on its signs (`mark`), or twice (`open`)."""

    column: str | None = None
    open: bool = False
    mark: bool = False


class Table(Generic[Item]):
    """Items as rows of columns below a head. One is selected, and the table scrolls to keep it visible."""

    SIGNS, GAP = 1, GAP
    """Cells before the first column, and between two columns."""
    TURN = 3
    """Rows by which a turn of the mouse wheel moves."""

    def __init__(self) -> None:
        self.surface: Surface = Sheet(Size(0, 0))
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
        self._fitted_from: tuple[object, ...] = ()
        """Visible items, width and order that `fitted` was made from, which is made again when rows are forgotten."""
        self._is_shown = False
        self._kept: Hashable = None
        """Key of the selected item, which stays selected when the order changes."""

    # ------------------------------------------------------------------ what a table may have besides cells

    def key(self, item: Item) -> Hashable:
        """Return what identifies an item in later snapshots."""
        return item

    def signs(self, item: Item, selected: bool) -> Row:
        """Return the signs before the first column."""
        return (cursor_sign(selected),)

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
    def size(self) -> Size:
        """Columns and rows of the surface."""
        return self.surface.extent

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

    def keep(self) -> None:
        """Keep the selected item selected when the order changes; without items the one before."""
        if (item := self.selected) is not None:
            self._kept = self.key(item)

    def go_to(self, index: int) -> None:
        """Select the item at an index. Outside the list it is the first or last one."""
        self.cursor = max(0, min(index, self.count - 1))
        self.keep()

    def move(self, rows: int = 0, pages: int = 0) -> None:
        """Select another item, or the last one in that direction."""
        self.go_to(self.cursor + rows + pages * self.room)

    def aside(self, by: int) -> None:
        """Move to the left (by = -1) or to the right (1)."""

    def scroll_to_cursor(self) -> range:
        """Scroll as far as needed to show the selected item and return the indices of the visible ones."""
        self.top = max(min(self.top, self.cursor, self.count - self.room), self.cursor - self.room + 1, 0)
        return range(self.top, min(self.top + self.room, self.count))

    def draw(self) -> None:
        """Draw the visible items."""
        width, height = self.size.width, self.size.height
        if width < 2 or height < 1 or not self._is_shown:
            return
        above = self.above()
        self.heads = len(above) + (bool(self.items) and any(column.head for column in self.columns))
        shown = self.scroll_to_cursor()
        visible = self.items[shown.start : shown.stop]
        with_cells = [item for item in visible if self.heading(item, False) is None]
        made_from = shown, width, self.order.by
        if made_from != self._fitted_from or not self._cache:
            self._fitted_from = made_from
            columns = self.columns_for(with_cells)
            fitted = fit_columns(columns, with_cells, width - self.SIGNS, self.GAP, self.order.by, self._seen)
            if fitted != self.fitted:
                self.fitted = fitted
                self._cache.clear()
        self.prepare(with_cells)
        rows = [*above]
        if self.heads > len(above):
            rows.append(head_row(self.fitted, self.order, self.SIGNS, self.GAP))
        rows += (self._row(self.items[index], index == self.cursor) for index in shown)
        if not self.items and self.empty:
            rows += wrap_row(self.empty, width, max(height - len(rows), 1))
        rows += self.below(visible, len(rows))
        self.surface.paint_filled([fit_row(row, width) for row in rows[:height]], self.theme_shown)

    def forget_rows(self) -> None:
        """Draw the rows again although their columns are the same: other items are marked."""
        self._cache.clear()

    def forget_widths(self) -> None:
        """Let columns be as narrow as their contents now are."""
        self._seen.clear()
        self._cache.clear()

    def click(self, x: int, y: int, twice: bool) -> Click:
        """Select the item at a cell; return what was clicked on."""
        index = self.top + y - self.heads
        if y == self.heads - 1:
            column = column_at(self.fitted, x, self.SIGNS, self.GAP)
            return Click(column.id if column else "")
        if y < self.heads or index >= self.count:
            return Click()
        self.go_to(index)
        return Click(None, twice, x < self.SIGNS)

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
