"""Actions of the grid of small multiples, and the key that opens it."""

from __future__ import annotations

from functools import partial

from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import END, begin_filter, closed, move, topmost

_action = partial(Action, section="Small multiples", where=("multiples",))


def _toggle(app: Dashboard) -> None:
    if closed(app, screens.MultiplesScreen):
        return
    if app.run_shown is None:
        app.say("There is no run yet")
    else:
        selected = app.run_selected
        app.push_screen(screens.MultiplesScreen(app.actions, selected.path if selected is not None else ""))


def _open(app: Dashboard) -> None:
    run = topmost(app, screens.MultiplesScreen).run_selected
    if run is None:
        app.say("No run is selected")
    else:
        app.show_run(run)


def _aside(app: Dashboard, charts: int) -> None:
    topmost(app, screens.MultiplesScreen).aside(charts)


def _metric(app: Dashboard, by: int) -> None:
    topmost(app, screens.MultiplesScreen).next_metric(by)


def _limits(app: Dashboard) -> None:
    topmost(app, screens.MultiplesScreen).next_limits()


ACTIONS = (
    Action(
        "multiples",
        "v",
        "grid",
        "One metric of every listed run, as a grid of small charts; again: back",
        _toggle,
        section="Run list",
        where=("runs", "multiples"),
        opens="multiples",
        footer=8,
        also="small multiples compare",
    ),
    _action("multiples_open", "enter", "open", "Show the dashboard of the selected run", _open, 3),
    _action("multiples_metric", "greater_than_sign", "metric", "The next metric", partial(_metric, by=1), 4),
    _action("multiples_metric_back", "less_than_sign", "metric", "The previous metric", partial(_metric, by=-1)),
    _action("multiples_find", "slash", "find", "Choose the metric by words of its name", begin_filter, 5),
    _action("multiples_limits", "V", "limits", "The same limits for all charts, or for each its own", _limits, 6),
    _action("multiples_left", "left,h", "left", "Select the chart to the left", partial(_aside, charts=-1)),
    _action("multiples_right", "right,l", "right", "Select the chart to the right", partial(_aside, charts=1)),
    _action("multiples_up", "up,k", "up", "Select the chart above", move(-1)),
    _action("multiples_down", "down,j", "down", "Select the chart below", move(1)),
    _action("multiples_page_up", "pageup,b", "page up", "One page up", move(pages=-1)),
    _action("multiples_page_down", "pagedown,n", "page down", "One page down", move(pages=1)),
    _action("multiples_first", "home,g", "first", "Select the first run", move(-END)),
    _action("multiples_last", "end,G", "last", "Select the last run", move(END)),
)
