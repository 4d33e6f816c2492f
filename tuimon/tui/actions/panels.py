"""Actions that select, zoom, fold, pin and page panels, and that choose which panels there are."""

from __future__ import annotations

from dataclasses import replace

from tuimon.analysis.metric_filter import matching
from tuimon.panels import OwnDashboard
from tuimon.text import clean
from tuimon.tui.action import TuimonApp
from tuimon.tui.actions import explore
from tuimon.tui.arrangement import ORDERS, Heading, ordered

_NO_SECTIONS = "Sections exist only in the all-metrics view (press m)"


def zoom(app: TuimonApp) -> None:
    if isinstance(app.board.panel, Heading):
        fold(app)
    else:
        app.board.zoom(not app.board.zoomed)


def fold(app: TuimonApp) -> None:
    """Fold or unfold the section of the selected chart, or the section of the selected heading."""
    board, state = app.board, app.state
    if not state.all_metrics or state.query or board.panel is None:
        app.say(_NO_SECTIONS)
        return
    for index in range(board.selected, -1, -1):
        heading = board.panels[index]
        if isinstance(heading, Heading):
            break
    else:
        app.say("All metrics are in one section")
        return
    board.zoom(False)
    board.selected = index
    others = tuple(title for title in state.turned if title != heading.title)
    state.turned = others if len(others) < len(state.turned) else (*others, heading.title)


def fold_all(app: TuimonApp) -> None:
    headings = [panel for panel in app.board.panels if isinstance(panel, Heading)]
    if not headings:
        app.say(_NO_SECTIONS)
        return
    app.state.folded = not all(heading.folded for heading in headings)
    app.state.turned = ()
    app.board.zoom(False)


def next_order(app: TuimonApp) -> None:
    app.state.order = ORDERS[(ORDERS.index(app.state.order) + 1) % len(ORDERS)] if app.state.order in ORDERS else "name"
    app.say(f"Metrics by {app.state.order}")


def pin(app: TuimonApp) -> None:
    panel, options = app.board.panel, app.state.options
    if panel is None or panel.kind != "chart":
        app.say("Only charts can be pinned")
        return
    if panel.id in options.pins:
        app.state.options = replace(options, pins=tuple(id for id in options.pins if id != panel.id))
        app.say(f"{clean(panel.title)} is no longer pinned")
    else:
        app.state.options = replace(options, pins=(*options.pins, panel.id))
        app.say(f"{clean(panel.title)} is pinned: first on the dashboard")


def keep(app: TuimonApp) -> None:
    """Keep the present panels in their order for this path; the saved view holds them."""
    panels = [panel for panel in app.board.panels if not isinstance(panel, Heading)]
    state = app.state
    if state.together:
        app.say("Not kept: leave the chart of several metrics first (Esc)")
    elif not panels:
        app.say(f"Not kept: {'no metric matches the filter' if state.query else 'no panel is on the screen'}")
    else:
        others = not (state.query or state.chosen or state.all_metrics)
        state.kept = OwnDashboard().with_panels(panels, others)
        until = "for this path" if app.views else "until tuimon ends"
        app.say(f'These panels are kept {until}; "reset dashboard" in the palette undoes it')


def reset(app: TuimonApp) -> None:
    """Show the panels that apply without those that are kept."""
    app.state.kept = None
    app.board.zoom(False)
    app.say("The dashboard is as before W")


def begin_filter(app: TuimonApp) -> None:
    app.board.zoom(False)
    app.state.together = ()
    app.begin_filter()


def all_metrics(app: TuimonApp) -> None:
    app.state.all_metrics = not app.state.all_metrics or bool(app.state.chosen)
    app.state.chosen = app.state.together = ()
    app.state.query = ""
    app.board.zoom(False)


def turn(app: TuimonApp, pages: int) -> None:
    """Go on or back by pages, or by panels while a panel is zoomed."""
    if not (app.board.step(pages) or app.board.turn(pages)):
        what = "panel" if app.board.zoomed else "page"
        app.say(f"This is the {'last' if pages > 0 else 'first'} {what}")


def move(app: TuimonApp, direction: str) -> None:
    """Select the neighbouring panel, or move the window of a zoomed chart."""
    if not app.board.zoomed:
        app.board.move(direction)
    elif direction in ("left", "right"):
        explore.pan(app, explore.PAN if direction == "right" else -explore.PAN)
    else:
        explore.move_up(app, explore.PAN / 2 if direction == "up" else -explore.PAN / 2)


def together(app: TuimonApp) -> None:
    """Draw the metrics of the filter, or those opened from the metric list, in one chart; again: each in its own."""
    run, state = app.run_shown, app.state
    if state.together:
        state.together = ()
        app.board.zoom(False)
        return
    metrics = state.chosen
    if state.query and run is not None:
        metrics = tuple(matching(ordered(run, state.order), state.query))
    if len(metrics) < 2:
        app.say("Choose metrics first: / with kl|entropy, or mark them in M with space and press Enter")
    else:
        app.show_together(metrics)
