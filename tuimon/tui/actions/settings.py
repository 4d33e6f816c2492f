"""An action that says where notifications are configured."""

from __future__ import annotations

from functools import partial

from tuimon.config import config_path
from tuimon.text import home_relative
from tuimon.tui.action import Action, Dashboard

_action = partial(Action, keys="", where=("dashboard",))


def _notifications(app: Dashboard) -> None:
    app.say(f"[notify], with bell, terminal, command or webhook, in {home_relative(config_path())}")


ACTIONS = (
    _action(
        "notifications",
        label="notifications",
        help="A bell, a program or a webhook for alerts: where they are configured",
        do=_notifications,
        also="notify message sound slack mail desktop",
    ),
)
