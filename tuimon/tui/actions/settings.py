"""The action that says where settings without a key are made."""

from __future__ import annotations

from tuimon.config import config_path
from tuimon.text import home_relative
from tuimon.tui.action import Action, Dashboard

_NAMES = "interval, poll, frame_rate, mouse, samples, console_patterns, [notify], [detectors], [keys]"


def _say_where(app: Dashboard) -> None:
    app.say(f"{_NAMES}: in {home_relative(config_path())}, at the next start")


ACTIONS = (
    Action(
        "settings_file",
        "",
        "settings file",
        f"Settings without a key, in config.toml: {_NAMES}",
        _say_where,
        section="Settings",
        also="poll interval refresh update rate seconds inotify events network nfs fps redraw slow click capture"
        " rollout generations path parse console own format template disable alert sensitivity limit detectors"
        " shortcut remap keyboard bindings notifications notify message sound slack mail desktop bell",
    ),
)
