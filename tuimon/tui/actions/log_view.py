"""What can be done in a run's console text, and the key that opens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from tuimon.text import clean
from tuimon.tui.actions import Action
from tuimon.tui.actions.copying import copy
from tuimon.tui.log_page import text_files
from tuimon.tui.log_view import LogScreen

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Log", where=("log",))


def _screen(app: TuimonApp) -> LogScreen:
    return cast(LogScreen, app.screen)


def _open(app: TuimonApp) -> None:
    if isinstance(app.screen, LogScreen):
        app.pop_screen()
        app.redraw()
        return
    run = app.run_shown
    if run is None:
        app.say("There is no run yet")
        return
    texts = [stream for stream in run.streams if stream.found.format == "console"]
    known = [stream.found.path for stream in sorted(texts, key=lambda stream: -stream.point_count)]
    files = text_files(run.path, known)
    if files:
        app.push_screen(LogScreen(app.actions, files, app.settings.console_patterns, app.state.look.cursor))
    else:
        app.say("This run has left no console text")


def _on(method: Callable[[LogScreen], None]) -> Callable[[TuimonApp], None]:
    return lambda app: method(_screen(app))


def _charts(app: TuimonApp) -> None:
    """Back to the charts, with the cursor at the line's step."""
    step = _screen(app).page.step
    if step is None:
        app.say("Nothing tells which step this line belongs to")
        return
    app.state.look = replace(app.state.look, cursor=step)
    app.pop_screen()
    app.redraw()


def _copy(app: TuimonApp) -> None:
    line = _screen(app).page.line
    if line is not None:
        copy(app, clean(line.text, 1 << 16), "the line")


ACTIONS = (
    Action(
        "log",
        "L",
        "log",
        "The console text of the run, at the cursor's step if there is one; again: back",
        _open,
        footer=9,
        section="Panels",
        where=("dashboard", "log"),
    ),
    _action("log_search", "slash", "search", "Search; capitals count if there are any", _on(LogScreen.begin_search), 3),
    _action("log_next", "n", "next", "The next line that holds it", _on(lambda s: s.find(False)), 4),
    _action("log_previous", "N", "previous", "The one before", _on(lambda s: s.find(True))),
    _action("log_error", "e", "error", "The next line that tells of an error", _on(lambda s: s.find_error(False)), 5),
    _action("log_error_back", "E", "error before", "The one before", _on(lambda s: s.find_error(True))),
    _action("log_charts", "enter", "charts", "The charts, with the cursor at the line's step", _charts, 6),
    _action("log_file", "f", "next text", "The next text file of the run", _on(LogScreen.next_file), 7),
    _action("log_copy", "y", "copy", "Copy the line", _copy),
    _action("log_up", "up,k", "up", "The line above", _on(lambda s: s.move(-1))),
    _action("log_down", "down,j", "down", "The line below; behind the last: follow", _on(lambda s: s.move(1))),
    _action("log_page_up", "pageup,b", "page up", "A page up", _on(lambda s: s.move(pages=-1))),
    _action("log_page_down", "pagedown,space", "page down", "A page down", _on(lambda s: s.move(pages=1))),
    _action("log_first", "home,g", "first", "The first line", _on(lambda s: s.go_to(end=False))),
    _action("log_last", "end,G", "follow", "The last line, and new ones", _on(lambda s: s.go_to(end=True)), 8),
    _action("log_left", "left,h", "left", "Long lines: back to the left", _on(lambda s: s.shift(-1))),
    _action("log_right", "right,l", "right", "Long lines: on to the right", _on(lambda s: s.shift(1))),
)
