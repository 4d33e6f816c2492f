"""Which panels are there, and which of them is selected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tuimon.text import clean
from tuimon.tui import explore
from tuimon.tui.actions import Action
from tuimon.tui.sections import ORDERS, Heading

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Panels")


def _zoom(app: TuimonApp) -> None:
    if isinstance(app.board.panel, Heading):
        _fold(app)
    else:
        app.board.zoom(not app.board.zoomed)
        app.redraw()


def _fold(app: TuimonApp) -> None:
    """The section of the selected chart, or the selected heading's own."""
    panel, state = app.board.panel, app.state
    if not state.all_metrics or state.query or panel is None:
        app.say("Sections are among all metrics: m")
        return
    before = range(app.board.selected, -1, -1)
    at, title = next(((at, one.section) for at in before if isinstance(one := app.board.panels[at], Heading)), (-1, ""))
    if at < 0:
        app.say("All metrics are of one section")
        return
    app.board.zoom(False)
    app.board.selected = at
    state.turned = (
        tuple(one for one in state.turned if one != title) if title in state.turned else (*state.turned, title)
    )
    app.redraw()


def _fold_all(app: TuimonApp) -> None:
    headings = [panel for panel in app.board.panels if isinstance(panel, Heading)]
    if not headings:
        app.say("Sections are among all metrics: m")
        return
    app.state.folded = not all(heading.folded for heading in headings)
    app.state.turned = ()
    app.board.zoom(False)
    app.redraw()


def _order(app: TuimonApp) -> None:
    app.state.order = ORDERS[(ORDERS.index(app.state.order) + 1) % len(ORDERS)] if app.state.order in ORDERS else "name"
    app.say(f"Metrics by {app.state.order}")


def _pin(app: TuimonApp) -> None:
    panel, look = app.board.panel, app.state.look
    if panel is None or panel.kind != "chart":
        app.say("Only charts can be pinned")
        return
    if panel.id in look.pins:
        app.state.look = replace(look, pins=tuple(id for id in look.pins if id != panel.id))
        app.say(f"{clean(panel.title)} is no longer pinned")
    else:
        app.state.look = replace(look, pins=(*look.pins, panel.id))
        app.say(f"{clean(panel.title)} is pinned: first on the dashboard")


def _filter(app: TuimonApp) -> None:
    app.board.zoom(False)
    app.begin_filter()


def _metrics(app: TuimonApp) -> None:
    app.state.all_metrics = not app.state.all_metrics or bool(app.state.chosen)
    app.state.chosen = ()
    app.state.query = None
    app.board.zoom(False)
    app.redraw()


def _turn(pages: int) -> Callable[[TuimonApp], None]:
    """The next page; of a zoomed panel, the next panel."""

    def do(app: TuimonApp) -> None:
        if app.board.step(pages) or app.board.turn(pages):
            app.redraw()
        else:
            what = "panel" if app.board.zoomed else "page"
            app.say(f"This is the last {what}" if pages > 0 else f"This is the first {what}")

    return do


def _move(direction: str) -> Callable[[TuimonApp], None]:
    def do(app: TuimonApp) -> None:
        if not app.board.zoomed:
            app.board.move(direction)
            app.redraw()
        elif direction in ("left", "right"):
            explore.pan(app, explore.PAN if direction == "right" else -explore.PAN)
        else:
            explore.move_up(app, explore.PAN / 2 if direction == "up" else -explore.PAN / 2)

    return do


ACTIONS = (
    _action("zoom", "enter", "zoom", "Give the selected panel the whole screen", _zoom, footer=3),
    _action(
        "filter",
        "slash",
        "filter",
        "Charts of the metrics that match what you type: words, * and ?, re:expression",
        _filter,
        footer=4,
    ),
    _action("metrics", "m", "metrics", "A chart for every metric; again: the dashboard", _metrics, footer=5),
    _action("pin", "asterisk", "pin", "Pin the selected chart: first on the dashboard; again: not", _pin),
    _action("fold", "f", "fold", "Among all metrics: fold or unfold the section", _fold),
    _action("fold_all", "F", "fold all", "Among all metrics: fold or unfold every section", _fold_all),
    _action("order", "o", "order", "All metrics by relevance or by name", _order),
    _action(
        "next_page",
        "pagedown,space,n",
        "next page",
        "The next page; zoomed: the next panel",
        _turn(1),
        footer=6,
    ),
    _action("previous_page", "pageup,b,N", "previous page", "The page before; zoomed: the panel before", _turn(-1)),
    _action(
        "left",
        "left,h",
        "left",
        "Select the panel to the left; zoomed: what came before",
        _move("left"),
        zoomed=(2, "pan"),
    ),
    _action("down", "down,j", "down", "Select the panel below; zoomed: lower values", _move("down")),
    _action("up", "up,k", "up", "Select the panel above; zoomed: higher values", _move("up")),
    _action("right", "right,l", "right", "Select the panel to the right; zoomed: what comes after", _move("right")),
)
