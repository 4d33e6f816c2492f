"""What part of a chart is shown. Moving is done by the keys that select panels where no chart is zoomed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tuimon.tui import explore
from tuimon.tui.actions import Action

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Charts")


def _closer(app: TuimonApp) -> None:
    if app.board.zoomed:
        explore.zoom_x(app, 1 / explore.ZOOM)
    else:
        app.resize_charts(1)


def _wider(app: TuimonApp) -> None:
    if app.board.zoomed:
        explore.zoom_x(app, explore.ZOOM)
    else:
        app.resize_charts(-1)


def _stretch(app: TuimonApp, factor: float) -> None:
    if app.board.zoomed:
        explore.stretch(app, factor)
    else:
        app.say("Zoom a chart first: enter")


ACTIONS = (
    _action(
        "closer",
        "plus,equals_sign",
        "closer",
        "Zoomed: less of x, around a cursor. Else: larger charts",
        _closer,
        zoomed=(3, "closer"),
    ),
    _action(
        "wider",
        "minus",
        "wider",
        "Zoomed: more of x. Else: smaller charts, more on a page",
        _wider,
        zoomed=(4, "wider"),
    ),
    _action("taller", "K", "taller", "Zoomed: less of y; j and k move it", partial(_stretch, factor=1 / explore.ZOOM)),
    _action("flatter", "J", "flatter", "Zoomed: more of y", partial(_stretch, factor=explore.ZOOM)),
    _action("to_begin", "home", "begin", "The window to the first point", explore.to_begin),
    _action("to_end", "end", "follow", "The window to the newest point, which it follows from then on", explore.to_end),
    _action(
        "reset",
        "0",
        "all",
        "All of every chart again: no window, no cursor, no fixed limits",
        explore.reset,
        zoomed=(8, "all"),
    ),
)
