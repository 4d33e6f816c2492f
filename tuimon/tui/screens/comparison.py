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
from tuimon.panels.lists.compared_runs import compared_runs
from tuimon.panels.lists.comparison import comparison_table
from tuimon.store import Run
from tuimon.tui.bars import Line
from tuimon.tui.box import strip

MOST = 12
"""Maximum number of runs in one table."""
_PADDING = 2
"""Columns of the screen that the rows do not use."""
_KEYS = (("Esc", "back"), ("↓ ↑", "move"), ("space b", "page"), ("g G", "ends"))


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
    """Table of runs at the time the screen was opened, above a line of keys; the first run is the base of the
    comparison. Each of the keys that open the screen also closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,escape,question_mark,a,d", "app.pop_screen"),
        ("right_square_bracket", "skip_runs(1)"),
        ("left_square_bracket", "skip_runs(-1)"),
    ]

    def __init__(
        self, runs: Sequence[Run], failures: Sequence[str], symbols: Symbols, theme: str, width: int, x: str = "step"
    ) -> None:
        """x: axis along which the runs are compared."""
        super().__init__()
        self._runs, self._symbols, self._theme = runs, symbols, theme
        self._comparison = compared_runs(runs[:MOST], failures[:MOST], x)
        self._skipped, self._now = 0, time.time()
        self._shown_keys = (*_KEYS, *([("] [", "runs")] if len(runs) > 2 else []))
        self.pane, self._keys = ComparedRows(self._table(width), theme), Line()

    def compose(self) -> ComposeResult:
        yield from (self.pane, self._keys)

    def on_mount(self) -> None:
        for attribute in ("scroll_y", "virtual_size"):
            self.watch(self.pane, attribute, self._draw_keys, init=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_keys)

    def _draw_keys(self) -> None:
        position: Row = ((self.pane.position, Role.ACCENT),)
        keys: list[Span] = []
        for key, label in self._shown_keys:
            more: Row = (f" {key}", Role.ACCENT), (f" {label} ", Role.MUTED)
            if row_width((*keys, *more, *position)) >= self.size.width:
                break
            keys += more
        self._keys.draw(justify_row(keys, position, self.size.width), self._theme)

    def _table(self, width: int) -> list[Row]:
        more = len(self._runs) - MOST
        keys = "] shows the next, [ the one before"
        rows = comparison_table(self._comparison, self._now, self._symbols, width - _PADDING, self._skipped, keys)
        text = f"{more} more runs are marked; at most {MOST} can be compared"
        return [*rows, *([(), ((text, Role.WARNING),)] if more > 0 else [])]

    def action_skip_runs(self, count: int) -> None:
        """Leave out more or fewer of the runs after the base, so that others fit."""
        self._skipped = min(max(self._skipped + count, 0), max(len(self._runs[:MOST]) - 2, 0))
        self.pane.show(self._table(self.app.size.width))
