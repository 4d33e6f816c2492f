"""Gestures on the selected chart: its window, its limits and its cursor.

Each function changes the display options of the view state and redraws; if it cannot act, it displays why.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tuimon import lazy_re as re
from tuimon.analysis.aligned_steps import aligned
from tuimon.draw.chart import plot_cells, x_at_cell
from tuimon.draw.window import Window, moved_up, panned, stretched, zoomed
from tuimon.model.views import ChartView
from tuimon.panels import ChartOptions, axis_word, window_limits
from tuimon.store import METRIC_AXIS, Curve, Run
from tuimon.text import clean
from tuimon.tui.action import TuimonApp

PAN = 0.25
"""Fraction of the width by which a key moves the window; limits move by half this fraction of their height."""
ZOOM = 2.0
WHEEL = 1.25


def chart(app: TuimonApp) -> ChartView | None:
    """Return the selected chart as it is shown now. If no chart is selected, display that and return None."""
    run, panel = app.run_shown, app.board.panel
    if run is None or panel is None:
        return None
    view = panel.view(run, app.board.panel_size, time.time(), app.state.symbols, app.options)
    if isinstance(view, ChartView) and view.extent is not None:
        return view
    if isinstance(view, ChartView) and not view.lines:
        app.say("This chart has no point yet")
    else:
        app.say(f"{clean(panel.title)} has no x axis; select a chart")
    return None


def _show(app: TuimonApp, **changes: Any) -> None:
    app.state.options = replace(app.state.options, **changes)


# ---------------------------------------------------------------- the window


def pan(app: TuimonApp, part: float) -> None:
    """Move the window along x by a fraction of its width; > 0 is towards the end."""
    view = chart(app)
    if view is None:
        return
    window = panned(view, part)
    if window is None:
        app.say("Everything is shown; + zooms in")
        return
    if window == app.state.options.window:
        app.say("The data begin here" if part < 0 else "The data end here; the chart follows them")
    _show(app, window=window)


def zoom_x(app: TuimonApp, factor: float, center: float | None = None) -> None:
    """Scale the window by `factor` around `center`; None: around the cursor, or else around the middle or the end."""
    view = chart(app)
    if view is None:
        return
    if center is None and view.cursor is not None and view.x.low <= view.cursor <= view.x.high:
        center = view.cursor
    window = zoomed(view, factor, center)
    if window is None and app.state.options.window is None:
        app.say("Everything is shown")
    elif window is not None and factor < 1 and window.span >= view.x.high - view.x.low:
        app.say("Maximum zoom: there is nothing between these points")
    else:
        _show(app, window=window)


def to_end(app: TuimonApp) -> None:
    """Move the window to the newest point and follow it; its width stays."""
    window = app.state.options.window
    if window is None:
        app.say("Everything is shown, and new points will be")
    else:
        _show(app, window=Window(window.span))


def to_begin(app: TuimonApp) -> None:
    """Move the window to the first point; its width stays."""
    window, view = app.state.options.window, chart(app)
    if view is None or view.extent is None:
        return
    if window is None:
        app.say("Everything is shown; + zooms in")
    else:
        _show(app, window=Window(window.span, view.extent[0] + window.span))


def reset(app: TuimonApp) -> None:
    """Return to the default view of charts: window, limits, cursor, smoothing, scale, range of y and axis."""
    options = app.state.options
    words = [
        *options.changes(app.run_shown),
        *([f"by {clean(options.axis.removeprefix(METRIC_AXIS))}"] if options.axis != "step" else []),
    ]
    app.state.options = replace(ChartOptions(), pins=options.pins)
    app.say(f"Reset: {', '.join(words)}" if words else "Everything is shown as logged already")


GO_TO_FORMS = "150, 150-200, 120-, -50"
"""What can be typed to go to a step or to show a range of steps."""
_RANGE = re.compile(r"(\d{0,18})\s*(-|\.\.|to|–)?\s*(\d{0,18})")


def go_to(app: TuimonApp, text: str) -> None:
    """Put the cursor on a step, or show a range of steps; see GO_TO_FORMS."""
    run, panel, typed = app.run_shown, app.board.panel, text.strip().lower().replace(",", "")
    if run is None or not typed:
        return
    match = _RANGE.fullmatch(typed)
    if match is None or not (match[1] or match[3]):
        app.say(f"{clean(text)} is no step and no range of steps; examples are {GO_TO_FORMS}")
        return
    if panel is None or panel.kind != "chart":
        app.say("Select a chart first")
        return
    curve, word = run.curve(run.busiest_metric or ""), axis_word(run, "step")
    begin, end = int(curve.steps[0]), run.last_step or 0
    if match[2] is None:
        step = int(typed)
        if step > end or curve.sample_at(step) is None:
            app.say(f"The run has no {word} {step}: it has {word}s {begin} to {end}")
        else:
            _show(app, cursor=step)
        return
    first, last = sorted((int(match[1] or begin), int(match[3] or end)))
    scale = run.scale(app.options.axis_of(run))
    low, high = (curve.x_of_step(step, scale) for step in (first, last))
    if first > end:
        app.say(f"The run has {word}s {begin} to {end}")
    elif high > low:
        _show(app, window=Window(high - low, high))
    else:
        app.say(f"There is nothing between {word} {first} and {word} {last}")


# ---------------------------------------------------------------- the limits


def move_up(app: TuimonApp, part: float) -> None:
    """Move the limits along y by a fraction of their height and fix them."""
    _limit(app, lambda view: moved_up(view.y, part))


def stretch(app: TuimonApp, factor: float) -> None:
    """Scale the limits by `factor` around their middle and fix them."""
    _limit(app, lambda view: stretched(view.y, factor))


def hold_limits(app: TuimonApp) -> None:
    """Fix the present limits of the selected chart."""
    _limit(app, lambda view: (view.y.low, view.y.high))


def _limit(app: TuimonApp, limits_of: Callable[[ChartView], tuple[float, float] | None]) -> None:
    view, panel = chart(app), app.board.panel
    if view is None or panel is None:
        return
    limits = limits_of(view)
    if limits is None:
        app.say("The limits would exceed the range of floating-point numbers")
        return
    app.state.options = app.state.options.with_limits(panel.id, limits)


# ---------------------------------------------------------------- the cursor


def _leading(run: Run, view: ChartView) -> Curve:
    """Return the curve of the first line that belongs to `run`: an overlaid run may have lines that it does not."""
    own = (line.metric for line in view.lines if not line.behind and line.metric in run.metrics)
    return aligned(run, next(own, run.busiest_metric or ""))


def _step(curve: Curve, row: int) -> int:
    return row if curve.ordinal else int(curve.steps[row])


def put_cursor(app: TuimonApp, cell: int) -> None:
    """Put the cursor on the last point at or before a cell of the zoomed chart."""
    view = chart(app)
    if view is not None:
        _put(app, view, x_at_cell(view, cell, app.board.panel_size.width))


def with_cursor(options: ChartOptions, run: Run, step: int) -> ChartOptions:
    """Return options with the cursor on a step of a run, and with the window around it if the step is outside."""
    if run.busiest_metric is None:
        return replace(options, cursor=step)
    curve, scale = run.curve(run.busiest_metric), run.scale(options.axis_of(run))
    window, limits, extent = options.window, window_limits(run, curve, options), curve.limits(scale)
    if window is not None and limits is not None and extent is not None:
        x = curve.x_of_step(step, scale)
        if not limits[0] <= x <= limits[1]:
            window = Window(window.span, max(min(x + window.span / 2, extent[1]), extent[0] + window.span))
    return replace(options, cursor=step, window=window)


def toggle_cursor(app: TuimonApp) -> None:
    """Put the cursor on the last visible point, or remove it."""
    if app.state.options.cursor is not None:
        _show(app, cursor=None)
    elif (view := chart(app)) is not None:
        _put(app, view, view.x.high)


def _put(app: TuimonApp, view: ChartView, x: float) -> None:
    run = app.run_shown
    if run is not None:
        curve = _leading(run, view)
        _show(app, cursor=_step(curve, curve.row_near(x, run.scale(app.options.axis_of(run)))))


def move_cursor(app: TuimonApp, cells: int) -> None:
    """Move the cursor by `cells`, at least to the next point in that direction; the window moves with it."""
    run, step = app.run_shown, app.state.options.cursor
    if step is None:
        toggle_cursor(app)
        return
    view = chart(app)
    if view is None or run is None:
        return
    curve, scale = _leading(run, view), run.scale(app.options.axis_of(run))
    position = view.x.low if view.cursor is None else view.cursor
    width, _ = plot_cells(app.board.panel_size)
    row = curve.row_near(position + cells * (view.x.high - view.x.low) / max(width, 1), scale)
    row = max(row, curve.row_after(step)) if cells > 0 else min(row, curve.row_before(step))
    row = min(max(row, 0), len(curve) - 1)
    if _step(curve, row) == step:
        app.say("The last point" if cells > 0 else "The first point")
    x, window = curve.x_of_step(_step(curve, row), scale), app.state.options.window
    if window is not None and not view.x.low <= x <= view.x.high:
        window = panned(view, PAN * 2 if cells > 0 else -PAN * 2)
    _show(app, cursor=_step(curve, row), window=window)


# ---------------------------------------------------------------- the mouse


def drag(app: TuimonApp, cells: int) -> None:
    """Move the window with the mouse."""
    view = chart(app)
    if view is not None:
        width, _ = plot_cells(app.board.panel_size)
        _show(app, window=panned(view, -cells / max(width, 1)))


def wheel(app: TuimonApp, cell: int, up: bool, sideways: bool) -> None:
    """Zoom in or out around the mouse, or pan."""
    if sideways:
        pan(app, -PAN / 2 if up else PAN / 2)
        return
    view = chart(app)
    if view is not None:
        zoom_x(app, 1 / WHEEL if up else WHEEL, x_at_cell(view, cell, app.board.panel_size.width))
