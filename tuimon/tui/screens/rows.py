"""Full-screen list of rows that is scrolled by keys: the base of the help, notes and comparison screens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tuimon.draw.rows import justify_row, row_width, wrap_row
from tuimon.model.views import Role, Row, Span
from tuimon.tui.bars import Line
from tuimon.tui.box import strip

PADDING = 2
"""Columns of the screen that the rows do not use."""
_KEYS = (("Esc", "back"), ("↓ ↑", "move"), ("space b", "page"), ("g G", "ends"))


class Rows(ScrollView, can_focus=True):
    """Rows that keys and the mouse wheel scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(("j,down", "scroll_down"), ("k,up", "scroll_up"), ("g,home", "scroll_home"), ("G,end", "scroll_end")),
        *(("h,left", "scroll_left"), ("l,right", "scroll_right")),
        *(("space,pagedown", "page_down"), ("b,pageup", "page_up")),
    ]

    def __init__(self, rows: Sequence[Row], theme: str, table: bool, width: int) -> None:
        """width: expected width, so that the rows need not be painted again when they are laid out."""
        super().__init__()
        self._unwrapped = rows
        self._theme = theme
        self._table = table
        self._wrap(width)

    def on_mount(self) -> None:
        self.focus()

    def _wrap(self, width: int) -> None:
        lines = (line for row in self._unwrapped for line in wrapped(row, width))
        self._rows = self._unwrapped if self._table else list(lines)

    def replace_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows at the same position."""
        self._unwrapped = rows
        self._layout()
        self.refresh()

    def on_resize(self, event: Resize) -> None:
        self._layout()

    def _layout(self) -> None:
        self._wrap(self.size.width)
        self.virtual_size = Size(max(map(row_width, self._rows), default=0), len(self._rows))

    @property
    def position(self) -> str:
        """Visible rows, such as "rows 1-19 of 60 "; "" if all rows are."""
        top, room, count = self.scroll_offset.y, self.size.height, len(self._rows)
        return f"rows {top + 1}-{min(top + room, count)} of {count} " if count > room else ""

    def render_line(self, y: int) -> Strip:
        x, top = self.scroll_offset
        blank = strip(((" " * self.size.width, Role.TEXT),), self._theme)
        if top + y >= len(self._rows):
            return blank
        line = strip((*self._rows[top + y], (" ", Role.TEXT)), self._theme)
        return line.crop_extend(x, x + self.size.width, strip(((" ", Role.TEXT),), self._theme)._segments[0].style)


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


class RowsScreen(ModalScreen[None]):
    """Rows above a line of keys; each of the keys that open such a screen also closes it."""

    TABLE = False
    """Whether the rows are a table, so that long ones are scrolled sideways instead of wrapped."""
    CSS = "Rows { background: ansi_default; width: 1fr; height: 1fr; padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [("q,escape,question_mark,a", "app.pop_screen")]

    def __init__(self, rows: list[Row], theme: str, keys: Sequence[tuple[str, str]] = ()) -> None:
        """keys: more keys, with their labels, for the last line."""
        super().__init__()
        self.rows = rows
        self._shown_keys = (*_KEYS, *keys)
        self._theme = theme

    def compose(self) -> ComposeResult:
        width = self.app.size.width - PADDING
        self._pane, self._keys = Rows(self.rows, self._theme, self.TABLE, width), Line()
        yield from (self._pane, self._keys)

    def on_mount(self) -> None:
        for attribute in ("scroll_y", "virtual_size", "size"):
            self.watch(self._pane, attribute, self._draw_keys, init=False)

    def _draw_keys(self) -> None:
        position: Row = ((self._pane.position, Role.ACCENT),)
        keys: list[Span] = []
        for key, label in self._shown_keys:
            more: Row = (f" {key}", Role.ACCENT), (f" {label} ", Role.MUTED)
            if row_width((*keys, *more, *position)) >= self.size.width:
                break
            keys += more
        self._keys.draw(justify_row(keys, position, self.size.width), self._theme)
