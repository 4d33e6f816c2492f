"""Actions of the log view, and the key that opens it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tuimon.store import Run
from tuimon.text import clean
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import begin_filter, closed, move, topmost
from tuimon.tui.actions.copying import copy
from tuimon.tui.screens.log_page import text_files

_action = partial(Action, section="Log", where=("log",))


def _toggle(app: Dashboard) -> None:
    if app.log_in():  # the header says that this key logs in
        return
    if closed(app, screens.LogScreen):
        return
    step = app.state.options.cursor
    if isinstance(app.screen, screens.NotesScreen) and (alert := app.screen.table.target) is not None:
        app.show_alert(alert)
        # The last lines show why a run has ended.
        step = None if alert.rule == "liveness" else alert.step
    run = app.run_shown
    if run is None:
        app.say("There is no run yet")
        return
    texts = [
        stream for stream in run.streams if stream.info.format == "console" and not stream.info.path.endswith(".gz")
    ]
    known = [stream.info.path for stream in sorted(texts, key=lambda stream: -stream.point_count)]
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


def _on(method: Callable[[screens.LogScreen], None]) -> Callable[[Dashboard], None]:
    return lambda app: method(topmost(app, screens.LogScreen))


def _charts(app: Dashboard) -> None:
    step = topmost(app, screens.LogScreen).page.step
    if step is None:
        app.say("The step of this line is not known")
        return
    app.state.options = replace(app.state.options, cursor=step)
    app.pop_screen()
    app.redraw()


def _copy(app: Dashboard) -> None:
    line = topmost(app, screens.LogScreen).page.line
    if line is not None:
        copy(app, clean(line.text, 1 << 16), "the line")


ACTIONS = (
    Action(
        "log",
        "L",
        "log",
        "The console text of the run, at the step of the cursor or of the selected alert if there is one; again: back",
        _toggle,
        footer=10,
        section="Panels",
        where=("dashboard", "log", "alerts"),
        opens="log",
        also="console output stdout text",
    ),
    _action("log_search", "slash", "search", "Search; case matters if you type capitals", begin_filter, 3),
    _action("log_next", "n", "next", "The next match", _on(lambda s: s.find(False)), 4),
    _action("log_previous", "N", "previous", "The previous match", _on(lambda s: s.find(True))),
    _action("log_error", "e", "error", "The next error", _on(lambda s: s.find_error(False)), 5),
    _action("log_error_back", "E", "error before", "The previous error", _on(lambda s: s.find_error(True))),
    _action(
        "log_warning",
        "w",
        "warning",
        "The next warning; those that differ in numbers only count once",
        _on(lambda s: s.find_warning(False)),
        6,
    ),
    _action("log_warning_back", "W", "warning before", "The previous warning", _on(lambda s: s.find_warning(True))),
    _action("log_charts", "enter", "charts", "The charts, with the cursor at the step of the line", _charts, 7),
    _action("log_file", "f", "next text", "The next text file of the run", _on(lambda s: s.next_file()), 8),
    _action("log_copy", "y", "copy", "Copy the line", _copy),
    _action("log_up", "up,k", "up", "The line above", move(-1)),
    _action("log_down", "down,j", "down", "The line below; after the last line: follow", move(1)),
    _action("log_page_up", "pageup,b", "page up", "One page up", move(pages=-1)),
    _action("log_page_down", "pagedown,space", "page down", "One page down", move(pages=1)),
    _action("log_first", "home,g", "first", "The first line", _on(lambda s: s.go_to(end=False))),
    _action("log_last", "end,G", "follow", "The last line; follow new ones", _on(lambda s: s.go_to(end=True)), 9),
    _action("log_left", "left,h", "left", "Shift long lines to the left", _on(lambda s: s.shift(-1))),
    _action("log_right", "right,l", "right", "Shift long lines to the right", _on(lambda s: s.shift(1))),
)
