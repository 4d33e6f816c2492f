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

    Raises UsageError if `changes` names an unknown action or key.
    """
    actions = all_actions()
    known = {action.id for action in actions}
    for name in changes:
        if name not in known:
            near = nearest(name, known, 3)
            question = f"Did you mean {', '.join(near)}? " if near else ""
            raise UsageError(f"[keys] has no action {name!r}", f"{question}The key ? lists the actions.")
        for key in changes[name].replace(" ", "").split(","):
            if key and not _is_key(key):
                raise UsageError(
                    f"[keys] {name}: there is no key {key!r}", 'Examples are "x", "f5", "ctrl+e", "pagedown", "plus".'
                )
    return tuple(replace(action, keys=changes.get(action.id, action.keys).replace(" ", "")) for action in actions)


def _is_key(key: str) -> bool:
    """Return whether Textual can report a key of this name: a character or its name, or a key, with modifiers."""
    from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

    name = key
    for modifier in ("ctrl+", "alt+", "shift+", "super+", "hyper+", "meta+"):
        name = name.removeprefix(modifier)
    known = {*(known.value for known in Keys), *KEY_NAME_REPLACEMENTS.values()}
    return len(name) == 1 or name in known or key_to_character(name) is not None
