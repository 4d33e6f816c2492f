"""Whether the screen is drawn with ASCII only: the footer, lists and log lines, too, whose rows do not depend on it."""

from __future__ import annotations

from tuimon.model.views import Symbols

_active = False


def ascii_only() -> bool:
    """Return whether only ASCII is drawn."""
    return _active


def draw_with(symbols: Symbols) -> None:
    """Draw the whole screen with these symbols from now on."""
    global _active
    _active = symbols is Symbols.ASCII
