"""Pages of a console log: which lines are visible and which one is selected. This module has no widget, and every call
may read the file, so that callers run it in a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:  # not needed at start-up
    from tuimon.reader.log_text import LogLine, LogText, SearchResult

_ABOVE = 3
"""A line that is jumped to is placed below 1/3 of the page, so that the lines that led to it are visible."""


_MOST_COUNTED = 200
"""Number of matches up to which they are counted."""
Search = Callable[[int, bool], "SearchResult"]
"""Finds the next line that matches after an offset, or before it if the second argument is true."""


class Page(Struct, frozen=True):
    """The lines that are visible."""

    lines: tuple[LogLine, ...] = ()
    selected: int = 0
    """Index of the selected line."""
    following: bool = True
    """Whether new lines are shown as they are written."""
    step: int | None = None
    """Training step of the selected line."""
    size: int = 0
    """Size of the file in bytes."""
    message: str = ""
    """Why the file cannot be read; "" if it can."""

    @property
    def line(self) -> LogLine | None:
        """Selected line, or None on an empty page."""
        return self.lines[self.selected] if self.selected < len(self.lines) else None

    @property
    def share(self) -> float:
        """Fraction of the file up to the end of the page; 1 for an empty file."""
        return self.lines[-1].end / self.size if self.lines and self.size else 1.0


class Pager:
    """Moves through one log. Only `cancel` may be called while another thread is in a method."""

    def __init__(self, log: LogText) -> None:
        self.log = log
        self.page = Page()
        self._generation = log.generation
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """End the running search, from any thread."""
        self._cancelled.set()

    def refresh(self, rows: int) -> Page:
        """Return the page as it is now, for `rows` visible rows."""
        changed = self.log.refresh()
        page = self.page
        if self._generation != self.log.generation or not page.lines or (page.following and changed):
            self._generation = self.log.generation
            return self.end(rows)
        if changed or len(page.lines) != rows or self.log.message != page.message:
            lines = self.log.lines(page.lines[0].offset, rows)
            if page.following and len(lines) < rows:
                return self.end(rows)
            return self._show(lines, min(page.selected, max(0, len(lines) - 1)), page.following)
        return page

    def end(self, rows: int) -> Page:
        """Go to the last lines and follow new ones."""
        lines = self.log.before(self.log.size, rows)
        return self._show(lines, max(0, len(lines) - 1), True)

    def start(self, rows: int) -> Page:
        """Go to the first lines."""
        return self._show(self.log.lines(0, rows), 0, False)

    def move(self, by: int, rows: int) -> Page:
        """Select another line and scroll if needed. Moving past the last line follows new ones again."""
        page = self.page
        if not page.lines:
            return self.refresh(rows)
        lines, selected = list(page.lines), page.selected + by
        if selected < 0:
            more = self.log.before(lines[0].offset, -selected)
            lines, selected = (more + lines)[:rows], 0
        elif selected >= len(lines):
            more = self.log.lines(lines[-1].end, selected - len(lines) + 1) if lines[-1].end < self.log.size else []
            lines = (lines + more)[-rows:]
            selected = len(lines) - 1
        following = by > 0 and selected == len(lines) - 1 and lines[-1].end >= self.log.size
        return self._show(lines, selected, following)

    def find(self, what: str, text: str, backwards: bool, rows: int) -> str:
        """Go to the next line of a kind; after the last one to the first. Return its number among all of them, or that
        there is none.

        what: "match", a line that contains `text`; "error"; "warning".
        """
        searches: dict[str, Search] = {"error": self.log.next_error, "warning": self.log.next_warning}
        search = searches.get(what) or partial(self.log.search, text)
        self._cancelled.clear()
        line, end = self.page.line, self.log.size if backwards else 0
        here = end if line is None else line.offset if backwards else line.end
        for offset in (here, end):
            while not self._cancelled.is_set():
                result = search(offset, backwards)
                if result.line is not None:
                    self._show_around(result.line.offset, rows)
                    position = self._position(search)
                    return f"{what.capitalize()} {position}" if position else ""
                if result.done:
                    break
                offset = result.reached
        return "" if self._cancelled.is_set() else f"No {what} in this text"

    def _position(self, search: Search) -> str:
        """Return the number of the selected line among the lines that match, such as "2 of 5"; "" if there are many."""
        line, offset, number, total = self.page.line, 0, 0, 0
        while line is not None and total <= _MOST_COUNTED and not self._cancelled.is_set():
            result = search(offset, False)
            if result.line is None:
                return f"{number} of {total}" if result.done and number else ""
            total += 1
            number = total if result.line.offset == line.offset else number
            offset = result.line.end
        return ""

    def find_step(self, step: int, rows: int) -> bool:
        """Go to the metrics row of the last training step up to `step`. Return False if the log has no steps."""
        offset = self.log.offset_of(step)
        if offset is not None:
            self._show_around(offset, rows)
        return offset is not None

    def go_to(self, offset: int, rows: int) -> None:
        """Go to the line that begins at a byte offset."""
        self._show_around(min(offset, self.log.size), rows)

    def _show_around(self, offset: int, rows: int) -> None:
        above = self.log.before(offset, rows // _ABOVE)
        below = self.log.lines(offset, rows - len(above))
        self._show(above + below, len(above) if below else max(0, len(above) - 1), False)

    def _show(self, lines: Iterable[LogLine], selected: int, following: bool) -> Page:
        lines = tuple(lines)
        step = self.log.step_of(lines[selected].offset) if selected < len(lines) else None
        self.page = Page(lines, selected, following, step, self.log.size, self.log.message)
        return self.page
