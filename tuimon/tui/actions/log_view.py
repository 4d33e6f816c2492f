"""Actions of the log view, and the key that opens it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from tuimon.store import Run
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import closed, topmost
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
    _action("log_file", "f", "next text", "The next text file of the run", _on(lambda s: s.next_file()), 8),
)
