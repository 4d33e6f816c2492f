"""Actions of the config view, and the key that opens it."""

from __future__ import annotations

from functools import partial

from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import END, begin_filter, closed, move, topmost
from tuimon.tui.actions.copying import copy

_action = partial(Action, section="Config", where=("config",))


def _toggle(app: Dashboard) -> None:
    if closed(app, screens.ConfigScreen):
        return
    run = app.run_selected
    if run is None:
        app.say("There is no run yet")
    else:
        app.push_screen(screens.ConfigScreen(app.actions, run))


def _fold(app: Dashboard) -> None:
    topmost(app, screens.ConfigScreen).fold()


def _copy(app: Dashboard) -> None:
    setting = topmost(app, screens.ConfigScreen).setting
    if setting is None or setting.branch:
        app.say("Only a value can be copied")
    else:
        copy(app, setting.value, f"{'.'.join(setting.path[1:])}: {setting.value}")


ACTIONS = (
    Action(
        "config",
        "C",
        "config",
        "Settings, host, program, arguments and git commit of the run; best checkpoint, result; again: back",
        _toggle,
        section="Panels",
        where=("dashboard", "runs", "config"),
        opens="config",
        footer=16,
        also="settings hyperparameters learning rate git commit host program arguments started start began age when",
    ),
    _action("config_filter", "slash", "filter", "List the settings that contain what you type", begin_filter, 3),
    _action("config_fold", "enter,space", "fold", "Fold or unfold the branch", _fold, 4),
    _action("config_copy", "y", "copy", "Copy the value", _copy, 5),
    _action("config_up", "up,k", "up", "Select the row above", move(-1)),
    _action("config_down", "down,j", "down", "Select the row below", move(1)),
    _action("config_page_up", "pageup,b", "page up", "One page up", move(pages=-1)),
    _action("config_page_down", "pagedown,n", "page down", "One page down", move(pages=1)),
    _action("config_first", "home,g", "first", "Select the first row", move(-END)),
    _action("config_last", "end,G", "last", "Select the last row", move(END)),
)
