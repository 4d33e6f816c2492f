"""Every action, its keys and its help: the footer, the ? screen, the palette and the bindings are made from this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuimon.errors import UsageError


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do."""

    id: str
    keys: str
    """Comma-separated, Textual's names. None is taken by tmux, screen or a terminal's flow control."""
    label: str
    """For the footer: one word."""
    help: str
    footer: bool = False


ACTIONS = (
    Action("quit", "q", "quit", "Leave tuimon; the training is not touched", True),
    Action("help", "question_mark,f1", "keys", "Show every key", True),
    Action("zoom", "enter", "zoom", "Give the selected panel the whole screen", True),
    Action("back", "escape", "back", "Leave a zoomed panel, a filter, a screen"),
    Action("filter", "slash", "filter", "Show the charts of the metrics that match what you type", True),
    Action("metrics", "m", "metrics", "Every metric as a chart, page by page; again: the dashboard", True),
    Action("next_page", "pagedown,space,n", "next page", "The next page of panels", True),
    Action("previous_page", "pageup,b,N", "previous page", "The page before"),
    Action("next_run", "right_square_bracket", "next run", "Show the next run below the path", True),
    Action("previous_run", "left_square_bracket", "previous run", "Show the run before"),
    Action("left", "left,h", "left", "Select the panel to the left"),
    Action("down", "down,j", "down", "Select the panel below"),
    Action("up", "up,k", "up", "Select the panel above"),
    Action("right", "right,l", "right", "Select the panel to the right"),
    Action("notes", "a", "alerts", "Alerts, notices, and every file that is read", True),
    Action("axis", "x", "axis", "Draw against the next axis: step, wall time, duration, epoch, samples, tokens"),
    Action("pause", "p", "pause", "Hold the picture; reading goes on. Again: show what has come"),
    Action("symbols", "s", "symbols", "Draw with braille, blocks or ASCII"),
    Action("theme", "t", "theme", "Colours for a dark, a light or a 16-colour terminal"),
    Action("screenshot", "S", "screenshot", "Save the screen as an SVG file in the current directory"),
)

NAMES = {"question_mark": "?", "slash": "/", "enter": "⏎", "right_square_bracket": "]", "left_square_bracket": "["}
NAMES |= {"pagedown": "PgDn", "pageup": "PgUp", "escape": "Esc", "left": "←", "right": "→", "up": "↑", "down": "↓"}


def key_names(keys: str) -> str:
    """Keys as a person reads them: "PgDn space n"."""
    return " ".join(NAMES.get(key, key.replace("ctrl+", "Ctrl+")) for key in keys.split(","))


def with_user_keys(changes: Mapping[str, str]) -> tuple[Action, ...]:
    """The actions with the user's keys in place of the default ones. Raises UsageError for an unknown action."""
    known = {action.id for action in ACTIONS}
    for name in changes:
        if name not in known:
            raise UsageError(f"[keys] has no action {name!r}", f"the actions are: {', '.join(sorted(known))}")
    return tuple(Action(a.id, changes.get(a.id, a.keys).replace(" ", ""), a.label, a.help, a.footer) for a in ACTIONS)
