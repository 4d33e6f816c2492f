"""Which panels are there, and which of them is selected."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tuimon.tui.actions import Action

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Panels")


def _zoom(app: TuimonApp) -> None:
    app.board.zoom(not app.board.zoomed)
    app.redraw()


def _filter(app: TuimonApp) -> None:
    app.board.zoom(False)
    app.begin_filter()


def _metrics(app: TuimonApp) -> None:
    app.state.all_metrics = not app.state.all_metrics
    app.state.query = None
    app.board.zoom(False)
    app.redraw()


def _turn(pages: int) -> Callable[[TuimonApp], None]:
    def do(app: TuimonApp) -> None:
        app.board.turn(pages)
        app.redraw()

    return do


def _move(direction: str) -> Callable[[TuimonApp], None]:
    def do(app: TuimonApp) -> None:
        app.board.move(direction)
        app.redraw()

    return do


ACTIONS = (
    _action("zoom", "enter", "zoom", "Give the selected panel the whole screen", _zoom, footer=3),
    _action("filter", "slash", "filter", "Charts of the metrics that match what you type", _filter, footer=4),
    _action("metrics", "m", "metrics", "A chart for every metric; again: the dashboard", _metrics, footer=5),
    _action("next_page", "pagedown,space,n", "next page", "The next page of panels", _turn(1), footer=6),
    _action("previous_page", "pageup,b,N", "previous page", "The page before", _turn(-1)),
    _action("left", "left,h", "left", "Select the panel to the left", _move("left")),
    _action("down", "down,j", "down", "Select the panel below", _move("down")),
    _action("up", "up,k", "up", "Select the panel above", _move("up")),
    _action("right", "right,l", "right", "Select the panel to the right", _move("right")),
)
