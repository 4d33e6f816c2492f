"""The two lines at the foot of the screen: what is wrong, and what the keys do."""

from __future__ import annotations

import time
from collections.abc import Iterable

from msgspec.structs import replace
from textual.strip import Strip
from textual.widget import Widget

from tuimon.model.views import Role, Row, Span
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean, fit
from tuimon.tui._textual import unscrolled
from tuimon.tui.actions import Action, key_names
from tuimon.tui.board import Board
from tuimon.tui.box import strip
from tuimon.tui.state import ViewState

LONG_ENOUGH = 4.0
"""Seconds to read a sentence."""
_MOST_OF_A_QUERY = 20
_SEVERITY = {"info": Role.ACCENT, "warning": Role.WARNING, "critical": Role.CRITICAL, "error": Role.CRITICAL}
_MARK = {"info": "i", "warning": "!", "critical": "✗", "error": "✗"}


class Line(Widget):
    """One row of spans; drawn again only when it differs."""

    DEFAULT_CSS = "Line { height: 1; width: 1fr; }"
    virtual_size = unscrolled()

    def __init__(self) -> None:
        super().__init__()
        self._row: Row = ()
        self._theme = "dark"

    def draw(self, row: Row, theme: str) -> None:
        if row != self._row or theme != self._theme:
            self._row, self._theme = row, theme
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return strip(_filled(self._row, self.size.width), self._theme)


class AlertBar(Line):
    """The gravest thing that stands, in a sentence; not there when all is well."""

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self._said = ""
        self._said_at = 0.0
        self._said_of = -1

    def say(self, message: str) -> None:
        """What a key did; it stays long enough to be read, and on until the store changes."""
        self._said, self._said_at, self._said_of = message, time.monotonic(), -1

    def update(self, snapshot: Snapshot, run: Run | None, theme: str) -> None:
        row = self._content(snapshot, run)
        self.display = bool(row)
        self.draw(row, theme)

    def _content(self, snapshot: Snapshot, run: Run | None) -> Row:
        if self._said:
            if self._said_of == -1:
                self._said_of = snapshot.version
            if self._said_of == snapshot.version or time.monotonic() < self._said_at + LONG_ENOUGH:
                return ((f" i {self._said}", Role.ACCENT),)
            self._said = ""
        alerts = [alert for alert in snapshot.alerts if run is not None and alert.run == run.id]
        order = ("critical", "warning", "info")
        if alerts:
            worst = min(alerts, key=lambda alert: order.index(alert.severity))
            more = f"   +{len(alerts) - 1} more" if len(alerts) > 1 else ""
            role = _SEVERITY[worst.severity]
            return (
                (f" {_MARK[worst.severity]} ", role),
                (clean(worst.message), role),
                (f"{more}   a: all", Role.MUTED),
            )
        problems = [notice for notice in snapshot.notices if notice.level != "info"]
        if problems:
            last = problems[-1]
            role = _SEVERITY[last.level]
            return ((f" {_MARK[last.level]} ", role), (clean(last.message), role), ("   a: all", Role.MUTED))
        return ()


class KeyBar(Line):
    """Where one is, and the most useful keys, as many as fit."""

    def __init__(self, actions: tuple[Action, ...]) -> None:
        super().__init__()
        self._actions = actions

    def update(self, state: ViewState, board: Board, which: str, axis: str, typing: bool, over: int = 0) -> None:
        """which: of several runs, the one that is shown; "" where there is one. axis: what charts are drawn against.
        typing: the filter is on the screen already, as it is typed. over: lines that are laid over each other."""
        place: list[Span] = []
        if state.query and not typing:
            place.append((f" /{clean(state.query, _MOST_OF_A_QUERY)} ", Role.ACCENT))
        if state.paused:
            place.append((" paused ", Role.WARNING))
        if axis != "step":
            place.append((f" by {axis} ", Role.ACCENT))
        place += [(f" {word} ", Role.ACCENT) for word in state.look.changes]
        if over:
            place.append((f" {over} over each other " if over > 1 else " seeds as one ", Role.ACCENT))
        if which:
            place.append((f" {which} ", Role.ACCENT))
        if board.page_count > 1 and not board.zoomed:
            place.append((f" page {board.page + 1}/{board.page_count} ", Role.ACCENT))
        room = self.app.size.width - sum(cell_width(text) for text, _ in place)
        actions = [one for one in self._actions if which or one.section != "Runs"]
        if board.zoomed:
            actions = [replace(one, footer=one.zoomed[0], label=one.zoomed[1]) for one in actions if one.zoomed]
        keys = key_spans(actions, room)
        self.draw((*keys, *place), state.theme)


def key_spans(actions: Iterable[Action], room: int) -> Row:
    """Keys with their labels, those of the footer in its order, as many as fit; filled to `room` cells."""
    keys: list[Span] = []
    for action in sorted((one for one in actions if one.footer), key=lambda one: one.footer):
        key = f" {key_names(action.keys.split(',')[0])}"
        need = cell_width(key) + 2 + len(action.label)
        if need > room:
            break
        keys += [(key, Role.ACCENT), (f" {action.label} ", Role.MUTED)]
        room -= need
    return (*keys, (" " * max(0, room), Role.MUTED))


def _filled(row: Row, width: int) -> Row:
    """The row cut or filled to the width."""
    spans: list[Span] = []
    for text, role in row:
        if width <= 0:
            break
        text = fit(text, width) if cell_width(text) > width else text
        spans.append((text, role))
        width -= cell_width(text)
    if width > 0:
        spans.append((" " * width, Role.TEXT))
    return tuple(spans)
