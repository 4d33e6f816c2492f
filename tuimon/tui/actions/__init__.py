"""Actions: what a key or the command palette does. keys.txt has one row for each.

On a screen of lists or texts an action calls the method of that screen that METHODS names for its id. On the dashboard,
and if METHODS does not have its id, it calls the function in FUNCTIONS. The footer, the help screen, the palette, the
key bindings and docs/keys.md are generated from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import methodcaller
from pathlib import Path

from msgspec.structs import replace

from tuimon.analysis.metric_filter import nearest
from tuimon.errors import UsageError
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions import alerts, charts, copying, general, notes, panels, runs, views
from tuimon.tui.screens.work_screen import WorkScreen

TABLE = Path(__file__).parent / "keys.txt"
_LISTS = ("runs", "metrics", "log", "texts", "media", "ranks", "health", "help")
_SCREENS = {"all": ("dashboard", *_LISTS), "lists": _LISTS}
_MODULES = (alerts, charts, copying, general, notes, panels, runs, views)
FUNCTIONS: dict[str, Callable[[Dashboard], object]] = {
    id: function for module in _MODULES for id, function in module.DO.items()
}
METHODS: dict[str, Callable[[object], object]] = {
    "open": methodcaller("open"),
    "find": methodcaller("begin_filter"),
    "up": methodcaller("move", -1),
    "down": methodcaller("move", 1),
    "page_up": methodcaller("move", 0, -1),
    "page_down": methodcaller("move", 0, 1),
    "scroll": methodcaller("move", 0, 1),
    "next": methodcaller("next", 1),
    "previous": methodcaller("next", -1),
    "first": methodcaller("go_to_end", False),
    "last": methodcaller("go_to_end", True),
    "left": methodcaller("aside", -1),
    "right": methodcaller("aside", 1),
    "tab": methodcaller("next_part", 1),
    "tab_back": methodcaller("next_part", -1),
    "view": methodcaller("next_view"),
    "sort": methodcaller("next_sort", 1),
    "sort_back": methodcaller("next_sort", -1),
    "reverse": methodcaller("reverse_order"),
    "mark": methodcaller("mark"),
    "fold": methodcaller("fold"),
    "fold_all": methodcaller("fold_all"),
    "order": methodcaller("next_group"),
    "copy_all": methodcaller("copy_all"),
    "export": methodcaller("export"),
    "pin": methodcaller("pin"),
    "y_range": methodcaller("next_limits"),
    "cursor": methodcaller("show_charts"),
    "next_alert": methodcaller("next_problem", 1),
    "previous_alert": methodcaller("next_problem", -1),
    "next_run": methodcaller("next_item", 1),
    "previous_run": methodcaller("next_item", -1),
    "compare": methodcaller("compare"),
    "hparams": methodcaller("toggle_settings"),
    "run_metric": methodcaller("begin_metric"),
    "run_hide": methodcaller("hide"),
    "run_show_hidden": methodcaller("toggle_hidden"),
    "run_mark_all": methodcaller("mark_all"),
    "log_warning": methodcaller("find_warning", 1),
    "log_warning_back": methodcaller("find_warning", -1),
    "text_filter": methodcaller("next_filter"),
    "text_split": methodcaller("next_split"),
    "text_raw": methodcaller("toggle_raw"),
}


@cache
def all_actions() -> tuple[Action, ...]:
    """Return every action, in the order of keys.txt."""
    return tuple(_rows(TABLE.read_text("utf-8")))


def _rows(table: str) -> Iterator[Action]:
    section = ""
    for line in table.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            id, keys, label, text, where, footer, zoomed, opens, also = (cell.strip() for cell in line.split("|"))
            place, _, word = zoomed.partition(" ")
            yield Action(
                id,
                keys,
                label,
                text,
                _does(id),
                int(footer or 0),
                (int(place), word) if zoomed else None,
                section,
                _SCREENS.get(where, tuple(where.split())),
                opens,
                also,
            )


def _does(id: str) -> Callable[[Dashboard], None]:
    """Return what an action does: a method of the topmost screen, or a function."""

    def do(app: Dashboard) -> None:
        if id in METHODS and isinstance(app.screen, WorkScreen):
            METHODS[id](app.screen)
        else:
            FUNCTIONS[id](app)

    return do


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
