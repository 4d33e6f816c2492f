"""A screen over the dashboard that goes on living while it is open: drawn from each snapshot, with keys of its own."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, cast

from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input

from tuimon.store import Snapshot
from tuimon.tui.actions import Action
from tuimon.tui.state import ViewState

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp


_WHILE_TYPING = frozenset({"escape", "up", "down", "pageup", "pagedown"})
"""Keys that a line in which something is typed has no use for."""


class WorkScreen(ModalScreen[None]):
    """Actions whose `where` names the screen work on it; keys of other actions do nothing."""

    WHERE = ""

    def __init__(self, actions: tuple[Action, ...]) -> None:
        super().__init__()
        self.actions = tuple(action for action in actions if self.WHERE in action.where)
        self._by_key = {key: action for action in self.actions for key in action.keys.split(",") if key}

    @property
    def tuimon(self) -> TuimonApp:
        """The app that it belongs to."""
        return cast("TuimonApp", self.app)

    @abstractmethod  # told to mypy, which no subclass without it passes: Textual has a metaclass of its own
    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        """Draws what has changed. `now`: seconds since the epoch."""

    @abstractmethod
    def say(self, message: str) -> None:
        """Tells what a key did."""

    def look_again(self) -> None:
        """A second has passed: what is no part of a snapshot may have changed."""

    def go_back(self) -> bool:
        """Leaves the innermost thing that is open on it; False: there is none but the screen itself."""
        return False

    def on_key(self, event: Key) -> None:
        action = self._by_key.get(event.key)
        typing = isinstance(self.focused, Input)
        if action is not None and (not typing or event.key in _WHILE_TYPING):
            event.stop()
            action.do(self.tuimon)
