"""What can be done in the list of settings, and the key that opens it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from tuimon.tui.actions import Action
from tuimon.tui.actions.copying import copy
from tuimon.tui.config_view import ConfigScreen

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Config", where=("config",))
_END = 1 << 30


def _screen(app: TuimonApp) -> ConfigScreen:
    return cast(ConfigScreen, app.screen)


def _open(app: TuimonApp) -> None:
    if isinstance(app.screen, ConfigScreen):
        app.pop_screen()
        app.redraw()
    elif app.run_shown is None:
        app.say("There is no run yet")
    else:
        app.push_screen(ConfigScreen(app.actions))


def _on(method: Callable[[ConfigScreen], None]) -> Callable[[TuimonApp], None]:
    return lambda app: method(_screen(app))


def _copy(app: TuimonApp) -> None:
    setting = _screen(app).setting
    if setting is None or setting.branch:
        app.say("Only a value can be copied")
    else:
        copy(app, setting.value, f"{'.'.join(setting.path[1:])}: {setting.value}")


ACTIONS = (
    Action(
        "config",
        "C",
        "config",
        "The settings of the run, its best checkpoint and its result; again: back",
        _open,
        section="Panels",
        where=("dashboard", "config"),
    ),
    _action("config_filter", "slash", "filter", "Settings that hold what you type", _on(ConfigScreen.begin_filter), 3),
    _action("config_fold", "enter,space", "fold", "Fold or unfold the branch", _on(ConfigScreen.fold), 4),
    _action("config_copy", "y", "copy", "Copy the value", _copy, 5),
    _action("config_up", "up,k", "up", "Select the row above", _on(lambda s: s.move(-1))),
    _action("config_down", "down,j", "down", "Select the row below", _on(lambda s: s.move(1))),
    _action("config_page_up", "pageup,b", "page up", "A page up", _on(lambda s: s.move(pages=-1))),
    _action("config_page_down", "pagedown,n", "page down", "A page down", _on(lambda s: s.move(pages=1))),
    _action("config_first", "home,g", "first", "Select the first row", _on(lambda s: s.move(-_END))),
    _action("config_last", "end,G", "last", "Select the last row", _on(lambda s: s.move(_END))),
)
