"""Comparison screen: runs side by side, with the settings that differ and the differences of their metrics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tuimon.draw.rows import justify_row, row_width
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels.lists.comparison import MOST, Comparison
from tuimon.panels.lists.comparison_tables import screen_rows
from tuimon.tui.bars import Line
from tuimon.tui.box import strip

_PADDING = 2
"""Columns of the screen that the rows do not use."""
_KEYS = (("Esc", "back"), ("↓ ↑ ← →", "move"), ("space b", "page"), ("g G", "ends"))


class ComparedRows(ScrollView, can_focus=True):
    """Rows that keys and the mouse wheel scroll."""

    DEFAULT_CSS = "ComparedRows { background: ansi_default; width: 1fr; height: 1fr; padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(("j,down", "scroll_down"), ("k,up", "scroll_up"), ("g,home", "scroll_home"), ("G,end", "scroll_end")),
        *(("h,left", "scroll_left"), ("l,right", "scroll_right")),
        *(("space,pagedown", "page_down"), ("b,pageup", "page_up")),
    ]

    def __init__(self, rows: Sequence[Row], theme: str) -> None:
        super().__init__()
        self._theme = theme
        self.show(rows)

    def on_mount(self) -> None:
        self.focus()

    def show(self, rows: Sequence[Row]) -> None:
        """Show other rows at the same position."""
        self.rows = rows
        self.virtual_size = Size(max(map(row_width, rows), default=0), len(rows))
        self.refresh()

    @property
    def position(self) -> str:
        """Visible rows, such as "rows 1-19 of 60 "; "" if all rows are."""
        top, room, count = self.scroll_offset.y, self.size.height, len(self.rows)
        return f"rows {top + 1}-{min(top + room, count)} of {count} " if count > room else ""

    def render_line(self, y: int) -> Strip:
        x, top = self.scroll_offset
        blank = strip(((" " * self.size.width, Role.TEXT),), self._theme)
        if top + y >= len(self.rows):
            return blank
        line = strip((*self.rows[top + y], (" ", Role.TEXT)), self._theme)
        return line.crop_extend(x, x + self.size.width, strip(((" ", Role.TEXT),), self._theme)._segments[0].style)


class ComparisonScreen(ModalScreen[None]):
    """Tables of a comparison at the time the screen was opened, above a line of keys. Each of the keys that open the
    screen also closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("q,escape,question_mark,a,d", "app.pop_screen")]

    def __init__(self, comparison: Comparison, more: int, symbols: Symbols, theme: str) -> None:
        """more: number of runs that are not compared, because they are too many."""
        super().__init__()
        self._comparison, self._more, self._symbols, self._theme = comparison, more, symbols, theme
        self._now = time.time()
        self.pane, self._keys = ComparedRows((), theme), Line()

    def compose(self) -> ComposeResult:
        yield from (self.pane, self._keys)

    def on_mount(self) -> None:
        for attribute in ("scroll_y", "virtual_size"):
            self.watch(self.pane, attribute, self._draw_keys, init=False)

    def on_resize(self) -> None:
        rows = screen_rows(self._comparison, self._now, self._symbols, self.app.size.width - _PADDING)
        text = f"{self._more} more runs; at most {MOST} are compared"
        self.pane.show([*rows, *([(), ((text, Role.WARNING),)] if self._more > 0 else [])])
        self.call_after_refresh(self._draw_keys)

    def _draw_keys(self) -> None:
        position: Row = ((self.pane.position, Role.ACCENT),)
        keys: list[Span] = []
        for key, label in _KEYS:
            more: Row = (f" {key}", Role.ACCENT), (f" {label} ", Role.MUTED)
            if row_width((*keys, *more, *position)) >= self.size.width:
                break
            keys += more
        self._keys.draw(justify_row(keys, position, self.size.width), self._theme)
