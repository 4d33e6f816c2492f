"""Log view: the console text of a run, with search, jumps between errors, and jumps from a step of the charts to its
line and back. A thread reads the file, so that a slow disk does not delay keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.events import Click

from tuimon.draw.numbers import format_bytes
from tuimon.model.views import Role, Row, Span
from tuimon.store import Snapshot
from tuimon.text import clean, fit
from tuimon.tui.action import Action
from tuimon.tui.screens.document import Document
from tuimon.tui.screens.log_page import Page, Pager
from tuimon.tui.screens.wheel import Wheel
from tuimon.tui.screens.work_screen import WorkScreen, head_of
from tuimon.tui.state import ViewState

if TYPE_CHECKING:
    from tuimon.reader.log_text import LogLine

_SHIFT = 20
"""Cells by which long lines are shifted."""
_LEVELS = {"error": Role.CRITICAL, "warning": Role.WARNING}


def page_rows(page: Page, shift: int, query: str, width: int) -> list[Row]:
    """Return the lines of a page as rows of `width` cells, or the sentence in place of them.

    shift: number of characters hidden at the left; query: text to highlight."""
    if page.message:
        return [((f" {clean(page.message)}", Role.WARNING),)]
    return [line_row(line, index == page.selected, shift, query, width) for index, line in enumerate(page.lines)]


def line_row(line: LogLine, selected: bool, shift: int, query: str, width: int) -> Row:
    """Return a line as a row of `width` cells, in the colour of its level, with matches of `query` highlighted."""
    role = _LEVELS.get(line.level, Role.VALUE if selected else Role.TEXT)
    text = fit(clean(line.text)[shift:], width - 1)
    spans: list[Span] = [("▌" if selected else " ", Role.ACCENT)]
    start = 0
    case = 0 if query != query.lower() else re.IGNORECASE
    for match in re.finditer(re.escape(query), text, case) if query else ():
        spans += [(text[start : match.start()], role), (match[0], Role.ACCENT)]
        start = match.end()
    spans.append((text[start:], role))
    return tuple(span for span in spans if span[0])


class LogScreen(Wheel, WorkScreen):
    """One text file of the run at a time. `query_text` is the text that was searched for last."""

    WHERE = "log"
    PROMPT = "search"
    PLACEHOLDER = "part of a line"

    def __init__(
        self,
        actions: tuple[Action, ...],
        files: Sequence[str],
        patterns: Sequence[str],
        step: int | None,
        offset: int | None = None,
    ) -> None:
        """files: paths, at least one; the first is shown. step: training step to begin at; None: begin at the end.

        offset: that of the line to begin at, instead of a step.
        """
        self.pane = Document()
        super().__init__(actions, self.pane)
        self._files, self._file, self._patterns, self._begin = tuple(files), 0, tuple(patterns), (step, offset)
        self.pager: Pager | None = None
        """None until the file has been opened."""
        self.shift_by = 0

    def on_mount(self) -> None:
        self.call_after_refresh(self._open, *self._begin)

    @property
    def path(self) -> str:
        """Path of the file that is shown."""
        return self._files[self._file]

    @property
    def page(self) -> Page:
        """Page that is shown."""
        return self.pager.page if self.pager is not None else Page()

    # ------------------------------------------------------------------ reading, in a thread

    def _open(self, step: int | None = None, offset: int | None = None) -> None:
        def read() -> str:
            from tuimon.reader.log_text import LogText

            log = LogText(self.path, self._patterns)
            pager = Pager(log)
            pager.refresh(self._room())
            is_found = step is None or pager.find_step(step, self._room())
            if offset is not None:
                pager.go_to(offset, self._room())
            self.pager = pager
            return "" if is_found else f"Step {step} was not found in this text"

        self.in_thread(read, self._done)

    def _done(self, message: object) -> None:
        self._message = message if isinstance(message, str) and message else self._message

    def _room(self) -> int:
        return max(1, self.pane.size.height)

    def _with_pager(self, work: Callable[[Pager, int], object]) -> None:
        """Call `work` with the pager and the number of visible rows in a thread, after any earlier work; display the
        message that it may return."""
        pager = self.pager
        if pager is not None:
            pager.cancel()  # ends a search that is still running
            self.in_thread(lambda: work(pager, self._room()), self._done)

    def move(self, rows: int = 0, pages: int = 0) -> None:
        self._with_pager(lambda pager, room: pager.move(rows + pages * max(1, room - 1), room))

    def go_to_end(self, last: bool) -> None:
        """Select the first line, or the last line and follow new ones."""
        self._with_pager(lambda pager, room: pager.end(room) if last else pager.start(room))

    def next(self, by: int) -> None:
        """Select the next line (by = 1) that contains the text that was searched for, or the one before."""
        if self.query_text:
            self.search("match", by)
        else:
            self.say("Nothing to search for: press / first")

    def search(self, what: str, by: int) -> None:
        """Select the next line (by = 1) of a kind, or the one before. Pager.find has the kinds."""
        text = self.query_text
        self._with_pager(lambda pager, room: pager.find(what, text, by < 0, room))

    def next_part(self, by: int) -> None:
        """Show the next text file of the run (by = 1), or the one before."""
        if len(self._files) < 2:
            self.say("The run has no other text file")
            return
        self._file = (self._file + by) % len(self._files)
        self.pager = None
        self.shift_by = 0
        self._open()

    def open(self) -> None:
        """Show the charts, with the cursor at the step of the line."""
        step, app = self.page.step, self.app
        if step is None:
            self.say("The step of this line is not known")
            return
        app.state.options = replace(app.state.options, cursor=step)
        app.pop_screen()

    def copied(self) -> tuple[str, str] | None:
        line = self.page.line
        return None if line is None else (clean(line.text, 1 << 16), "the line")

    def aside(self, by: int) -> None:
        """Shift long lines to the right (by = 1) or back (-1)."""
        longest = max((len(line.text) for line in self.page.lines), default=0)
        self.shift_by = max(0, min(self.shift_by + by * _SHIFT, longest - 1))

    # ------------------------------------------------------------------ the screen

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        width = max(self.pane.size.width, 2)  # 0 before the first layout
        self.pane.show(page_rows(self.page, self.shift_by, self.query_text, width), state.theme)
        self.draw_lines(self._head(self.page), state.theme)

    def tick(self) -> None:
        """Read what has been appended to the file."""
        if self.may_look:
            self._with_pager(Pager.refresh)

    def _head(self, page: Page) -> Row:
        if self.pager is None:
            return head_of(clean(self._source()), ("reading", Role.MUTED))
        return head_of(
            clean(self._source()),
            (format_bytes(page.size), Role.MUTED),
            (f"text {self._file + 1} of {len(self._files)}" if len(self._files) > 1 else "", Role.MUTED),
            ("following", Role.GOOD) if page.following else (f"{page.share:.0%}", Role.TEXT),
            (f"step {page.step}" if page.step is not None else "", Role.VALUE),
            (f"/{clean(self.query_text, 40)}" if self.query_text else "", Role.ACCENT),
            (f"from column {self.shift_by + 1}" if self.shift_by else "", Role.MUTED),
        )

    def _source(self) -> str:
        """Return the name of the source that the file belongs to, or its path below the directory of the run."""
        run = self.app.run_shown
        if run is None:
            return self.path
        sources = {stream.info.path: stream.info.source for stream in run.streams}
        return sources.get(self.path) or self.path.removeprefix(run.directory.rstrip("/") + "/")

    def begin_filter(self) -> None:
        """Open the search line, empty."""
        super().begin_filter()
        self.input_line.line.value = ""

    def filter_edited(self, text: str) -> None:
        """Do nothing: a search begins with Enter."""

    def filter_submitted(self, text: str) -> None:
        super().filter_submitted(text)
        if text:
            self.next(1)

    def resized(self) -> None:
        self._with_pager(Pager.refresh)

    def on_click(self, event: Click) -> None:
        if event.widget is self.pane:
            self.move(event.y - self.page.selected)
