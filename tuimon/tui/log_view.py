"""The console text of a run: followed, searched, from error to error, and from a step on the charts to its line and
back. The file is read in a thread, so that a slow disk holds up no key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.widgets import Input, Static

from tuimon.draw.numbers import format_bytes
from tuimon.model.views import Role, Row, Span
from tuimon.store import Snapshot
from tuimon.text import clean, fit
from tuimon.tui.actions import Action
from tuimon.tui.bars import Line, key_spans
from tuimon.tui.box import Cells
from tuimon.tui.log_page import Page, Pager
from tuimon.tui.state import ViewState
from tuimon.tui.work_screen import WorkScreen

if TYPE_CHECKING:
    from tuimon.reader.log_text import LogLine

_WHEEL = 3
"""Lines a turn of the wheel."""
_ASIDE = 20
"""Cells by which a long line is moved."""
_LEVELS = {"error": Role.CRITICAL, "warning": Role.WARNING}


class LogPane(Cells):
    """The lines of a page."""

    DEFAULT_CSS = "LogPane { height: 1fr; width: 1fr; }"

    def show(self, page: Page, aside: int, wanted: str, theme: str) -> None:
        """aside: characters of each line that lie beyond the left edge. wanted: a text to be made visible."""
        width, height = self.size.width, self.size.height
        if width < 2 or height < 1:
            return
        blank: Row = ((" " * width, Role.MUTED),)
        rows = [
            line_row(line, number == page.selected, aside, wanted, width) for number, line in enumerate(page.lines)
        ][:height]
        if page.message:
            rows = [((fit(f" {clean(page.message)}", width), Role.WARNING),)]
        self.paint((*rows, *[blank] * (height - len(rows))), theme)


def line_row(line: LogLine, selected: bool, aside: int, wanted: str, width: int) -> Row:
    """One line, `width` cells wide: a sign where it is selected, in the colour of its level, what was searched for
    picked out."""
    usual = _LEVELS.get(line.level, Role.VALUE if selected else Role.TEXT)
    text = fit(clean(line.text)[aside:], width - 1)
    spans: list[Span] = [("▌" if selected else " ", Role.ACCENT)]
    plain = text if wanted != wanted.lower() else text.lower()
    at = 0
    while wanted and len(plain) == len(text) and (found := plain.find(wanted, at)) >= 0:
        spans += [(text[at:found], usual), (text[found : found + len(wanted)], Role.ACCENT)]
        at = found + len(wanted)
    spans.append((text[at:], usual))
    return tuple(span for span in spans if span[0])


class LogScreen(WorkScreen):
    """One text file of the run, with a line above that says which and where, and one below for the keys."""

    WHERE = "log"
    AUTO_FOCUS = ""
    CSS = """
    LogScreen { background: ansi_default; layout: vertical; }
    #log-search-bar { height: 1; }
    #log-search-prompt { width: auto; color: ansi_bright_blue; }
    #log-search { height: 1; width: 1fr; border: none; padding: 0; background: ansi_default; color: ansi_default; }
    """

    def __init__(
        self, actions: tuple[Action, ...], files: Sequence[str], patterns: Sequence[str], step: int | None
    ) -> None:
        """files: paths, the first is shown, at least one. step: the training step to begin at; None: at the end."""
        super().__init__(actions)
        self._files, self._file, self._patterns, self._step = tuple(files), 0, tuple(patterns), step
        self.pager: Pager | None = None
        """None until the file has been looked at."""
        self.wanted = ""
        """What was searched for last."""
        self.aside = 0
        self._said = ""
        self._reading = asyncio.Lock()
        self.head, self.pane, self.message, self.keys = Line(), LogPane(), Line(), Line()
        self.search_line = Input(id="log-search", placeholder="part of a line", compact=True)
        self.search_bar = Horizontal(
            Static(" search / ", id="log-search-prompt", markup=False), self.search_line, id="log-search-bar"
        )
        self.message.display = self.search_bar.display = False

    def compose(self) -> ComposeResult:
        yield from (self.head, self.pane, self.search_bar, self.message, self.keys)

    def on_mount(self) -> None:
        self.call_after_refresh(self._open)

    @property
    def path(self) -> str:
        """Of the file that is shown."""
        return self._files[self._file]

    @property
    def page(self) -> Page:
        """What is shown."""
        return self.pager.page if self.pager is not None else Page()

    # ------------------------------------------------------------------ the file, in a thread

    def _open(self) -> None:
        step, self._step = self._step, None

        def read() -> str:
            from tuimon.reader.log_text import LogText

            pager = Pager(LogText(self.path, self._patterns))
            pager.refresh(self._rows_of_room())
            said = ""
            if step is not None and not pager.find_step(step, self._rows_of_room()):
                said = f"This text does not tell where step {step} is"
            self.pager = pager
            return said

        self._do(read)

    def _do(self, work: Callable[[], str]) -> None:
        """Reads, one thing after the other, then draws; what `work` gives is said, "" nothing."""
        self.run_worker(self._worked(work))

    async def _worked(self, work: Callable[[], str]) -> None:
        async with self._reading:
            self._said = await asyncio.to_thread(work) or self._said
        self.tuimon.redraw()

    def _rows_of_room(self) -> int:
        return max(1, self.pane.size.height)

    def _with_pager(self, work: Callable[[Pager, int], object], otherwise: str = "") -> None:
        """work: what is done with the pager and the rows of room; `otherwise` is said where that gives False."""
        pager = self.pager
        if pager is not None:
            pager.cancel()  # a search that goes on
            self._do(lambda: otherwise if work(pager, self._rows_of_room()) is False else "")

    def move(self, lines: int = 0, pages: int = 0) -> None:
        """Selects another line."""
        self._with_pager(lambda pager, rows: pager.move(lines + pages * max(1, rows - 1), rows))

    def go_to(self, end: bool) -> None:
        """The first line, or the last one, from where new ones are followed."""
        self._with_pager(lambda pager, rows: pager.end(rows) if end else pager.start(rows))

    def find(self, backwards: bool) -> None:
        """The next line that holds what was searched for."""
        wanted = self.wanted
        if not wanted:
            self.say("Nothing was searched for yet: / begins")
            return
        where = "above" if backwards else "below"
        self._with_pager(
            lambda pager, rows: pager.find(wanted, backwards, rows), f"No line {where} holds {clean(wanted, 40)}"
        )

    def find_error(self, backwards: bool) -> None:
        """The next line that tells of an error."""
        where = "above" if backwards else "below"
        self._with_pager(lambda pager, rows: pager.find_error(backwards, rows), f"No error is told {where}")

    def next_file(self) -> None:
        """Another text of the run."""
        if len(self._files) < 2:
            self.say("The run has no other text")
            return
        self._file = (self._file + 1) % len(self._files)
        self.pager = None
        self.aside = 0
        self._open()

    def shift(self, by: int) -> None:
        """Long lines to the side."""
        longest = max((len(line.text) for line in self.page.lines), default=0)
        self.aside = max(0, min(self.aside + by * _ASIDE, longest - 1))
        self.tuimon.redraw()

    # ------------------------------------------------------------------ the screen

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        page = self.page
        self.head.draw(self._head(page), state.theme)
        self.pane.show(page, self.aside, self.wanted, state.theme)
        self.message.display = bool(self._said)
        self.message.draw(((f" i {clean(self._said)}", Role.ACCENT),), state.theme)
        self.keys.draw(key_spans(self.actions, self.keys.size.width), state.theme)

    def look_again(self) -> None:
        """Has the file grown?"""
        pager = self.pager
        if pager is not None and not self._reading.locked() and not self.tuimon.state.paused:
            self._with_pager(Pager.refresh)

    def _head(self, page: Page) -> Row:
        said: list[Span] = [(f" {clean(self._source())}", Role.TITLE), (f"  {format_bytes(page.size)}", Role.MUTED)]
        if len(self._files) > 1:
            said.append((f"  text {self._file + 1} of {len(self._files)}", Role.MUTED))
        said.append(("  following", Role.GOOD) if page.following else (f"  {page.share:.0%}", Role.TEXT))
        if page.step is not None:
            said.append((f"  step {page.step}", Role.VALUE))
        if self.wanted:
            said.append((f"  /{clean(self.wanted, 40)}", Role.ACCENT))
        if self.aside:
            said.append((f"  from column {self.aside + 1}", Role.MUTED))
        return tuple(said)

    def _source(self) -> str:
        """As its source is called; a text that is none lies in the directory of the run."""
        run = self.tuimon.run_shown
        if run is None:
            return self.path
        sources = {stream.found.path: stream.found.source for stream in run.streams}
        return sources.get(self.path) or self.path.removeprefix(run.path.rstrip("/") + "/")

    def say(self, message: str) -> None:
        self._said = message
        self.tuimon.redraw()

    def on_key(self, event: object) -> None:
        self._said = ""  # what the key before did

    def begin_search(self) -> None:
        """Opens the line in which a text is typed."""
        self.search_line.value = ""
        self.search_bar.display = True
        self.search_line.focus()

    def go_back(self) -> bool:
        if not self.search_bar.display and not self.wanted:
            return False
        self._end_search("")
        return True

    def _end_search(self, text: str) -> None:
        self.search_bar.display = False
        self.set_focus(None)
        self.wanted = text
        self.tuimon.redraw()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._end_search(event.value)
        if event.value:
            self.find(backwards=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self._with_pager, Pager.refresh)

    def on_click(self, event: Click) -> None:
        if event.widget is self.pane:
            self.move(event.y - self.page.selected)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self.move(_WHEEL)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self.move(-_WHEEL)
