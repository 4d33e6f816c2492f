"""Actions: what a key or the command palette does. keys.txt has one row for each.

On a screen of lists or texts an action calls the method in its row. On the dashboard, and if there is no method, it
calls the function, whose module is imported then. The footer, the help screen, the palette, the key bindings and
docs/keys.md are generated from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from operator import methodcaller

from msgspec.structs import replace

from tuimon.analysis.metric_filter import nearest
from tuimon.errors import UsageError
from tuimon.text_tables import table_rows
from tuimon.tui.action import Action, TuimonApp
from tuimon.tui.screens.work_screen import WorkScreen

_LISTS = ("runs", "metrics", "log", "texts", "media", "ranks", "health", "help")
_SCREENS = {"all": ("dashboard", *_LISTS), "lists": _LISTS}


@cache
def all_actions() -> tuple[Action, ...]:
    """Return every action, in the order of keys.txt."""
    return tuple(_rows())


def _rows() -> Iterator[Action]:
    section = ""
    for first, *others in table_rows(__file__, "keys.txt"):
        if not others:
            section = first.strip("[]")
            continue
        keys, label, text, where, function, method, opens, also = others
        do, screens = partial(_do, function, method, opens), _SCREENS.get(where, tuple(where.split()))
        yield Action(first, keys, label, text, do, section, screens, opens, also)


def _do(function: str, method: str, opens: str, app: TuimonApp) -> None:
    screen = app.screen
    if opens and isinstance(screen, WorkScreen) and screen.shows == opens:
        screen.leave()
    elif method and isinstance(screen, WorkScreen):
        name, arguments = _call(method)
        getattr(screen, name)(*arguments)
    else:
        called, arguments = function_of(function)
        called(app, *arguments)


def function_of(call: str) -> tuple[Callable[..., object], list[int | str]]:
    """Return the function in a row and its arguments besides the application: "panels.turn 1", or "go_back"."""
    name, arguments = _call(call)
    module, _, function = name.rpartition(".")
    if not module:
        return methodcaller(function), arguments
    return getattr(import_module(f"{__name__}.{module}"), function), arguments


def _call(text: str) -> tuple[str, list[int | str]]:
    """Return the name and the arguments of a call, such as ("move", [0, -1]) for "move 0 -1"."""
    name, *words = text.split()
    return name, [int(word) if word.lstrip("-").isdecimal() else word for word in words]


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
