"""What keys and mouse do to the chart in hand: its window, its limits, its cursor.

Each of these changes the look of the app and draws again; what cannot be done is said.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tuimon.draw.chart import place_of, plot_cells
from tuimon.draw.window import Window, moved_up, panned, stretched, zoomed
from tuimon.model.views import ChartView
from tuimon.store import Curve, Run
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

PAN = 0.25
"""A key moves the window by this part of its width, or the limits by half as much of their height."""
ZOOM = 2.0
WHEEL = 1.25
FAR = 10
"""Cells by which the cursor goes with the keys for far."""


def chart(app: TuimonApp) -> ChartView | None:
    """The selected chart as it is shown now; None, and the reason said, where no chart is selected."""
    run, panel = app.run_shown, app.board.panel
    if run is None or panel is None:
        return None
    view = panel.view(run, app.board.panel_size, time.time(), app.state.symbols, app.look)
    if not isinstance(view, ChartView):
        app.say(f"{clean(panel.title)} has no axis to move along; charts have")
        return None
    if view.extent is None:
        app.say(f"{clean(panel.title)} has no axis to move along" if view.lines else "This chart has no point yet")
        return None
    return view


def _show(app: TuimonApp, **changes: Any) -> None:
    app.state.look = replace(app.state.look, **changes)
    app.redraw()


# ---------------------------------------------------------------- the window


def pan(app: TuimonApp, part: float) -> None:
    """Along x, by a part of the width; > 0 towards the end."""
    view = chart(app)
    if view is None:
        return
    window = panned(view, part)
    if window is None:
        app.say("All of it is shown; + zooms in")
        return
    if window == app.state.look.window:
        app.say("The data begin here" if part < 0 else "The data end here; the chart follows them")
    _show(app, window=window)


def zoom_x(app: TuimonApp, factor: float, at: float | None = None) -> None:
    """Around x = at, else around the cursor, else around the middle or the end that is followed."""
    view = chart(app)
    if view is None:
        return
    if at is None and view.cursor is not None and view.x.low <= view.cursor <= view.x.high:
        at = view.cursor
    window = zoomed(view, factor, at)
    if window is None and app.state.look.window is None:
        app.say("All of it is shown")
    elif window is not None and factor < 1 and window.span >= view.x.high - view.x.low:
        app.say("No closer: there is nothing between these points")
    else:
        _show(app, window=window)


def to_end(app: TuimonApp) -> None:
    """As wide as it is, and following."""
    window = app.state.look.window
    if window is None:
        app.say("All of it is shown, and what comes will be")
    else:
        _show(app, window=Window(window.span))


def to_begin(app: TuimonApp) -> None:
    """As wide as it is, at the first point."""
    window, view = app.state.look.window, chart(app)
    if view is None or view.extent is None:
        return
    if window is None:
        app.say("All of it is shown; + zooms in")
    else:
        _show(app, window=Window(window.span, view.extent[0] + window.span))


def reset(app: TuimonApp) -> None:
    """All of it again, with limits that fit."""
    look = app.state.look
    if look.window is None and not look.y_fixed and look.cursor is None:
        app.say("All of it is shown already")
    _show(app, window=None, y_fixed=(), cursor=None)


# ---------------------------------------------------------------- the limits


def move_up(app: TuimonApp, part: float) -> None:
    """Along y, by a part of the height; the limits stay there from then on."""
    _limit(app, lambda view: moved_up(view.y, part))


def stretch(app: TuimonApp, factor: float) -> None:
    """More (> 1) or less of y around its middle."""
    _limit(app, lambda view: stretched(view.y, factor))


def hold_limits(app: TuimonApp) -> None:
    """The limits of the selected chart stay as they are."""
    _limit(app, lambda view: (view.y.low, view.y.high))


def _limit(app: TuimonApp, limits: Callable[[ChartView], tuple[float, float] | None]) -> None:
    view, panel = chart(app), app.board.panel
    if view is None or panel is None:
        return
    found = limits(view)
    if found is None:
        app.say("Further than numbers reach")
        return
    app.state.look = app.state.look.with_limits(panel.id, found)
    app.redraw()


# ---------------------------------------------------------------- the cursor


def _leading(run: Run, view: ChartView) -> Curve:
    """That of the first line that the run has, too: of lines of several runs it may be another's alone."""
    own = (line.metric for line in view.lines if not line.behind and line.metric in run.metrics)
    return run.curve(next(own, run.busiest_metric or ""))


def _step(curve: Curve, row: int) -> int:
    return row if curve.ordinal else int(curve.steps[row])


def put_cursor(app: TuimonApp, cell: int) -> None:
    """At the last point at or before a cell of the zoomed chart."""
    view = chart(app)
    if view is not None:
        _put(app, view, place_of(view, cell, app.board.panel_size.width))


def toggle_cursor(app: TuimonApp) -> None:
    """At the last point that is shown; again: away."""
    if app.state.look.cursor is not None:
        _show(app, cursor=None)
        return
    view = chart(app)
    if view is not None:
        _put(app, view, view.x.high)


def _put(app: TuimonApp, view: ChartView, x: float) -> None:
    run = app.run_shown
    if run is not None:
        curve = _leading(run, view)
        _show(app, cursor=_step(curve, curve.row_near(x, run.scale(app.look.axis_of(run)))))


def move_cursor(app: TuimonApp, cells: int) -> None:
    """To the next point that stands so many cells further, at least; the window comes along."""
    run = app.run_shown
    if app.state.look.cursor is None:
        toggle_cursor(app)
        return
    view = chart(app)
    if view is None or run is None:
        return
    curve, scale, step = _leading(run, view), run.scale(app.look.axis_of(run)), app.state.look.cursor
    here = view.x.low if view.cursor is None else view.cursor
    width, _ = plot_cells(app.board.panel_size)
    row = curve.row_near(here + cells * (view.x.high - view.x.low) / max(width, 1), scale)
    row = max(row, curve.row_after(step)) if cells > 0 else min(row, curve.row_before(step))
    row = min(max(row, 0), len(curve) - 1)
    if _step(curve, row) == step:
        app.say("The last point" if cells > 0 else "The first point")
    x, window = curve.x_at(_step(curve, row), scale), app.state.look.window
    if window is not None and not view.x.low <= x <= view.x.high:
        window = panned(view, PAN * 2 if cells > 0 else -PAN * 2)
    _show(app, cursor=_step(curve, row), window=window)


# ---------------------------------------------------------------- the mouse


def drag(app: TuimonApp, cells: int, rows: int) -> None:
    """The chart goes with the mouse."""
    view = chart(app)
    if view is None:
        return
    width, height = plot_cells(app.board.panel_size, bool(view.note), len(view.table))
    window = panned(view, -cells / max(width, 1)) if cells else app.state.look.window
    panel = app.board.panel
    if rows and panel is not None and app.state.look.fixed_limits(panel.id) is not None:
        limits = moved_up(view.y, rows / max(height, 1))
        if limits is not None:
            app.state.look = app.state.look.with_limits(panel.id, limits)
    _show(app, window=window)


def wheel(app: TuimonApp, cell: int, up: bool, aside: bool) -> None:
    """Zooms in x around the mouse; aside: pans."""
    if aside:
        pan(app, -PAN / 2 if up else PAN / 2)
        return
    view = chart(app)
    if view is not None:
        zoom_x(app, 1 / WHEEL if up else WHEEL, place_of(view, cell, app.board.panel_size.width))
