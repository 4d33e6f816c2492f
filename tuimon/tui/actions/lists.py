"""Actions of all tables and texts: movement, search, order, marks, copies. Each screen says what they do there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions.copying import copy
from tuimon.tui.screens.work_screen import WorkScreen

_TABLES = ("runs", "metrics", "config", "multiples", "media")
_TEXTS = ("log", "texts", "ranks", "scatter", "help", "alerts", "comparison")
_action = partial(Action, section="Lists and texts", where=(*_TABLES, *_TEXTS))


def _on(method: Callable[..., object], *values: Any) -> Callable[[Dashboard], None]:
    """Return an action that calls a method of the topmost screen."""

    def do(app: Dashboard) -> None:
        assert isinstance(app.screen, WorkScreen)
        getattr(app.screen, method.__name__)(*values)

    return do


def _copy(app: Dashboard) -> None:
    assert isinstance(app.screen, WorkScreen)
    if (copied := app.screen.copied()) is None:
        app.say("Nothing is selected that could be copied")
    else:
        copy(app, *copied)


ACTIONS = (
    _action(
        "list_open",
        "enter",
        "open",
        "Open what is selected: its charts, its log, its texts",
        _on(WorkScreen.open),
        3,
        where=tuple(screen for screen in (*_TABLES, *_TEXTS) if screen not in ("media", "comparison")),
    ),
    _action("list_find", "slash", "find", "Find what you type, or list only that", _on(WorkScreen.begin_filter), 4),
    _action(
        "list_mark",
        "space",
        "mark",
        "Mark the run or the metric, to compare or overlay it; again: undo",
        _on(WorkScreen.mark),
        5,
        where=("runs", "metrics"),
        also="select overlay together two axes same one chart combine",
    ),
    _action(
        "list_sort",
        "greater_than_sign",
        "sort",
        "Sort by the next column; grid: the next metric",
        _on(WorkScreen.next_sort, 1),
        6,
        where=("runs", "metrics", "texts", "multiples"),
        also="order best run worst longest",
    ),
    _action(
        "list_sort_back",
        "less_than_sign",
        "sort back",
        "Sort by the previous column; grid: the previous metric",
        _on(WorkScreen.next_sort, -1),
        where=("runs", "metrics", "texts", "multiples"),
    ),
    _action(
        "list_reverse",
        "R",
        "reverse",
        "Reverse the order",
        _on(WorkScreen.reverse_order),
        7,
        where=("runs", "metrics"),
    ),
    _action(
        "list_copy",
        "y",
        "copy",
        "Copy what is selected: path of the run, line, value, alert, text",
        _copy,
        9,
        where=("runs", "metrics", "config", "log", "texts", "ranks", "alerts", "comparison"),
        also="clipboard yank directory folder file",
    ),
    _action("list_up", "up,k", "up", "The row above", _on(WorkScreen.move, -1)),
    _action("list_down", "down,j", "down", "The row below", _on(WorkScreen.move, 1)),
    _action("list_page_up", "pageup,b", "page up", "One page up", _on(WorkScreen.move, 0, -1)),
    _action("list_page_down", "pagedown,n", "page down", "One page down", _on(WorkScreen.move, 0, 1), where=_TABLES),
    _action("list_scroll", "pagedown,space", "page down", "One page down", _on(WorkScreen.move, 0, 1), where=_TEXTS),
    _action("list_first", "home,g", "first", "The first row", _on(WorkScreen.go_to_end, False)),
    _action("list_last", "end,G", "last", "The last row; log: follow new lines", _on(WorkScreen.go_to_end, True)),
    _action(
        "list_left",
        "left,h",
        "left",
        "To the left; media: the step before",
        _on(WorkScreen.aside, -1),
        where=("log", "ranks", "multiples", "media", "comparison"),
    ),
    _action(
        "list_right",
        "right,l",
        "right",
        "To the right; media: the next step",
        _on(WorkScreen.aside, 1),
        where=("log", "ranks", "multiples", "media", "comparison"),
    ),
)
