"""How charts are looked at: axes, scales, average, cursor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tuimon.panels import SMOOTHINGS, Y_RANGES, Y_SCALES
from tuimon.tui import explore
from tuimon.tui.actions import Action

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Charts")
_SAID = {
    "auto": "y: each chart as suits it",
    "linear": "y: linear",
    "log": "y: logarithmic; what is not above 0 lies at the foot",
    "symlog": "y: logarithmic at both sides of 0, linear around it",
    "full": "y: all that is in the window",
    "robust": "y: without outliers; arrows tell where they are",
    "fixed": "y: the limits of this chart stay as they are",
}


def _axis(app: TuimonApp) -> None:
    run, look = app.run_shown, app.state.look
    axes = run.axes() if run is not None else ("step",)
    axis = axes[(axes.index(look.axis_of(run)) + 1) % len(axes)]
    app.state.look = replace(look, axis=axis, window=None if len(axes) > 1 else look.window)
    if len(axes) == 1:
        app.say("The run tells nothing but steps: neither times nor epochs, samples or tokens")
    app.redraw()


def _y_scale(app: TuimonApp) -> None:
    look = app.state.look
    chosen = _next(Y_SCALES, look.y_scale)
    app.state.look = replace(look, y_scale=chosen, y_fixed=())
    app.say(_SAID[chosen])


def _y_range(app: TuimonApp) -> None:
    """full, robust, and the present limits of this chart kept."""
    look, panel = app.state.look, app.board.panel
    if panel is not None and look.fixed_limits(panel.id) is not None:
        app.state.look = replace(look.with_limits(panel.id, None), y_range="full")
        app.say(_SAID["full"])
    elif look.y_range == Y_RANGES[-1]:
        explore.hold_limits(app)
        if panel is not None and app.state.look.fixed_limits(panel.id) is not None:
            app.state.look = replace(app.state.look, y_range="full")
            app.say(_SAID["fixed"])
    else:
        chosen = _next(Y_RANGES, look.y_range)
        app.state.look = replace(look, y_range=chosen)
        app.say(_SAID[chosen])


def _next(order: tuple[str, ...], now: str) -> str:
    return order[(order.index(now) + 1) % len(order)] if now in order else order[0]


def _smooth(by: int) -> Callable[[TuimonApp], None]:
    def do(app: TuimonApp) -> None:
        look = app.state.look
        nearest = min(range(len(SMOOTHINGS)), key=lambda at: abs(SMOOTHINGS[at] - look.weight))
        chosen = SMOOTHINGS[min(max(nearest + by, 0), len(SMOOTHINGS) - 1)]
        if chosen == look.weight:
            app.say("As smooth as it gets" if by > 0 else "The values as they were logged")
        app.state.look = replace(look, smoothing=chosen)
        app.redraw()

    return do


def _cursor(cells: int) -> Callable[[TuimonApp], None]:
    return lambda app: explore.move_cursor(app, cells)


ACTIONS = (
    _action(
        "axis",
        "x",
        "axis",
        "Draw against the next axis: step, wall time, duration, epoch, samples, tokens",
        _axis,
    ),
    _action(
        "y_scale", "v", "y scale", "y linear, log, symmetric log, or as suits each chart", _y_scale, zoomed=(7, "scale")
    ),
    _action("y_range", "V", "y range", "y limits: all, without outliers, or this chart's present ones kept", _y_range),
    _action(
        "smoother",
        "right_curly_bracket",
        "smoother",
        "Average more: 0.6, 0.9, 0.97, 0.99",
        _smooth(1),
        zoomed=(6, "smooth"),
    ),
    _action("rougher", "left_curly_bracket", "rougher", "Average less; the raw values stay faint behind", _smooth(-1)),
    _action(
        "cursor",
        "c",
        "cursor",
        "Read values off: a cursor over all charts; again: none",
        explore.toggle_cursor,
        zoomed=(5, "cursor"),
    ),
    _action("cursor_left", "comma", "cursor left", "The cursor to the point before", _cursor(-1)),
    _action("cursor_right", "full_stop", "cursor right", "The cursor to the next point", _cursor(1)),
    _action("cursor_far_left", "less_than_sign", "far left", "The cursor ten cells back", _cursor(-explore.FAR)),
    _action("cursor_far_right", "greater_than_sign", "far right", "The cursor ten cells on", _cursor(explore.FAR)),
)
