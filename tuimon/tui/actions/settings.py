"""Actions that say where a setting is made that has no key: by an option or in config.toml."""

from __future__ import annotations

from functools import partial

from tuimon.config import config_path
from tuimon.text import home_relative
from tuimon.tui.action import Action, Dashboard

_action = partial(Action, keys="", where=("dashboard",))


def _notifications(app: Dashboard) -> None:
    app.say(f"[notify], with bell, terminal, command or webhook, in {home_relative(config_path())}")


def _say_where(where: str, app: Dashboard) -> None:
    app.say(f"{where.replace('config.toml', home_relative(config_path()))}, at the next start")


_SETTINGS = (
    (
        *("interval", "poll interval: in config.toml", "interval in config.toml"),
        "Seconds between two checks of the files where no file system event arrives",
        "refresh update rate seconds",
    ),
    (
        *("poll", "polling: in config.toml", "poll = true in config.toml"),
        "Check the files at the poll interval instead of waiting for file system events",
        "inotify events network nfs",
    ),
    (
        *("frame_rate", "frame rate: in config.toml", "frame_rate in config.toml"),
        "Highest number of redraws per second",
        "fps refresh redraw slow",
    ),
    (
        *("mouse", "mouse: in config.toml", "mouse = false in config.toml"),
        "Leave the mouse to the terminal, for selecting text",
        "click capture",
    ),
    (
        *("samples", "directory of texts: --samples DIR", "--samples DIR, or samples in config.toml"),
        "Search a directory outside of the run for generated texts",
        "samples rollout generations path",
    ),
    (
        *("console_patterns", "console patterns: in config.toml", "console_patterns in config.toml"),
        "How the lines of your own trainer are read",
        "parse console own format template",
    ),
    (
        *("detectors", "detectors: in config.toml", "[detectors] in config.toml"),
        "Turn a detector off, or set its thresholds",
        "disable alert sensitivity limit",
    ),
    (
        *("keys", "key bindings: in config.toml", "[keys] in config.toml"),
        "Give an action other keys",
        "shortcut remap keyboard",
    ),
)
"""Setting, title, where it is made, what it means, and other words for it."""

ACTIONS = (
    _action(
        "notifications",
        label="notifications",
        help="A bell, a program or a webhook for alerts: where they are configured",
        do=_notifications,
        also="notify message sound slack mail desktop",
    ),
    *(
        _action(
            f"where_{name}", section="Settings", label=label, help=meaning, do=partial(_say_where, where), also=also
        )
        for name, label, where, meaning, also in _SETTINGS
    ),
)
