"""Helpers for actions that open, close or use a work screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tuimon.tui.action import Dashboard
from tuimon.tui.screens.work_screen import WorkScreen

END = 1 << 30
"""Number of rows to move to reach the first or the last row."""
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


def move(rows: int = 0, pages: int = 0) -> Callable[[Dashboard], None]:
    """Return an action that moves the selection of the topmost screen, which is a work screen."""

    def do(app: Dashboard) -> None:
        assert isinstance(app.screen, WorkScreen)
        app.screen.move(rows, pages)

    return do


def begin_filter(app: Dashboard) -> None:
    """Open the filter line of the topmost screen, which is a work screen."""
    assert isinstance(app.screen, WorkScreen)
    app.screen.begin_filter()
