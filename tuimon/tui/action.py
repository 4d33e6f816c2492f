"""The type of an action, and the protocol of the application that actions and screens use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace
from textual.screen import Screen

from tuimon.config import Settings
from tuimon.model.alerts import Alert
from tuimon.monitor.process import ReaderProcess
from tuimon.panels import ChartOptions
from tuimon.store import Run, Snapshot
from tuimon.tui.ascii_mode import ascii_only
from tuimon.tui.board import Board
from tuimon.tui.state import ViewState


class Dashboard(Protocol):
    """The part of the application that actions and screens use. TuimonApp implements it."""

    actions: tuple[Action, ...]
    settings: Settings
    monitor: ReaderProcess
    """Reads the logs, and keeps the links to the other machines whose logs are shown."""
    paths: list[str]
    """Paths of the logs, as the user gave them."""
    state: ViewState
    board: Board
    snapshot: Snapshot
    """Snapshot that is displayed. While paused it is not the newest one."""

    @property
    def saves_view(self) -> bool:
        """Whether the view is saved for the next start; not with --fresh."""

    @property
    def screen(self) -> Screen[Any]:
        """Topmost screen."""

    @property
    def run_shown(self) -> Run | None:
        """Run whose dashboard is displayed, or None if there is no run yet."""

    @property
    def run_selected(self) -> Run | None:
        """Run that actions apply to: the selected row of the run list, or else the run that is shown."""

    @property
    def options(self) -> ChartOptions:
        """Display options of the charts, including the runs that are overlaid."""

    def runs_listed(self) -> tuple[Run, ...]:
        """Return the runs in the order of the run list, without the runs that it leaves out."""

    def say(self, message: str) -> None:
        """Display a message from the next drawing on: what an action did, or why not."""

    def redraw(self) -> None:
        """Draw the topmost screen: after each action, answer, click, and result of a thread."""

    def repaint(self) -> None:
        """Send every cell to the terminal again."""

    def log_in(self) -> bool:
        """Log in to the hosts that ask for it, on the terminal without the screen; return whether there is one."""

    def open_palette(self) -> None:
        """Open the palette, which finds actions, panels and metrics by words."""

    def leave(self, code: int) -> None:
        """Exit with this exit code."""

    def push_screen(self, screen: Screen[None]) -> object:
        """Open a screen on top of the others."""

    def pop_screen(self) -> object:
        """Close the topmost screen."""

    def go_back(self) -> None:
        """Close the innermost open thing: a filter, a screen, a zoomed panel, a list of metrics."""

    def begin_filter(self) -> None:
        """Open the line in which the filter of the dashboard is typed."""

    def ask(self, prompt: str, hint: str, on_answer: Callable[[str], None], text: str = "") -> None:
        """Open a line in which an answer is typed, which begins with `text`. on_answer: called with it after Enter.

        hint: shown while the line is empty."""

    def show_run(self, run: Run) -> None:
        """Close any other screen and display the dashboard of `run`."""

    def show_alert(self, alert: Alert) -> None:
        """Close any other screen and display the metric of an alert at its step, or else the run of the alert."""

    def action_do(self, id: str) -> None:
        """Do the action with an id on the topmost screen, and draw."""

    def do(self, action: Action) -> None:
        """Do an action on the topmost screen, and draw."""

    def perform(self, action: Action) -> None:
        """Do what an action does on the topmost screen, or say on which screen it works."""

    def show_metrics(self, names: tuple[str, ...], first: str) -> None:
        """Close any other screen and display one chart for each metric, the chart of `first` zoomed."""

    def show_together(self, names: Sequence[str]) -> None:
        """Close any other screen and draw the metrics, at most MOST_TOGETHER, in one chart."""

    def resize_charts(self, by: int) -> None:
        """Make charts larger (by > 0) or smaller."""

    def write(self, text: str) -> None:
        """Write control sequences to the terminal, in order with the output of Textual."""

    def export_screenshot(self, *, title: str | None = None) -> str:
        """Return the screen as SVG."""


class Action(Struct, frozen=True):
    """Something that the user can do, with its keys and its help text."""

    id: str
    keys: str
    """Comma-separated key names of Textual; "" if only the palette has the action, until the user gives it a key."""
    label: str
    """Label in the footer: one word."""
    help: str
    do: Callable[[Dashboard], None]
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
    text = (Path(__file__).parent / "actions" / "footers.txt").read_text("utf-8")
    lines = [line.partition(" | ") for line in text.splitlines() if line and not line.startswith("#")]
    parts = ((place, (entry.partition(" ") for entry in entries.split(", "))) for place, _, entries in lines)
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
