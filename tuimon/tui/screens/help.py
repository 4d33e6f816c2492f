"""Help screen: the keys of the screen below it, the most important ones first, then all others; can be searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tuimon.model.views import Role, Row
from tuimon.store import Snapshot
from tuimon.text import fit
from tuimon.tui.action import Action, footer, key_names
from tuimon.tui.screens.lines import Entry, LinesScreen
from tuimon.tui.state import ViewState

ESSENTIAL = 12
"""Number of actions on top."""
_EVERYWHERE = "General"
"""Section of the keys of every screen, after those of the screen itself."""
_IN_PLACE_OF = {"next_run": "smoother"}
"""Action of the footer -> action without a place there that is more important."""
_MARKS = (
    "Marks on a chart: ✗ NaN or infinity   ★ best checkpoint   ◇ checkpoint",
    "△ evaluation   ⚑ alert   ╎1 note at a step   ┊ restart   │ cursor",
    "↑↓ beyond the limits   ◆ pinned",
    "↑ ↓ 0.1 after a value: change of the level, the mean of the last tenth of the points against the tenth before;",
    "→ +0.1: noise may explain it. The trend in summaries is the change from the first tenth to the last one",
    "Faint: raw values behind an average, points replaced by a restart, seeds of the base",
)
_MARKS_OF = {
    "texts": (
        "Marks in the list: T truncated   E error   L loop: one piece again and again",
        "G garbled bytes   S mixed scripts (Latin and another one)   ∅ empty",
    )
}
"""Explanations of other screens than the dashboard."""
_NAMES = {"dashboard": "the dashboard", "runs": "the run list", "metrics": "the metric list", "log": "the log"}


class HelpScreen(LinesScreen[Action]):
    """Actions and their keys."""

    WHERE = "help"
    PROMPT = "search"
    PLACEHOLDER = "words: smooth, zoom in, compare"

    def __init__(self, actions: tuple[Action, ...], where: str) -> None:
        """where: name of the screen whose keys come first."""
        super().__init__(actions)
        self._all, self._where = actions, where
        self._entries: tuple[str, list[Entry[Action]]] | None = None

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        if self._entries is None or self._entries[0] != self.query_text:
            self.table.cursor = 0
            self._entries = self.query_text, list(help_entries(self._all, self._where, self.query_text))
        self.draw_entries(self._entries[1], "Keys", state.theme)

    def open(self) -> None:
        """Do what the selected line describes."""
        action = self.table.target
        if action is None:
            self.say("Select a key: Enter does what it does")
            return
        self.app.pop_screen()
        self.app.perform(action)


def help_entries(actions: tuple[Action, ...], where: str, query: str) -> Iterator[Entry[Action]]:
    """Yield the lines of the help. where: the screen whose keys come first. query: words that a line must contain."""
    matching = list(actions)
    if query.strip():
        fitness = {action.id: action.relevance(query) for action in actions}
        matching = sorted((action for action in actions if fitness[action.id]), key=lambda action: -fitness[action.id])
    here = [action for action in matching if where in action.where]
    if query.strip():
        if not matching:
            yield Entry(((f"No key is described by {query}; Esc shows all keys", Role.MUTED),))
        yield from _section("", here)
        yield from _section("On other screens", (action for action in matching if action not in here))
        return
    essential = _essential(here, where)
    yield from _section(f"The most important keys of {_NAMES.get(where, f'the {where} screen')}", essential)
    own, all_of = (Counter(action.section for action in several) for several in (here, actions))
    rest = [action for action in here if action not in essential]
    rest.sort(key=lambda action: (action.section == _EVERYWHERE, -own[action.section] / all_of[action.section]))
    for members in (rest, [action for action in matching if action not in here]):
        for section, group in groupby(members, key=lambda action: action.section):
            yield from _section(section, group)
    yield Entry(
        (("Actions without a key are in the palette. Keys can be changed in config.toml: [keys],", Role.MUTED),)
    )
    yield Entry(((f"action = key. The actions: {', '.join(action.id for action in actions)}.", Role.MUTED),))
    yield Entry(())
    yield from (Entry(((note, Role.MUTED),)) for note in _MARKS_OF.get(where, _MARKS))


def _essential(here: Sequence[Action], where: str) -> list[Action]:
    """Return the most important actions of a screen: the first ones of its footer, or what replaces them."""
    by_id = {action.id: action for action in here}
    return [by_id.get(_IN_PLACE_OF.get(action.id, ""), action) for action in footer(here, where)[:ESSENTIAL]]


def _section(title: str, actions: Iterable[Action]) -> Iterator[Entry[Action]]:
    rows = [Entry(_row(action), action) for action in actions]
    if rows:
        if title:
            yield Entry(((title, Role.TITLE),))
        yield from rows
        yield Entry(())


def _row(action: Action) -> Row:
    return (fit(key_names(action.keys), 16), Role.ACCENT), (action.help, Role.TEXT)
