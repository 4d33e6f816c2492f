"""Actions of the hyperparameter table, and the key that opens it."""

from __future__ import annotations

from functools import partial

from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import END, begin_filter, closed, move, topmost

_action = partial(Action, section="Hyperparameters", where=("hparams",))


def _toggle(app: Dashboard) -> None:
    if closed(app, screens.HparamsScreen):
        return
    if app.run_shown is None:
        app.say("There is no run yet")
    else:
        app.push_screen(screens.HparamsScreen(app.actions))


def _open(app: Dashboard) -> None:
    run = app.run_selected
    if run is None:
        app.say("No run is selected")
    else:
        app.show_run(run)


def _parallel(app: Dashboard) -> None:
    topmost(app, screens.HparamsScreen).toggle_parallel()


def _sort(app: Dashboard, by: int) -> None:
    topmost(app, screens.HparamsScreen).next_sort(by)


def _metric(app: Dashboard) -> None:
    topmost(app, screens.HparamsScreen).begin_metric()


def _reverse(app: Dashboard) -> None:
    topmost(app, screens.HparamsScreen).reverse()


ACTIONS = (
    Action(
        "hparams",
        "H,E",
        "hparams",
        "Hyperparameters of all runs that differ, with reward and loss, as a sortable table; again: back",
        _toggle,
        section="Runs",
        where=("dashboard", "hparams"),
        opens="hparams",
        also="settings table sweep search",
    ),
    Action(
        "run_hparams",
        "E",
        "hparams",
        "Hyperparameters of all runs, as H and E on the dashboard",
        _toggle,
        section="Run list",
        where=("runs", "multiples"),
        footer=10,
        also="settings table sweep search",
    ),
    _action("hparams_open", "enter", "open", "Show the dashboard of the selected run", _open, 3),
    _action("hparams_filter", "slash", "filter", "List the runs that match", begin_filter, 4),
    _action(
        "hparams_metric",
        "m",
        "metric",
        "Choose the result, as in the run list: words of any metric's name, or none to remove its column",
        _metric,
        5,
        also="result validation accuracy best",
    ),
    _action("hparams_sort", "greater_than_sign,right", "sort", "Sort by the next column", partial(_sort, by=1), 5),
    _action("hparams_sort_back", "less_than_sign,left", "sort", "Sort by the previous column", partial(_sort, by=-1)),
    _action("hparams_parallel", "v", "lines", "Parallel coordinates above the table; again: hide", _parallel, 7),
    _action("hparams_reverse", "R", "reverse", "Reverse the order", _reverse, 6),
    _action("hparams_up", "up,k", "up", "Select the run above", move(-1)),
    _action("hparams_down", "down,j", "down", "Select the run below", move(1)),
    _action("hparams_page_up", "pageup,b", "page up", "One page up", move(pages=-1)),
    _action("hparams_page_down", "pagedown,n", "page down", "One page down", move(pages=1)),
    _action("hparams_first", "home,g", "first", "Select the first run", move(-END)),
    _action("hparams_last", "end,G", "last", "Select the last run", move(END)),
)
