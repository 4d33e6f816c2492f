"""Actions that open a screen of a run, and those that use what is selected there."""

from __future__ import annotations

import os

from tuimon.model.alerts import Alert
from tuimon.panels import CurvePanel
from tuimon.store import Run
from tuimon.tui import screens
from tuimon.tui.action import TuimonApp
from tuimon.tui.actions import explore

_NO_RUN = "There is no run yet"


def open_screen(app: TuimonApp, kind: str) -> None:
    """Open the screen with this class name for the selected run."""
    if (run := app.run_selected) is None:
        app.say(_NO_RUN)
    elif kind == "MetricBrowser":
        app.push_screen(screens.MetricBrowser(app.actions, selected_metric(app) or ""))
    elif kind == "MediaScreen":
        app.push_screen(screens.MediaScreen(app.actions, run, app.state.options.cursor))
    else:
        app.push_screen(screens.RanksScreen(app.actions))


def health(app: TuimonApp, section: str) -> None:
    """Open the health of the runs at a section. If it is open, show its other section."""
    if section == "settings" and app.run_selected is None:
        app.say(_NO_RUN)
    elif not isinstance(app.screen, screens.HealthScreen):
        app.push_screen(screens.HealthScreen(app.actions, app.run_selected, section))
    else:
        app.screen.next_part(1)


def _selected_alert(app: TuimonApp) -> Alert | None:
    """Return the alert that is selected on the screen of the health; None elsewhere."""
    return app.screen.alert if isinstance(app.screen, screens.HealthScreen) else None


def selected_metric(app: TuimonApp) -> str | None:
    """Return the metric of the selected chart or of the selected row of the metric list, or None."""
    if isinstance(app.screen, screens.MetricBrowser):
        return app.screen.table.selected
    run, panel = app.run_shown, app.board.panel
    leading = panel.leading(run) if run is not None and isinstance(panel, CurvePanel) else None
    return leading.metric if leading is not None else None


def show_scatter(app: TuimonApp, metric: str, is_y: bool = True) -> None:
    """Plot the other metrics against one, below the metric list. is_y: whether it is drawn upwards."""
    if not isinstance(app.screen, screens.MetricBrowser):
        app.push_screen(screens.MetricBrowser(app.actions))
    assert isinstance(app.screen, screens.MetricBrowser)
    app.screen.plot(metric, is_y)


def scatter(app: TuimonApp) -> None:
    name = selected_metric(app)
    if isinstance(app.screen, screens.MetricBrowser) and app.screen.table.fixed:
        app.screen.plot("")
    elif name is None:
        app.say("Select the chart of a metric first, or a row of the metric list (M)")
    else:
        show_scatter(app, name)


def changed(app: TuimonApp) -> None:
    """List the metrics that are unusual at the cursor, or at the step of the selected alert; there: again all."""
    if isinstance(app.screen, screens.MetricBrowser):
        app.screen.toggle_unusual()
        return
    if isinstance(app.screen, screens.HealthScreen):
        alert = _selected_alert(app)
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


def texts(app: TuimonApp) -> None:
    run = app.run_shown
    places = [run.directory] if run is not None else app.paths
    app.push_screen(screens.TextsScreen(app.actions, (*places, *app.settings.samples), app.state.options.cursor))


def log(app: TuimonApp) -> None:
    """Open the console text at the step of the cursor or of the selected alert, or at the line that shows a failure."""
    step = app.state.options.cursor
    if (alert := _selected_alert(app)) is not None:
        app.show_alert(alert)
        # The last lines show why a run has ended.
        step = None if alert.rule == "liveness" else alert.step
    run = app.run_shown
    if run is None:
        app.say(_NO_RUN)
        return
    from tuimon.reader.log_text import text_files

    logs = [
        stream for stream in run.streams if stream.info.format == "console" and not stream.info.path.endswith(".gz")
    ]
    known = [stream.info.path for stream in sorted(logs, key=lambda stream: -stream.point_count)]
    place = _failure(run)
    if place is not None and step is None:
        known.insert(0, place[0])
    files = text_files(run.directory, known)
    if files:
        offset = place[1] if place is not None and step is None else None
        app.push_screen(screens.LogScreen(app.actions, files, app.settings.console_patterns, step, offset))
    else:
        app.say("No console text of this run: end the command with 2>&1 | tee DIR/train.log")


def _failure(run: Run) -> tuple[str, int] | None:
    """Return the log of the rank that ended the job and the offset of the line that shows it, or None."""
    cause = run.ranks.root_cause if run.ranks is not None else None
    if run.ranks is None or cause is None or cause.resolved or cause.place is None or not cause.place.path:
        return None
    path = os.path.join(run.ranks.directory, cause.place.path)
    return (path, cause.place.offset) if os.path.isfile(path) else None  # noqa: PTH113  False if it may not be read
