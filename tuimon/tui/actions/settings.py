"""Actions that say where something is configured that has no key."""

from __future__ import annotations

from functools import partial

from tuimon.config import config_path
from tuimon.text import cell_width, fit, home_relative
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.dashboard_file import project_file

_MARGIN = 4
"""Cells of the line of messages that a message cannot use."""
_action = partial(Action, keys="", where=("dashboard",))


def _thresholds(app: Dashboard) -> None:
    file = home_relative(project_file(app.paths) or config_path())
    words = "kl = 0.1 below [dashboard.thresholds] in "
    room = app.screen.size.width - cell_width(words) - _MARGIN
    app.say(words + fit(file, min(cell_width(file), room), keep="end"))


def _notifications(app: Dashboard) -> None:
    app.say(f"[notify], with bell, terminal, command or webhook, in {home_relative(config_path())}")


ACTIONS = (
    _action(
        "thresholds",
        label="thresholds",
        help="Horizontal lines on charts: where they are configured",
        do=_thresholds,
        also="threshold limit target hline line dashed",
    ),
    _action(
        "notifications",
        label="notifications",
        help="A bell, a program or a webhook for alerts: where they are configured",
        do=_notifications,
        also="notify message sound slack mail desktop",
    ),
)
