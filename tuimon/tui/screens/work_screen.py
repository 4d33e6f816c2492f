"""Base of the screens that stay live on top of the dashboard: run list, metric list, log and config."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeVar

from textual.app import ComposeResult
from textual.events import Key
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input

from tuimon.model.views import Role, Row, Span
from tuimon.panels import with_lost_links
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.tui.action import Action, TuimonApp, footer
from tuimon.tui.bars import InputLine, Line, Question, key_spans
from tuimon.tui.state import ViewState
from tuimon.tui.terminal.textual_patches import PresentSize

Result = TypeVar("Result")
UNQUEUED = nullcontext()
"""Queue of works that do not wait for each other."""
_REST = 10.0
"""The next look for changes of files is after this many times the duration of the last one."""
_FAR = 1 << 30
"""Number of rows to move to reach the first or the last row."""
_KEYS_WHILE_TYPING = frozenset({"escape", "up", "down", "pageup", "pagedown"})
"""Keys that an input line does not use."""


def place_of(screen: Screen[Any]) -> str:
    """Return the name of a screen as in `Action.where`."""
    return screen.WHERE if isinstance(screen, WorkScreen) else "dashboard"


def labelled_actions(actions: Sequence[Action], screen: Screen[Any]) -> tuple[Action, ...]:
    """Return the actions, those in the footer of a screen with their labels there."""
    own = {action.id: action for action in footer(actions, screen.WHERE)} if isinstance(screen, WorkScreen) else {}
    return tuple(own.get(action.id, action) for action in actions)


def head_of(title: str, *parts: Span) -> Row:
    """Return a head line: the title and those of the parts that are not empty."""
    return ((f" {title}", Role.TITLE), *((f"  {text}", role) for text, role in parts if text))


class WorkScreen(PresentSize, ModalScreen[None]):
    """A head line, a body, a filter line, a message and the keys. It is drawn from each snapshot, and its keys are
    those of the actions whose `where` names it. Of the keys that it does not use, those that open a screen from the
    dashboard open that screen instead of this one; others do nothing."""

    app: TuimonApp
    AUTO_FOCUS = ""
    WHERE = ""
    """Name of the screen in Action.where."""
    PROMPT, PLACEHOLDER = "", ""
    """Texts of the filter line."""
    view = ""
    """What the screen displays, if it has several views."""
    query_text = ""
    """Filter, or text that is searched for, or ""."""

    def __init__(self, actions: tuple[Action, ...], body: Widget) -> None:
        super().__init__()
        self.actions = tuple(action for action in actions if self.WHERE in action.where)
        self._by_key = _by_key(self.actions)
        self._others = _by_key(action for action in actions if action.opens and "dashboard" in action.where)
        """Actions that open another screen, by the keys on the dashboard."""
        self._body, self._message = body, ""
        self._head_line, self._message_line, self._key_line = Line(), Line(), Line()
        self._message_line.display = False
        self.input_line = InputLine()
        self.reading = asyncio.Lock()
        """Held while a thread reads what the screen shows."""
        self._next_look = 0.0

    def compose(self) -> ComposeResult:
        yield from (self._head_line, self._body, self.input_line, self._message_line, self._key_line)

    @property
    def shows(self) -> str:
        """Name of what the screen shows, as in Action.opens."""
        return self.WHERE

    def leave(self) -> None:
        """Close the screen."""
        self.app.pop_screen()

    @property
    def run_selected(self) -> Run | None:
        """Run that keys apply to."""
        return self.app.run_shown

    @abstractmethod  # checked by mypy only: the metaclass of Textual's classes is not ABCMeta
    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        """Draw what has changed and call `draw_lines`. now: wall time (s since epoch)."""

    @abstractmethod
    def move(self, rows: int = 0, pages: int = 0) -> None:
        """Select another row."""

    def go_to_end(self, last: bool) -> None:
        """Select the last or the first row."""
        self.move(_FAR if last else -_FAR)

    def aside(self, by: int) -> None:
        """Move to the left (by = -1) or to the right (1)."""

    def open(self) -> None:
        """Do what Enter does with the selected row."""

    def next(self, by: int) -> None:
        """Go to the next page (by = 1), or to the next one of what the screen searches; -1: to the one before."""
        self.move(pages=by)

    def keep_step(self, step: int | None, newest: int | None) -> None:
        """Put the cursor of the charts at the step that is shown, unless that is the newest one without a cursor."""
        state = self.app.state
        if step is not None and (step != newest or state.options.cursor is not None):
            state.options = dataclasses.replace(state.options, cursor=step)

    def copied(self) -> tuple[str, str] | None:
        """Return the text of the selected row and its name in messages; None if nothing is selected."""
        return None

    def draw_lines(self, head: Row, theme: str, message: str = "") -> None:
        """Draw the links that are down, the head, the keys, and `message` or else the last message that was said."""
        self._head_line.draw(with_lost_links(head, self.app.monitor.links, time.time()), theme)
        message = clean(message or self._message)
        self._message_line.display = bool(message)
        self._message_line.draw(((f" i {message}", Role.ACCENT),), theme)
        self._key_line.draw(key_spans(footer(self.actions, f"{self.WHERE}.{self.view}"), self.app.size.width), theme)

    def say(self, message: str) -> None:
        """Display a message until the next key."""
        self._message = message

    def in_thread(
        self,
        work: Callable[[], Result],
        then: Callable[[Result], object],
        is_wanted: Callable[[], bool] = lambda: True,
        queue: AbstractAsyncContextManager[object] | None = None,
    ) -> None:
        """Call `work` in a thread, then `then` with its result, and draw.

        Neither is done if the screen is closed, or not `is_wanted`.
        queue: lock that lets works begin one after another, as they were queued; None: that of the reading of files,
            `UNQUEUED`: no lock, so that of several works any may end first.
        """

        async def run() -> None:
            async with self.reading if queue is None else queue:
                if not is_wanted():
                    return
                result = await asyncio.to_thread(work)
            if self.is_attached and is_wanted():
                then(result)
                self.app.redraw()

        self.run_worker(run())

    @property
    def may_look(self) -> bool:
        """Whether to look for changes of files. It waits for threads that read them, and after the last look."""
        return not (self.reading.locked() or self.app.state.paused or time.monotonic() < self._next_look)

    def look(self, work: Callable[[], Result]) -> Result:
        """Call what reads files. The next look for changes is put off by a multiple of its time."""
        began = time.monotonic()
        result = work()
        self._next_look = time.monotonic() + _REST * (time.monotonic() - began)
        return result

    def tick(self) -> None:
        """Refresh what is not part of a snapshot. Called once a second."""

    def begin_filter(self) -> None:
        """Open the input line for the filter."""
        question = Question(self.PROMPT, self.PLACEHOLDER, self.filter_submitted, self.filter_edited, self.clear_filter)
        self.input_line.open(question, self.query_text)

    def ask(self, prompt: str, hint: str, on_answer: Callable[[str], object], text: str = "") -> None:
        """Open the input line for the answer to a question."""
        self.input_line.open(Question(prompt, hint, on_answer), text)

    def filter_edited(self, text: str) -> None:
        """Apply the text of the filter line after a change."""
        self.query_text = text

    def filter_submitted(self, text: str) -> None:
        """Apply the text of the filter line after Enter."""
        self.query_text = text

    def clear_filter(self) -> None:
        """Remove the filter."""
        self.query_text = ""

    def go_back(self) -> bool:
        """Leave a question, or remove the filter. Return False without either: the screen is to be closed."""
        if not self.input_line.cancel():
            if not self.query_text:
                return False
            self.clear_filter()
        return True

    def on_key(self, event: Key) -> None:
        if self.app.screen is not self:  # closed, or covered, by a key before this one
            event.stop()
            return
        self._message = ""
        action = self._by_key.get(event.key)
        typing = isinstance(self.focused, Input)
        if action is not None and (not typing or event.key in _KEYS_WHILE_TYPING):
            event.stop()
            self.app.do(action)
        elif not typing and event.key in self._others and (run := self.run_selected) is not None:
            event.stop()
            self.app.show_run(run)
            self.app.do(self._others[event.key])

    def on_resize(self) -> None:
        self.call_after_refresh(self.resized)

    def resized(self) -> None:
        """Draw for the new size."""
        self.app.redraw()


def _by_key(actions: Iterable[Action]) -> dict[str, Action]:
    """Return the actions by their keys; of two actions with a key the one for fewer screens."""
    ordered = sorted(actions, key=lambda action: -len(action.where))
    return {key: action for action in ordered for key in action.keys.split(",") if key}
