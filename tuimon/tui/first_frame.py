"""Draw the first page straight to the terminal while Textual is imported; Textual then takes the screen over.

Importing Textual takes longer than reading a run. One thread imports and draws in turns, so that neither waits for the
other. What is typed meanwhile stays in the terminal, and Textual reads it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from tuimon.config import Settings
from tuimon.draw.layout import Box
from tuimon.model.views import Rows, Size
from tuimon.monitor.process import ReaderProcess
from tuimon.tui import saved_view, themes
from tuimon.tui.dashboard_file import load_dashboard
from tuimon.tui.page import dashboard_boxes, default_state, run_list_boxes
from tuimon.tui.run_choice import has_several_runs
from tuimon.tui.startup import preload
from tuimon.tui.state import ViewState
from tuimon.tui.terminal import capabilities
from tuimon.tui.terminal.background import Background
from tuimon.tui.terminal.signals import SIGNALS

if TYPE_CHECKING:
    from tuimon.tui.run_contents import RunContents

Cells = tuple[int, int, int]
"""Row of the screen, first cell, cell after the last."""
_HIDE_CURSOR, _CLOSE = "\x1b[?25l", "\x1b[?1049l\x1b[?25h"
_PIECES = (
    "rich.console",
    "textual.color",
    "textual.css.stylesheet",
    "textual.dom",
    "textual.widget",
    "textual.screen",
    "textual.app",
    "textual.widgets._input",
    "textual.command",
    "tuimon.tui.bars",
    "tuimon.tui.screens.run_list",
    "tuimon.tui.screens",
    "tuimon.tui.actions",
    "tuimon.tui.app",
    "textual.drivers.linux_driver",
)
"""Modules that are imported one after the other; each takes at most 30 ms."""
_MOST_LISTED = 256
"""Number of runs up to which the list is drawn; sorting more would delay the import for too long."""
_LEAST = Size(20, 8)
"""Size of the smallest terminal for which the first page is drawn; a smaller one is left to Textual."""


class FirstFrame:
    """Context that gives the screen back if Textual has not taken it over."""

    def __init__(self, monitor: ReaderProcess, settings: Settings, fresh: bool, background: Background) -> None:
        """fresh: ignore the saved view. background: has asked the terminal for its theme."""
        self._monitor, self._settings, self._fresh, self._background = monitor, settings, fresh, background
        self._handlers: dict[int, Any] = {}
        self.signal = 0
        """Number of the last signal that asked the program to end; 0 if none did."""
        self.is_open = False
        """Whether the alternate screen is open, and Textual has not taken it over yet."""
        self.sent: dict[Cells, str] = {}
        """What the screen shows."""
        self.size = 0, 0
        """Columns and rows of the terminal when it was drawn."""
        self.contents: RunContents | None = None
        """Contents of the run list, if that is drawn."""
        self._drawn = 0, False
        """Number of runs when something was drawn (0 before), and whether all runs of the list had been read."""

    def __enter__(self) -> FirstFrame:
        for number in SIGNALS:
            if callable(signal.getsignal(number)) or signal.getsignal(number) is signal.SIG_DFL:
                self._handlers[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        while self._handlers:
            signal.signal(*self._handlers.popitem())
        if self.is_open:
            with suppress(OSError):
                _send(_CLOSE)

    def import_textual(self) -> None:
        """Import the dashboard, and draw the first page as soon as it is read and the background is known.

        Raises KeyboardInterrupt or SystemExit after a signal: not in the middle of an import, which might swallow it.
        """
        preload()
        for name in _PIECES:
            self._raise_signal()
            import_module(name)
            if self._background.has_replied():
                self._draw()

    def _raise_signal(self) -> None:
        """Raise what a signal since the beginning asks for."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal:
            raise SystemExit(128 + self.signal)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = number

    def _draw(self) -> None:
        """Draw the first page if there is one that is not drawn yet and there are no warnings: the dashboard of a
        single run with metrics, or the run list, again when more runs were found and when all were read."""
        snapshot = self._monitor.snapshot()
        run, is_list = snapshot.newest_run, has_several_runs(snapshot)
        drawn = len(snapshot.runs), is_list and snapshot.progress.caught_up
        size = Size(*os.get_terminal_size(_output()))
        if run is None or drawn == self._drawn or not (is_list or run.metrics):
            return
        if size.width < _LEAST.width or size.height < _LEAST.height or os.environ.get("NO_COLOR"):
            return
        if any(notice.level != "info" for notice in snapshot.notices) or len(snapshot.runs) > _MOST_LISTED:
            return
        self._drawn = drawn
        with suppress(Exception), self._monitor.pause_writes():  # Textual draws it again, and reports the error
            state, now = self._state(), time.time()
            if is_list:
                from tuimon.tui.run_contents import contents_of

                self.contents = contents_of(snapshot, state.runs, state.symbols, now)
                boxes = run_list_boxes(snapshot, self.contents, state, self._monitor.links, size, now)
            else:
                boxes = dashboard_boxes(snapshot, run, state, size, now)
            self._show(_sent_cells(boxes, state.theme), size)

    def _show(self, cells: dict[Cells, str], size: Size) -> None:
        """Show cells in place of those before, which they cover."""
        changed = {place: text for place, text in cells.items() if self.sent.get(place) != text}
        opening = "" if self.is_open else capabilities.OPEN_SCREEN + _HIDE_CURSOR
        self.sent, self.size = cells, (size.width, size.height)
        _send(opening + "".join(f"\x1b[{y + 1};{x + 1}H{text}" for (y, x, _), text in changed.items()))
        self.is_open = True

    def _state(self) -> ViewState:
        theme = capabilities.theme_on(self._background.theme())
        state = default_state(self._settings.with_changes(theme=theme), True)
        if not self._fresh:
            state = saved_view.restored(state, self._monitor.paths, saved_view.directory())
        return replace(state, own=load_dashboard(self._settings, self._monitor.paths)[0])


def _sent_cells(boxes: Sequence[tuple[Box, Rows]], theme: str) -> dict[Cells, str]:
    """Return what the terminal is sent for each row of each box."""
    from rich.console import COLOR_SYSTEMS, Console

    system = COLOR_SYSTEMS[Console(file=sys.__stderr__, force_terminal=True).color_system or "truecolor"]
    return {
        (box.y + y, box.x, box.x + box.width): "".join(
            themes.style(theme, role).render(text, color_system=system) for text, role in themes.parts(row, theme)
        )
        for box, rows in boxes
        for y, row in enumerate(rows)
    }


def _output() -> int:
    """Return the descriptor that Textual draws on."""
    assert sys.__stderr__ is not None, "only for a terminal"
    return sys.__stderr__.fileno()


def _send(text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(_output(), data) :]
