"""Mouse wheel on a list or a text."""

from __future__ import annotations

from abc import abstractmethod

from textual.events import MouseScrollDown, MouseScrollUp
from textual.message_pump import MessagePump

from tuimon.tui.action import TuimonApp


class Wheel(MessagePump):
    """Mixin of a widget or a screen whose rows the mouse wheel moves."""

    app: TuimonApp
    TURN = 3
    """Rows by which a turn moves."""

    @abstractmethod
    def move(self, rows: int) -> None:
        """Select another row, or scroll."""

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self._turn(1)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self._turn(-1)

    def _turn(self, turns: int) -> None:
        self.move(self.TURN * turns)
        self.app.redraw()
