"""Actions that change how charts are displayed: axis, scale, range, smoothing, cursor, window."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tuimon.model.views import ChartView
from tuimon.panels import SMOOTHINGS, Y_RANGES, Y_SCALES, axis_word
from tuimon.store import METRIC_AXIS, Run
from tuimon.store.axes import counter_candidates
from tuimon.text import clean
from tuimon.tui import screens
from tuimon.tui.action import TuimonApp
from tuimon.tui.actions import explore
from tuimon.tui.actions.views import selected_metric, show_scatter

_MESSAGES = {
    "auto": "y scale: chosen for each chart",
    "linear": "y scale: linear",
    "log": "y scale: logarithmic; values <= 0 are drawn at the bottom",
    "full": "y range: everything in the window",
    "robust": "y range: without outliers; arrows mark them",
    "fixed": "y range: the limits of this chart are fixed",
}


def next_axis(app: TuimonApp) -> None:
    run, options = app.run_shown, app.state.options
    axes = run.axes() if run is not None else ("step",)
    current = options.axis_of(run)
    axis = axes[(axes.index(current) + 1) % len(axes)] if current in axes else axes[0]
    app.state.options = replace(options, axis=axis, window=None if len(axes) > 1 else options.window)
    if len(axes) == 1:
        app.say(_no_axis(run))


def _no_axis(run: Run | None) -> str:
    """Return why there is no axis besides the steps."""
    named = None if run is None else next((name for _, name in counter_candidates(run.metrics)), None)
    if named is not None:
        return f"{clean(named)} is no axis: it does not grow with the steps, or is the step itself"
    word = axis_word(run, "step")
    others = "samples or tokens" if word == "epoch" else "epochs, samples or tokens"
    return f"The run logs only {word}s: no times, {others}"


def axis_metric(app: TuimonApp) -> None:
    """Draw against the selected metric of the metric list or of the dashboard; again: against steps."""
    if isinstance(app.screen, screens.MetricBrowser) and app.screen.swap():
        return
    run, options, name = app.run_shown, app.state.options, selected_metric(app)
    if run is None or name is None:
        app.say("Select the chart of a metric first, or a row of the metric list (M)")
        return
    axis = f"{METRIC_AXIS}{name}"
    if axis == options.axis:
        app.state.options = replace(options, axis="step", window=None)
        app.say("Charts are drawn over steps again")
    elif run.has_axis(axis):
        app.state.options = replace(options, axis=axis, window=None)
        app.say(f"Charts are drawn over {clean(name)}; again: over steps")
    else:
        show_scatter(app, name, is_y=False)
        app.say(f"{clean(name)} does not grow, so that no curve can be drawn over it: here are pairs at equal steps")


def next_scale(app: TuimonApp) -> None:
    options = app.state.options
    scale = _next(Y_SCALES, options.y_scale)
    if options.y_scale == "auto" and _scales_shown(app) == {scale}:
        scale = _next(Y_SCALES, scale)  # it would change nothing
    app.state.options = replace(options, y_scale=scale, y_fixed=())
    app.say(_MESSAGES[scale])


def _scales_shown(app: TuimonApp) -> set[str]:
    """Return the y scales of the charts on the page, or of the zoomed one."""
    views = (box.view for box in app.board.boxes[: len(app.board.places)])
    return {view.y.scale for view in views if isinstance(view, ChartView) and view.lines}


def next_range(app: TuimonApp) -> None:
    """Go from full to robust to the present limits of this chart, fixed."""
    options, panel = app.state.options, app.board.panel
    if panel is not None and options.fixed_limits(panel.id) is not None:
        app.state.options = replace(options.with_limits(panel.id, None), y_range="full")
        app.say(_MESSAGES["full"])
    elif options.y_range == Y_RANGES[-1]:
        explore.hold_limits(app)
        if panel is not None and app.state.options.fixed_limits(panel.id) is not None:
            app.state.options = replace(app.state.options, y_range="full")
            app.say(_MESSAGES["fixed"])
    else:
        y_range = _next(Y_RANGES, options.y_range)
        app.state.options = replace(options, y_range=y_range)
        app.say(_MESSAGES[y_range])


def _next(order: tuple[str, ...], current: str) -> str:
    return order[(order.index(current) + 1) % len(order)] if current in order else order[0]


def smooth(app: TuimonApp, by: int) -> None:
    """Smooth more (by = 1) or less (-1)."""
    options = app.state.options
    nearest = min(range(len(SMOOTHINGS)), key=lambda index: abs(SMOOTHINGS[index] - options.weight))
    smoothing = SMOOTHINGS[min(max(nearest + by, 0), len(SMOOTHINGS) - 1)]
    if smoothing == options.weight:
        app.say("Maximum smoothing" if by > 0 else "No smoothing: the values as logged")
    app.state.options = replace(options, smoothing=smoothing)


def resize(app: TuimonApp, larger: int) -> None:
    """Zoom x of a zoomed chart, or else make charts larger (1) or smaller (-1)."""
    if app.board.zoomed:
        explore.zoom_x(app, explore.ZOOM**-larger)
    else:
        app.resize_charts(larger)


def stretch(app: TuimonApp, taller: int) -> None:
    """Show a smaller range of y (1) or a larger one (-1)."""
    if app.board.zoomed:
        explore.stretch(app, explore.ZOOM**-taller)
    else:
        app.say("Zoom a chart first: press enter")


def ask_step(app: TuimonApp) -> None:
    """Ask for a step, or for a range of steps."""
    app.ask("go to", f"steps: {explore.GO_TO_FORMS}", partial(explore.go_to, app))
