"""What can be done in the list of metrics, and the key that opens it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from tuimon.panels import CurvePanel
from tuimon.panels.lists.metric_rows import METRIC_SORTS
from tuimon.tui.actions import Action
from tuimon.tui.metric_browser import MetricBrowser

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Metric list", where=("metrics",))
_END = 1 << 30


def _screen(app: TuimonApp) -> MetricBrowser:
    return cast(MetricBrowser, app.screen)


def _list(app: TuimonApp) -> None:
    if isinstance(app.screen, MetricBrowser):
        app.pop_screen()
        app.redraw()
        return
    run, panel = app.run_shown, app.board.panel
    if run is None:
        app.say("There is no metric yet")
        return
    leading = panel.leading(run) if isinstance(panel, CurvePanel) else None
    app.push_screen(MetricBrowser(app.actions, leading.metric if leading is not None else ""))


def _move(rows: int = 0, pages: int = 0) -> Callable[[TuimonApp], None]:
    def do(app: TuimonApp) -> None:
        table = _screen(app).table
        table.move(rows + pages * table.room)

    return do


def _sort(step: int) -> Callable[[TuimonApp], None]:
    def do(app: TuimonApp) -> None:
        screen = _screen(app)
        screen.sort, screen.reverse = METRIC_SORTS[(METRIC_SORTS.index(screen.sort) + step) % len(METRIC_SORTS)], False
        app.redraw()

    return do


def _reverse(app: TuimonApp) -> None:
    _screen(app).sort_by(_screen(app).sort)


ACTIONS = (
    Action(
        "metric_list",
        "M",
        "metric list",
        "Every metric as a row: values, trend, curve, source; again: back",
        _list,
        section="Panels",
        where=("dashboard", "metrics"),
    ),
    _action("metric_open", "enter", "chart", "The chart of the metric, zoomed", lambda a: _screen(a).open(), 3),
    _action("metric_filter", "slash", "filter", "List the metrics that match", lambda a: _screen(a).begin_filter(), 4),
    _action("metric_sort", "greater_than_sign", "sort", "Sort by the next column", _sort(1), 5),
    _action("metric_sort_back", "less_than_sign", "sort back", "Sort by the column before", _sort(-1)),
    _action("metric_reverse", "R", "turn", "Turn the order round", _reverse, 6),
    _action("metric_up", "up,k", "up", "Select the metric above", _move(-1)),
    _action("metric_down", "down,j", "down", "Select the metric below", _move(1)),
    _action("metric_page_up", "pageup,b", "page up", "A screen up", _move(pages=-1)),
    _action("metric_page_down", "pagedown,space,n", "page down", "A screen down", _move(pages=1)),
    _action("metric_first", "home,g", "first", "Select the first metric", _move(-_END)),
    _action("metric_last", "end,G", "last", "Select the last metric", _move(_END)),
)
