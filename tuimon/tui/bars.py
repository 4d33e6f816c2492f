"""Lines of a screen: the most severe alert, the input line of a filter, and the keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from tuimon.analysis.alert_words import Sentence, sentence_of
from tuimon.analysis.run_states import since_onset
from tuimon.draw.rows import fit_row, wrap_row
from tuimon.model.alerts import Alert
from tuimon.model.events import Notice
from tuimon.model.views import Role, Row, Span
from tuimon.panels import ChartOptions, axis_word
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean, fit
from tuimon.tui.action import Action, TuimonApp, footer, key_names
from tuimon.tui.box import CellGrid

MESSAGE_TIME = 4.0
"""Minimum time (s) for which a message is displayed."""
NOTICE_TIME = 8.0
"""Time (s) for which a new notice of reading is displayed; the screen of alerts keeps it."""
_LONGEST_QUERY = 20
_LONGEST_AXIS = 16
_SEVERITY = {"info": Role.ACCENT, "warning": Role.WARNING, "critical": Role.CRITICAL, "error": Role.CRITICAL}
_ORDER = ("critical", "warning", "info")
_KEYS = "  a: all"
_INFO = " i "
_MESSAGE_ROWS = 3
"""Maximum rows of a message."""
_MARK = {"info": "i", "warning": "!", "critical": "✗", "error": "✗"}


class Line(CellGrid):
    """Rows of spans over the width of the screen, usually one."""

    DEFAULT_CSS = "Line { height: 1; width: 1fr; }"

    def draw(self, row: Row, theme: str, below: Iterable[Row] = ()) -> None:
        """Display a row, and those below it."""
        rows = tuple(fit_row(row, self.app.size.width) for row in (row, *below))
        if len(rows) != max(len(self._rows), 1):
            self.styles.height = len(rows)
        self.paint(rows, theme)


class AlertBar(Line):
    """A message, or else the most severe active alert, or else, for a few seconds, a new notice, or else an alert of a
    superseded attempt; hidden if empty. Only a message that is too long has more than one row."""

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self._message = ""
        self._message_at = 0.0
        self._notice: Notice | None = None
        """Newest notice of a problem."""
        self._notice_at = 0.0

    def say(self, message: str) -> None:
        """Display a message for MESSAGE_TIME, and after that until the screen is drawn again."""
        self._message, self._message_at = message, time.monotonic()

    def update(self, snapshot: Snapshot, run: Run | None, theme: str, width: int = 80) -> None:
        """width: columns of the screen, to which the text of an alert is cut."""
        row, *below = self._message_rows(width) or [self._content(snapshot, run, width)]
        self.display = bool(row)
        self.draw(row, theme, below)

    @property
    def rows(self) -> int:
        """Number of rows of the screen that the bar takes; 0 if it is hidden."""
        return len(self._rows) if self.display else 0

    @property
    def expired(self) -> bool:
        """Whether the notice that is displayed has been there long enough."""
        return self.display and 0.0 < self._notice_at < time.monotonic() - NOTICE_TIME

    def _message_rows(self, width: int) -> list[Row]:
        """Return the rows of the message; [] if there is none, or if it has been displayed long enough."""
        if time.monotonic() >= self._message_at + MESSAGE_TIME:
            self._message = ""
        if not self._message:
            return []
        lines = wrap_row(((self._message, Role.ACCENT),), max(width - len(_INFO), 1), _MESSAGE_ROWS)
        return [((" " * len(_INFO) if n else _INFO, Role.ACCENT), *line) for n, line in enumerate(lines)]

    def _content(self, snapshot: Snapshot, run: Run | None, width: int = 80) -> Row:
        """Return the row about alerts and notices; () if there are none."""
        alerts = [alert for alert in snapshot.alerts if run is not None and alert.run == run.id]
        marks = "".join(f" {clean(notice.mark)} " for notice in snapshot.notices if notice.mark)
        if run is not None and alerts:
            self._notice_at = 0.0
            row = _alert(alerts, width - cell_width(marks), run)
        elif row := self._new_notice(snapshot, width):
            return row
        else:
            row = ((_KEYS, Role.MUTED),) if marks else ()
        return (*row[:-1], (marks, Role.WARNING), *row[-1:]) if marks else row

    def _new_notice(self, snapshot: Snapshot, width: int) -> Row:
        """Return the newest notice of a problem if it has not been displayed for NOTICE_TIME yet."""
        newest = next((notice for notice in reversed(snapshot.notices) if notice.level != "info"), None)
        if newest is not self._notice:
            self._notice, self._notice_at = newest, time.monotonic()
        if newest is None or time.monotonic() - self._notice_at > NOTICE_TIME:
            self._notice_at = 0.0
            return ()
        return _with_keys(f" {_MARK[newest.level]} ", newest.message, _SEVERITY[newest.level], width)


def _alert(alerts: Sequence[Alert], width: int, run: Run) -> Row:
    """Return the number of alerts and the text of the most severe one; without alerts, those of severity "info".

    The step at which it began comes first where the line would cut it, and has the time since then if there is room.
    """
    counted = [alert for alert in alerts if alert.severity != "info"] or alerts
    worst = min(counted, key=lambda alert: _ORDER.index(alert.severity))
    mark, age = _MARK[worst.severity], since_onset(run, worst, time.time())
    word = "info" if worst.severity == "info" else "alert" if len(counted) == 1 else "alerts"
    head = f" {mark} {len(counted)} {word}: "
    room = width - cell_width(head) - len(_KEYS)
    sentence = Sentence(*map(clean, sentence_of(worst)))
    aged = sentence._replace(when=f"{sentence.when}{age}") if sentence.when else sentence
    fitting = next((own for own in (aged, sentence) if cell_width(own.short) <= room), None)
    message = fitting.whole if fitting is not None else f"{sentence.when}: {sentence.what}".removeprefix(": ")
    return _with_keys(head, message, _SEVERITY[worst.severity], width)


def _with_keys(head: str, message: str, role: Role, width: int) -> Row:
    """Return the row with the key of all alerts at its end, whatever the length of the message."""
    message, room = clean(message), max(width - cell_width(head) - len(_KEYS), 1)
    return (head, role), (fit(message, min(cell_width(message), room)), role), (_KEYS, Role.MUTED)


class Question(NamedTuple):
    """What an input line asks for, and what is done with the text."""

    prompt: str
    hint: str
    """Shown while the line is empty."""
    on_answer: Callable[[str], object]
    """Called with the text after Enter has closed the line."""
    on_edit: Callable[[str], object] = lambda text: None
    """Called with the text after each change."""
    on_cancel: Callable[[], object] = lambda: None
    """Called after Esc has closed the line."""


class InputLine(Horizontal):
    """A prompt and a line in which one answers a question; hidden until then. app.tcss has its style."""

    app: TuimonApp

    def __init__(self) -> None:
        super().__init__()
        self._prompt, self.line = Static("", markup=False), Input(compact=True)
        self.question = Question("", "", lambda text: None)
        self.display = False

    def compose(self) -> ComposeResult:
        yield self._prompt
        yield self.line

    def open(self, question: Question, text: str = "") -> None:
        """Ask a question; the line begins with `text` and takes the keys."""
        self.question = question
        self._prompt.update(f" {question.prompt} / ")
        self.line.placeholder, self.line.value = question.hint, text
        self.display = True
        self.line.focus()

    def close(self) -> None:
        """Hide the line."""
        self.display = False
        self.screen.set_focus(None)

    def cancel(self) -> bool:
        """Close the line without an answer. Return False if it is not open."""
        if not self.display:
            return False
        self.close()
        self.question.on_cancel()
        return True

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.question.on_edit(event.value)
            self.app.redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.close()
        self.question.on_answer(event.value)
        self.app.redraw()


class KeyBar(Line):
    """As many keys as fit, and the position: filter, axis, run and page."""

    app: TuimonApp

    def update(self, run: Run | None, options: ChartOptions) -> None:
        """options: of the charts of the run."""
        state, board, over = self.app.state, self.app.board, len(options.overlay)
        axis, run_number = axis_word(run, options.axis_of(run)), self._run_number(run)
        place: list[Span] = []
        if state.query and not self.app.input_line.display:
            place.append((f" /{clean(state.query, _LONGEST_QUERY)} ", Role.ACCENT))
        if state.paused:
            place.append((" paused ", Role.WARNING))
        if any(panel.kind == "chart" for panel in board.panels):
            place.append((f" x: {fit(axis, min(cell_width(axis), _LONGEST_AXIS), keep='end')} ", Role.ACCENT))
        place += [(f" {word} ", Role.ACCENT) for word in state.options.changes(run)]
        if over:
            place.append((f" {over} overlaid " if over > 1 else " seeds merged ", Role.ACCENT))
        if run_number:
            place.append((f" {run_number} ", Role.ACCENT))
        if board.page_count > 1 and not board.zoomed:
            place.append((f" page {board.page + 1}/{board.page_count} ", Role.ACCENT))
        room = self.app.size.width - sum(cell_width(text) for text, _ in place)
        kind = "chart" if board.panel is None or board.panel.kind == "chart" else "panel"
        shown = footer(self.app.actions, f"dashboard.{kind}" if board.zoomed else "dashboard")
        actions = [action for action in shown if run_number or action.section != "Runs"]
        self.draw((*key_spans(actions, room), *place), state.theme)

    def _run_number(self, run: Run | None) -> str:
        """Return the position of the run in the run list, such as "run 2 of 3", or "run 1 of 2 listed" if the list
        leaves out runs; "" if there is no other run."""
        count = len(self.app.snapshot.runs)
        if count < 2 or run is None:
            return ""
        runs = self.app.runs_listed()
        if run not in runs:
            return f"1 of {count} runs"
        return f"run {runs.index(run) + 1} of {len(runs)}{' listed' if len(runs) < count else ''}"


def key_spans(actions: Iterable[Action], room: int) -> Row:
    """Return the first keys of actions with their labels, as many as fit, filled to `room` cells."""
    keys: list[Span] = []
    for action in actions:
        key = f" {key_names(action.keys.split(',')[0])}"
        need = cell_width(key) + 2 + len(action.label)
        if need > room:
            break
        keys += [(key, Role.ACCENT), (f" {action.label} ", Role.MUTED)]
        room -= need
    return (*keys, (" " * max(0, room), Role.MUTED))
