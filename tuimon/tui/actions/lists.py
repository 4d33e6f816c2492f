"""Actions of the screens of lines: the help and the alerts."""

from __future__ import annotations

from functools import partial

from tuimon.text import clean
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import END, begin_filter, move, topmost
from tuimon.tui.actions.copying import copy

_action = partial(Action, section="Help and alerts", where=("help", "alerts"))


def _open(app: Dashboard) -> None:
    """Show the run of the selected alert at its step, or do what the selected line of the help describes."""
    if isinstance(app.screen, screens.NotesScreen):
        alert = app.screen.table.target
        if alert is None:
            app.say("Select an alert: it opens its run at its step")
        else:
            app.show_alert(alert)
        return
    assert isinstance(app.screen, screens.HelpScreen)
    action = app.screen.table.target
    if action is None:
        app.say("Select a key: Enter does what it does")
        return
    app.pop_screen()
    app.perform(action)


def _copy(app: Dashboard) -> None:
    """Copy the selected alert: its run, its message and its advice."""
    alert = topmost(app, screens.NotesScreen).table.target
    if alert is None:
        app.say("Select an alert: only alerts can be copied")
        return
    run = next((run for run in app.snapshot.runs if run.id == alert.run), None)
    name = f"{run.name} ({run.path}): " if run is not None else ""
    lines = (name + alert.message, alert.hint)
    copy(app, "\n".join(clean(line, 1 << 14) for line in lines if line), "the alert")


ACTIONS = (
    _action("list_open", "enter", "open", "Alerts: the run at the step of the alert. Help: do it", _open, footer=3),
    _action("list_filter", "slash", "filter", "The lines that contain what you type", begin_filter, footer=4),
    _action(
        "list_copy",
        "y",
        "copy",
        "Copy the selected alert with its run and its advice",
        _copy,
        where=("alerts",),
        footer=4,
        also="clipboard yank",
    ),
    _action("list_up", "up,k", "up", "Select the line above", move(-1)),
    _action("list_down", "down,j", "down", "Select the line below", move(1)),
    _action("list_page_up", "pageup,b", "page up", "One page up", move(pages=-1)),
    _action("list_page_down", "pagedown,space", "page down", "One page down", move(pages=1), footer=5),
    _action("list_first", "home,g", "first", "Select the first line", move(-END)),
    _action("list_last", "end,G", "last", "Select the last line", move(END)),
)
