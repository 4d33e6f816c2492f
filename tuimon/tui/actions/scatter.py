"""Actions of the scatter view, and the key that opens it."""

from __future__ import annotations

from functools import partial

from tuimon.panels import CurvePanel
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import END, begin_filter, closed, move, topmost

_action = partial(Action, section="Scatter", where=("scatter",))


def selected_metric(app: Dashboard) -> str | None:
    """Return the metric of the selected chart or of the selected row of the metric list, or None."""
    if isinstance(app.screen, screens.MetricBrowser):
        return app.screen.table.selected
    run, panel = app.run_shown, app.board.panel
    leading = panel.leading(run) if run is not None and isinstance(panel, CurvePanel) else None
    return leading.metric if leading is not None else None


def _toggle(app: Dashboard) -> None:
    if closed(app, screens.ScatterScreen):
        return
    name = selected_metric(app)
    if app.run_shown is None or name is None:
        app.say("Select the chart of a metric first, or a row of the metric list (M)")
    else:
        app.push_screen(screens.ScatterScreen(app.actions, name, is_y=True))


def _swap(app: Dashboard) -> None:
    topmost(app, screens.ScatterScreen).swap()


def _take(app: Dashboard) -> None:
    topmost(app, screens.ScatterScreen).take()


ACTIONS = (
    Action(
        "scatter",
        "P",
        "scatter",
        "The metric of the selected chart against another one, with their correlation; again: back",
        _toggle,
        section="Panels",
        where=("dashboard", "metrics", "scatter"),
        opens="scatter",
        also="correlation against plot pairs",
    ),
    _action("scatter_filter", "slash", "filter", "List the metrics that match", begin_filter, 3),
    _action("scatter_swap", "X", "swap", "Exchange x and y", _swap, 4),
    _action("scatter_take", "enter", "take", "Draw the selected metric against the others", _take, 5),
    _action("scatter_up", "up,k", "up", "The metric above", move(-1)),
    _action("scatter_down", "down,j", "down", "The metric below", move(1)),
    _action("scatter_page_up", "pageup,b", "page up", "One page up", move(pages=-1)),
    _action("scatter_page_down", "pagedown,space", "page down", "One page down", move(pages=1)),
    _action("scatter_first", "home,g", "first", "The first metric", move(-END)),
    _action("scatter_last", "end,G", "last", "The last metric", move(END)),
)
