"""Actions that change which part of a chart is visible. While a chart is zoomed, the keys that otherwise select panels
move its window (see panels.py)."""

from __future__ import annotations

from functools import partial

from tuimon.tui import explore
from tuimon.tui.action import Action, Dashboard

_action = partial(Action, section="Charts")


def _closer(app: Dashboard) -> None:
    if app.board.zoomed:
        explore.zoom_x(app, 1 / explore.ZOOM)
    else:
        app.resize_charts(1)


def _wider(app: Dashboard) -> None:
    if app.board.zoomed:
        explore.zoom_x(app, explore.ZOOM)
    else:
        app.resize_charts(-1)


def _stretch(app: Dashboard, factor: float) -> None:
    if app.board.zoomed:
        explore.stretch(app, factor)
    else:
        app.say("Zoom a chart first: press enter")


def _go_to(app: Dashboard) -> None:
    app.ask("go to", f"steps: {explore.GO_TO_FORMS}", partial(explore.go_to, app))


_taller, _flatter = partial(_stretch, factor=1 / explore.ZOOM), partial(_stretch, factor=explore.ZOOM)
_CLOSER = "Zoomed: a shorter range of x, around the cursor. Else: larger charts"
_WIDER = "Zoomed: a longer range of x. Else: smaller charts, more on a page"
_GO_TO = f"Go to a step, or show a range of steps: {explore.GO_TO_FORMS}"
_RESET = "Charts as at the start: no window, cursor, smoothing, limits; automatic scale; over steps"
ACTIONS = (
    _action(
        "closer",
        "plus,equals_sign",
        "closer",
        _CLOSER,
        _closer,
        zoomed=(3, "closer"),
        also="zoom in magnify larger bigger chart size",
    ),
    _action("wider", "minus", "wider", _WIDER, _wider, zoomed=(4, "wider"), also="zoom out smaller chart size shrink"),
    _action(
        "taller", "K", "taller", "Zoomed: a smaller range of y; j and k move it", _taller, also="zoom in vertically"
    ),
    _action("flatter", "J", "flatter", "Zoomed: a larger range of y", _flatter, also="zoom out vertically"),
    _action("go_to", "colon", "go to", _GO_TO, _go_to, zoomed=(9, "go to"), also="jump zoom in range"),
    _action("to_begin", "home", "begin", "Move the window to the first point", explore.to_begin, also="start"),
    _action(
        "to_end",
        "end",
        "follow",
        "Move the window to the newest point and follow it",
        explore.to_end,
        also="latest newest",
    ),
    _action("reset", "0", "all", _RESET, explore.reset, zoomed=(8, "all"), also="reset default zoom out undo"),
)
