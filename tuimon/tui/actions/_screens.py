"""Helpers for actions that open, close or use a work screen."""

from __future__ import annotations

from typing import TypeVar

from tuimon.tui.action import Dashboard
from tuimon.tui.screens.work_screen import WorkScreen

AnyScreen = TypeVar("AnyScreen", bound=WorkScreen)


def closed(app: Dashboard, kind: type[WorkScreen]) -> bool:
    """Close the topmost screen if it is of this kind; return whether it was."""
    if not isinstance(app.screen, kind):
        return False
    app.pop_screen()
    app.redraw()
    return True


def topmost(app: Dashboard, kind: type[AnyScreen]) -> AnyScreen:
    """Return the topmost screen, which is of this kind: the `where` of the action names it."""
    assert isinstance(app.screen, kind)
    return app.screen
