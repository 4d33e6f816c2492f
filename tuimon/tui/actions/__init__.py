"""Every action, its keys and its help: the footer, the ? screen, the palette and the bindings are made from this.

An action is found by being in the ACTIONS of a module of this package; it gets the app and does what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tuimon.errors import UsageError
from tuimon.registry import discover

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

SECTIONS = ("General", "Panels", "Charts", "Runs", "Run list", "Metric list", "Log", "Config")
"""Of the list of keys, in order."""


class Action(Struct, frozen=True):
    """Something a person can do."""

    id: str
    keys: str
    """Comma-separated, Textual's names. None is taken by tmux, screen or a terminal's flow control. "": the palette has
    it, and a person may give it a key."""
    label: str
    """For the footer: one word."""
    help: str
    do: Callable[[TuimonApp], None]
    footer: int = 0
    """Its place in the footer, 1 the first; 0: it is not there."""
    zoomed: tuple[int, str] | None = None
    """Its place and its label in the footer while a panel has the whole screen; None: it is not there."""
    section: str = "General"
    where: tuple[str, ...] = ("dashboard",)
    """The screens on which its keys work: dashboard, runs, metrics, log, config."""


def all_actions() -> tuple[Action, ...]:
    """Every action there is, by section."""
    found: tuple[Action, ...] = discover("tuimon.tui.actions", "ACTION")
    return tuple(sorted(found, key=lambda action: SECTIONS.index(action.section)))


NAMES = {"question_mark": "?", "slash": "/", "enter": "⏎", "right_square_bracket": "]", "left_square_bracket": "["}
NAMES |= {"left_curly_bracket": "{", "right_curly_bracket": "}", "comma": ",", "full_stop": ".", "plus": "+"}
NAMES |= {"less_than_sign": "<", "greater_than_sign": ">", "minus": "-", "equals_sign": "=", "asterisk": "*"}
NAMES |= {"home": "Home", "end": "End"}
NAMES |= {"pagedown": "PgDn", "pageup": "PgUp", "escape": "Esc", "left": "←", "right": "→", "up": "↑", "down": "↓"}


def key_names(keys: str) -> str:
    """Keys as a person reads them: "PgDn space n"; the palette's for an action that has none."""
    return " ".join(NAMES.get(key, key.replace("ctrl+", "Ctrl+")) for key in (keys or "ctrl+p").split(","))


def with_user_keys(changes: Mapping[str, str]) -> tuple[Action, ...]:
    """The actions with the user's keys in place of the default ones. Raises UsageError for an unknown action."""
    actions = all_actions()
    known = {action.id for action in actions}
    for name in changes:
        if name not in known:
            raise UsageError(f"[keys] has no action {name!r}", f"the actions are: {', '.join(sorted(known))}")
    return tuple(replace(action, keys=changes.get(action.id, action.keys).replace(" ", "")) for action in actions)
