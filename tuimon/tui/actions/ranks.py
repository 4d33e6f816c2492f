"""Actions of the view of ranks, and the key that opens it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from tuimon.text import clean
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import END, begin_filter, closed, move, topmost
from tuimon.tui.actions.copying import copy

_action = partial(Action, section="Ranks", where=("ranks",))


def _toggle(app: Dashboard) -> None:
    if closed(app, screens.RanksScreen):
        return
    run = app.run_shown
    if run is None:
        app.say("There is no run yet")
    else:
        app.push_screen(screens.RanksScreen(app.actions))


def _sideways(columns: int) -> Callable[[Dashboard], None]:
    return lambda app: topmost(app, screens.RanksScreen).pane.move(0, columns)


def _quantity(by: int) -> Callable[[Dashboard], None]:
    return lambda app: topmost(app, screens.RanksScreen).next_quantity(by)


def _layout(app: Dashboard) -> None:
    topmost(app, screens.RanksScreen).next_layout()


def _strange(backwards: bool) -> Callable[[Dashboard], None]:
    def do(app: Dashboard) -> None:
        if not topmost(app, screens.RanksScreen).pane.move_to_strange(backwards):
            app.say("Nothing is unusual about any rank")

    return do


def _open_log(app: Dashboard) -> None:
    pane = topmost(app, screens.RanksScreen).pane
    row, job = pane.row, pane.job
    if row is None or job is None or not row.path:
        app.say("This rank has no log")
        return
    path = os.path.join(job.directory, row.path)
    patterns = app.settings.console_patterns
    app.push_screen(screens.LogScreen(app.actions, [path], patterns, None, row.offset))


def _copy(app: Dashboard) -> None:
    job = topmost(app, screens.RanksScreen).pane.job
    if job is not None:
        copy(app, clean(job.verdict, 1 << 16), "the verdict")


ACTIONS = (
    Action(
        "ranks",
        "R",
        "ranks",
        "The ranks of the job: which one failed, hangs or is slow; again: back",
        _toggle,
        section="Panels",
        where=("dashboard", "ranks"),
        opens="ranks",
        also="workers nodes crash hang straggler",
    ),
    _action("ranks_log", "enter", "log", "The log of the rank, at the line that is the evidence", _open_log, 3),
    _action("ranks_quantity", "tab", "quantity", "The next quantity in the cells: own time, memory …", _quantity(1), 4),
    _action("ranks_quantity_back", "shift+tab", "quantity before", "The previous quantity", _quantity(-1)),
    _action("ranks_layout", "v", "layout", "Ranks as a table, as nodes with a cell for each GPU, as a map", _layout, 5),
    _action("ranks_next", "n", "next unusual", "The next rank about which something is unusual", _strange(False), 6),
    _action("ranks_previous", "N", "previous", "The previous rank about which something is unusual", _strange(True)),
    _action("ranks_find", "slash", "find", "Select a rank by its number or its node", begin_filter, 7),
    _action("ranks_copy", "y", "copy", "Copy the verdict", _copy),
    _action("ranks_up", "up,k", "up", "Select the rank above", move(-1)),
    _action("ranks_down", "down,j", "down", "Select the rank below", move(1)),
    _action("ranks_left", "left,h", "left", "Select the rank to the left", _sideways(-1)),
    _action("ranks_right", "right,l", "right", "Select the rank to the right", _sideways(1)),
    _action("ranks_page_up", "pageup,b", "page up", "One page up", move(pages=-1)),
    _action("ranks_page_down", "pagedown,space", "page down", "One page down", move(pages=1)),
    _action("ranks_first", "home,g", "first", "Select the first rank", move(-END)),
    _action("ranks_last", "end,G", "last", "Select the last rank", move(END)),
)
