"""The type of an action, and what actions and screens call the application."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tuimon.text_tables import table_rows
from tuimon.tui.ascii_mode import ascii_only

if TYPE_CHECKING:
    from tuimon.tui import app

TuimonApp: TypeAlias = "app.TuimonApp"
"""The application. Its module imports the actions and screens, which therefore import its type from here."""


class Action(Struct, frozen=True):
    """Something that the user can do, with its keys and its help text."""

    id: str
    keys: str
    """Comma-separated key names of Textual; "" if only the palette has the action, until the user gives it a key."""
    label: str
    """Label in the footer: one word."""
    help: str
    do: Callable[[TuimonApp], None]
    section: str = "General"
    where: tuple[str, ...] = ("dashboard",)
    """Screens on which the keys work: dashboard, runs, metrics, log, texts, media, ranks, health, help."""
    opens: str = ""
    """Screen that it opens, as in `where`; on that screen it goes back. It replaces another screen that does not use
    the key."""
    also: str = ""
    """Other words for it, by which the help and the palette find it."""

    def relevance(self, query: str) -> float:
        """Return how well the action fits the words of a query; 0.0 if a word begins none of its words."""
        keys = (*self.keys.split(","), *key_names(self.keys).split()) if self.keys else ()
        if query.strip() in keys or query.strip().lower() in (self.label, self.id):
            return _EXACT
        return relevance(
            query, ((self.label, 6.0), (self.also, 4.0), (f"{self.id.replace('_', ' ')}", 4.0), (self.help, 2.0))
        )


def footer(actions: Iterable[Action], place: str) -> tuple[Action, ...]:
    """Return the actions of a footer in order, with their labels there.

    place: screen as in `Action.where`, or with its view: "runs.grid"; a view may have no footer of its own."""
    known, footers = {action.id: action for action in actions}, _footers()
    entries = footers.get(place) or footers[place.partition(".")[0]]
    return tuple(replace(known[id], label=label or known[id].label) for id, label in entries)


@cache
def _footers() -> dict[str, list[tuple[str, str]]]:
    """Return the ids and labels of footers.txt by screen and view."""
    rows = table_rows(__file__, "actions/footers.txt")
    parts = ((place, (entry.partition(" ") for entry in entries.split(", "))) for place, entries in rows)
    return {place: [(id, label) for id, _, label in entries] for place, entries in parts}


_EXACT = 100.0
"""Relevance of a query that is the key, the label or the id."""


def relevance(query: str, texts: Sequence[tuple[str, float]]) -> float:
    """Return the sum, over the words of a query, of the weight of the best text with a word that begins like it.

    A whole word counts more than its beginning. texts: pairs of a text and its weight. 0.0 if a word is in no text.
    """
    total = 0.0
    for word in query.lower().split():
        begin = rf"(?<!\w){re.escape(word)}"
        best = 0.0
        for text, weight in texts:
            text = text.lower()
            if re.search(begin, text):
                best = max(best, weight if re.search(rf"{begin}s?(?!\w)", text) else weight / 2)
        if not best:
            return 0.0
        total += best
    return total


_NAMES = {"enter": "⏎", "left": "←", "right": "→", "up": "↑", "down": "↓", "space": "space"}
_NAMES |= {"home": "Home", "end": "End", "pagedown": "PgDn", "pageup": "PgUp", "escape": "Esc"}
_NAMES |= {"tab": "Tab", "shift+tab": "Shift+Tab"}
_ASCII_NAMES = {"enter": "Enter", "left": "Left", "right": "Right", "up": "Up", "down": "Down"}


def key_names(keys: str) -> str:
    """Return keys as they are displayed, such as "PgDn ?"; for "", "palette": the action has no key."""
    from textual.keys import KEY_NAME_REPLACEMENTS, key_to_character

    names = _NAMES | _ASCII_NAMES if ascii_only() else _NAMES
    whole = {short: name for name, short in KEY_NAME_REPLACEMENTS.items()}
    shown = (
        names.get(key) or key_to_character(whole.get(key, key)) or key.replace("ctrl+", "Ctrl+")
        for key in keys.split(",")
    )
    return " ".join(shown) if keys else "palette"
