"""How charts are looked at."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tuimon.tui.actions import Action

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Charts")


def _axis(app: TuimonApp) -> None:
    run, look = app.run_shown, app.state.look
    axes = run.axes() if run is not None else ("step",)
    app.state.look = replace(look, axis=axes[(axes.index(look.axis_of(run)) + 1) % len(axes)])
    if len(axes) == 1:
        app.say("The run tells nothing but steps: neither times nor epochs, samples or tokens")
    app.redraw()


ACTIONS = (
    _action(
        "axis",
        "x",
        "axis",
        "Draw against the next axis: step, wall time, duration, epoch, samples, tokens",
        _axis,
    ),
)
