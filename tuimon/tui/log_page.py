"""A page of a console log: which lines stand on it, which one is selected. No widget; every call may read the file, so
it is made in a thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:  # its import is not paid by a start
    from tuimon.reader.log_text import Found, LogLine, LogText

SUFFIXES = (".log", ".out", ".err", ".txt")
"""Files beside a run's logs that may tell why it ended, though no metric is in them."""
_MOST_FILES = 50
_ABOVE = 3
"""A line that was jumped to stands below a third of the page: what led to it is seen, too."""


class Page(Struct, frozen=True):
    """What is shown."""

    lines: tuple[LogLine, ...] = ()
    selected: int = 0
    following: bool = True
    """New lines come in at the foot."""
    step: int | None = None
    """The training step of the selected line."""
    size: int = 0
    """Bytes of the file."""
    message: str = ""
    """Why the file cannot be read; "" it can."""

    @property
    def line(self) -> LogLine | None:
        """The selected one."""
        return self.lines[self.selected] if self.selected < len(self.lines) else None

    @property
    def share(self) -> float:
        """Of the file, from its beginning to the page's last line; 1 for an empty one."""
        return self.lines[-1].end / self.size if self.lines and self.size else 1.0


class Pager:
    """Moves through one log. Not for two threads at once, but for `cancel`."""

    def __init__(self, log: LogText) -> None:
        self.log = log
        self.page = Page()
        self._generation = log.generation
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Ends the search that is going on; from any thread."""
        self._cancelled.set()

    def refresh(self, rows: int) -> Page:
        """The page as it is now, with `rows` rows of room."""
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
        """The last lines; new ones are followed."""
        lines = self.log.before(self.log.size, rows)
        return self._show(lines, max(0, len(lines) - 1), True)

    def start(self, rows: int) -> Page:
        """The first lines."""
        return self._show(self.log.lines(0, rows), 0, False)

    def move(self, by: int, rows: int) -> Page:
        """Selects another line; the page goes along. Beyond the last line, new ones are followed again."""
        page = self.page
        if not page.lines:
            return self.refresh(rows)
        lines, at = list(page.lines), page.selected + by
        if at < 0:
            more = self.log.before(lines[0].offset, -at)
            lines, at = (more + lines)[:rows], 0
        elif at >= len(lines):
            more = self.log.lines(lines[-1].end, at - len(lines) + 1) if lines[-1].end < self.log.size else []
            lines = (lines + more)[-rows:]
            at = len(lines) - 1
        following = by > 0 and at == len(lines) - 1 and lines[-1].end >= self.log.size
        return self._show(lines, at, following)

    def find(self, text: str, backwards: bool, rows: int) -> bool:
        """To the next line that holds the text. False: there is none in that direction."""
        return self._jump(lambda at: self.log.search(text, at, backwards), backwards, rows)

    def find_error(self, backwards: bool, rows: int) -> bool:
        """To the next line that tells of an error."""
        return self._jump(lambda at: self.log.next_error(at, backwards), backwards, rows)

    def find_step(self, step: int, rows: int) -> bool:
        """To the row of metrics of a training step, or of the last one before it. False: the log tells no step."""
        at = self.log.offset_of(step)
        if at is not None:
            self._show_around(at, rows)
        return at is not None

    def _jump(self, search: Callable[[int], Found], backwards: bool, rows: int) -> bool:
        self._cancelled.clear()
        line = self.page.line
        at = self.log.size if backwards else 0
        if line is not None:
            at = line.offset if backwards else line.end
        while not self._cancelled.is_set():
            found = search(at)
            if found.line is not None:
                self._show_around(found.line.offset, rows)
                return True
            if found.done:
                return False
            at = found.reached
        return False

    def _show_around(self, offset: int, rows: int) -> None:
        above = self.log.before(offset, rows // _ABOVE)
        below = self.log.lines(offset, rows - len(above))
        self._show(above + below, len(above) if below else max(0, len(above) - 1), False)

    def _show(self, lines: Iterable[LogLine], selected: int, following: bool) -> Page:
        page = Page(tuple(lines), selected, following, None, self.log.size, self.log.message)
        step = self.log.step_of(page.line.offset) if page.line is not None else None
        self.page = Page(page.lines, selected, following, step, page.size, page.message)
        return self.page


def text_files(directory: str, known: Iterable[str]) -> list[str]:
    """Paths of a run's text: the console logs that are known, then what lies in its directory and in logs/ and log/ and
    is called like one. Nothing below is looked at."""
    found = dict.fromkeys(known)
    for place in (directory, os.path.join(directory, "logs"), os.path.join(directory, "log")):
        try:
            with os.scandir(place) as entries:
                names = sorted(
                    e.path for e in entries if e.name.endswith(SUFFIXES) and e.is_file(follow_symlinks=False)
                )
        except OSError:
            continue
        found |= dict.fromkeys(names[:_MOST_FILES])
    return list(found)[:_MOST_FILES]
