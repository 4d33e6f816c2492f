"""Base of the screens of text lines that can be selected, filtered and opened: the help and the alerts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

from tuimon.draw.numbers import thousands
from tuimon.draw.rows import row_width, wrap_row
from tuimon.draw.table import cursor_sign
from tuimon.model.views import Role, Row
from tuimon.text import clean
from tuimon.tui.action import Action
from tuimon.tui.screens.table import TableScreen
from tuimon.tui.screens.work_screen import head_of
from tuimon.tui.table import Table

Target = TypeVar("Target")
_MARGIN = 2


class Entry(NamedTuple, Generic[Target]):
    """A line before it is wrapped."""

    row: Row
    target: Target | None = None
    """Target that Enter opens, or None."""
    key: Hashable = None
    """What the line is about, by which it stays selected when the lines change; None: its text."""


class LinesTable(Table[Entry[Target]], Generic[Target]):
    """Wrapped lines with a selected one."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: Sequence[Entry[Target]] = ()
        self._wrapped_at = -1

    @property
    def target(self) -> Target | None:
        """Target that the selected line opens, or None."""
        return self.selected.target if self.selected is not None else None

    @property
    def position(self) -> str:
        """Visible lines, such as "rows 1-19 of 60"; "" if all lines are."""
        last = min(self.top + self.room, self.count)
        return f"rows {self.top + 1}-{last} of {thousands(self.count)}" if self.count > self.room else ""

    def key(self, item: Entry[Target]) -> Hashable:
        return item.key

    def move(self, rows: int = 0, pages: int = 0) -> None:
        self.top = max(0, min(self.top + pages * self.room, self.count - self.room))  # a page moves the view, too
        super().move(rows, pages)

    def heading(self, item: Entry[Target], selected: bool) -> Row:
        return cursor_sign(selected), *item.row

    def show(self, entries: Sequence[Entry[Target]], theme: str) -> None:
        """Display these lines. The same object as before is not wrapped again."""
        lines = self.items
        if entries is not self._entries or self._wrapped_at != self.size.width:
            self._entries, self._wrapped_at = entries, self.size.width
            width = max(self.size.width - _MARGIN, 1)
            lines, seen = [], Counter[Hashable]()
            for entry in entries:
                about = entry.row if entry.key is None else entry.key
                for row in wrapped(entry.row, width):
                    lines.append(entry._replace(row=row, key=(about, seen[about]) if seen[about] else about))
                    seen[about] += 1
            self._cache.clear()
        self.show_items(lines, (), self.order, self.symbols, theme)
        self.keep()


class LinesScreen(TableScreen[LinesTable[Target]], Generic[Target]):
    """Lines that keys select and filter."""

    def __init__(self, actions: tuple[Action, ...]) -> None:
        super().__init__(actions, LinesTable())

    def draw_entries(self, entries: Sequence[Entry[Target]], title: str, theme: str) -> None:
        """Display the lines below a title."""
        if not self.table.size.width:  # before the first layout
            return
        self.table.show(entries, theme)
        query = f"/{clean(self.query_text)}" if self.query_text else ""
        self.draw_lines(head_of(title, (query, Role.ACCENT), (self.table.position, Role.MUTED)), theme)


def wrapped(row: Row, width: int) -> list[Row]:
    """Wrap a row at `width` cells; continuation lines are indented to the end of its first span if others follow and it
    takes at most half the width, or else as much as the first line."""
    if row_width(row) <= width:
        return [row]
    first, role = row[0]
    head, rest = (first, role), row[1:]
    if not rest or 2 * row_width((head,)) > width:
        blanks = len(first) - len(first.lstrip())
        head, rest = (first[:blanks], role), ((first[blanks:], role), *rest)
    indent = row_width((head,))
    if 2 * indent > width:
        return [row]
    lines = wrap_row(rest, width - indent, sum(len(text) for text, _ in rest))
    return [((head if not index else (" " * indent, role)), *line) for index, line in enumerate(lines)]
