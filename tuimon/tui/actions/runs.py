"""Which run is shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tuimon.tui.actions import Action

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Runs")


def _choose(step: int) -> Callable[[TuimonApp], None]:
    def do(app: TuimonApp) -> None:
        if app.snapshot.runs:
            app.state.run = ((app.state.run or 0) + step) % len(app.snapshot.runs)
            app.redraw()

    return do


ACTIONS = (
    _action("next_run", "right_square_bracket", "next run", "Show the next run below the path", _choose(1), footer=7),
    _action("previous_run", "left_square_bracket", "previous run", "Show the run before", _choose(-1)),
)
