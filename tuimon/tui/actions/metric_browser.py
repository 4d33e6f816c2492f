"""Actions of the metric list, and the key that opens it."""

from __future__ import annotations

from functools import partial

from tuimon.panels import CurvePanel
from tuimon.tui import explore, screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import closed, topmost

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
)
