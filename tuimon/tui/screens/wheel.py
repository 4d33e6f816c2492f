"""Mouse wheel on a list or a text."""

from __future__ import annotations

from abc import abstractmethod

from textual.events import MouseScrollDown, MouseScrollUp

_ROWS = 3
"""Rows that one turn moves."""


class Wheel:
    """Mixin of a widget or a screen whose rows the mouse wheel moves."""

    @abstractmethod
    def move(self, rows: int) -> None:
        """Select another row, or scroll."""

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self.move(_ROWS)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self.move(-_ROWS)
