"""Actions: what a key or the command palette does.

The footer, the help screen, the palette, the key bindings and docs/keys.md are generated from these actions. A module
of this package adds actions by defining the tuple ACTIONS; no other file changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from tuimon.analysis.metric_filter import nearest
from tuimon.errors import UsageError
from tuimon.registry import discover
from tuimon.tui.action import SECTIONS, Action


def all_actions() -> tuple[Action, ...]:
    """Return every action, sorted by section."""
    actions: tuple[Action, ...] = discover("tuimon.tui.actions", "ACTION")
    return tuple(sorted(actions, key=lambda action: SECTIONS.index(action.section)))


def with_user_keys(changes: Mapping[str, str]) -> tuple[Action, ...]:
    """Return all actions, with the keys of `changes` in place of the default keys.

    Raises UsageError if `changes` names an unknown action.
    """
    actions = all_actions()
    known = {action.id for action in actions}
    for name in changes:
        if name not in known:
            near = nearest(name, known, 3)
            question = f"Did you mean {', '.join(near)}? " if near else ""
            raise UsageError(f"[keys] has no action {name!r}", f"{question}The key ? lists the actions.")
    return tuple(replace(action, keys=changes.get(action.id, action.keys).replace(" ", "")) for action in actions)
