"""Actions of the metric list, and the key that opens it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tuimon.panels import CurvePanel
from tuimon.panels.lists.metric_rows import metric_sorts
from tuimon.tui import explore, screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import END, begin_filter, closed, move, topmost

_action = partial(Action, section="Metric list", where=("metrics",))


def _toggle(app: Dashboard) -> None:
    if closed(app, screens.MetricBrowser):
        return
    run, panel = app.run_shown, app.board.panel
    if run is None:
        app.say("There is no metric yet")
        return
    leading = panel.leading(run) if isinstance(panel, CurvePanel) else None
    app.push_screen(screens.MetricBrowser(app.actions, leading.metric if leading is not None else ""))


def _changed(app: Dashboard) -> None:
    """List the metrics that are unusual at the cursor, or at the step of the selected alert."""
    if isinstance(app.screen, screens.NotesScreen):
        alert = app.screen.table.target
        if alert is None or alert.step is None:
            app.say("Select an alert that has a step")
            return
        app.show_alert(alert)
        run = app.run_shown
        if run is not None and alert.metric in run.metrics:
            from tuimon.exports.around import first_unusual

            step = first_unusual(run, alert.metric, alert.step)
            app.state.options = explore.with_cursor(app.state.options, run, step)
    if app.state.options.cursor is None or app.run_shown is None:
        app.say("No cursor: press c or : to put it on a step, or a and then Enter on an alert")
    else:
        app.push_screen(screens.MetricBrowser(app.actions, unusual=True))


def _open(app: Dashboard) -> None:
    topmost(app, screens.MetricBrowser).open()


def _mark(app: Dashboard) -> None:
    topmost(app, screens.MetricBrowser).mark()


def _sort(step: int) -> Callable[[Dashboard], None]:
    def do(app: Dashboard) -> None:
        screen = topmost(app, screens.MetricBrowser)
        sorts = metric_sorts(app.state.options.cursor)
        place = sorts.index(screen.sort) if screen.sort in sorts else 0
        screen.sort, screen.reverse = sorts[(place + step) % len(sorts)], False
        app.redraw()

    return do


def _reverse(app: Dashboard) -> None:
    screen = topmost(app, screens.MetricBrowser)
    screen.sort_by(screen.sort)


ACTIONS = (
    Action(
        "metric_list",
        "M",
        "metric list",
        "Every metric as a row: values, also at the cursor, recent change, curve, source; again: back",
        _toggle,
        section="Panels",
        where=("dashboard", "metrics"),
        opens="metrics",
        also="values table statistics",
    ),
    Action(
        "changed",
        "w",
        "changed",
        "Metrics that differ clearly at the cursor, or at the step of the selected alert, from their points before",
        _changed,
        section="Charts",
        where=("dashboard", "alerts"),
        zoomed=(11, "changed"),
        also="what else changed moved together with jumped at the same time correlated unusual outliers cause",
    ),
    _action(
        "metric_unusual",
        "u",
        "unusual",
        "Only metrics that differ clearly at the cursor from their points before; again: all",
        lambda app: topmost(app, screens.MetricBrowser).toggle_unusual(),
        8,
        also="changed together moved jumped correlated",
    ),
    _action(
        "metric_open", "enter", "chart", "Show the chart of the metric zoomed, or the marked ones in one", _open, 3
    ),
    _action(
        "metric_mark",
        "space",
        "mark",
        "Mark the metric: Enter draws the marked metrics in one chart",
        _mark,
        7,
        also="together two axes same one chart overlay metrics combine",
    ),
    _action("metric_filter", "slash", "filter", "List the metrics that match", begin_filter, 4),
    _action("metric_sort", "greater_than_sign", "sort", "Sort by the next column", _sort(1), 5),
    _action("metric_sort_back", "less_than_sign", "sort back", "Sort by the previous column", _sort(-1)),
    _action("metric_reverse", "R", "reverse", "Reverse the order", _reverse, 6),
    _action("metric_up", "up,k", "up", "Select the metric above", move(-1)),
    _action("metric_down", "down,j", "down", "Select the metric below", move(1)),
    _action("metric_page_up", "pageup,b", "page up", "One page up", move(pages=-1)),
    _action("metric_page_down", "pagedown,n", "page down", "One page down", move(pages=1)),
    _action("metric_first", "home,g", "first", "Select the first metric", move(-END)),
    _action("metric_last", "end,G", "last", "Select the last metric", move(END)),
)
