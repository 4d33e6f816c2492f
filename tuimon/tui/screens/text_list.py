"""List of generated texts: samples, or groups of a prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tuimon import lazy_re as re
from tuimon.draw.numbers import format_value
from tuimon.draw.table import Column, Order, text_column
from tuimon.model.views import Role, Span
from tuimon.redact import redacted_text
from tuimon.samples.flags import NAMES
from tuimon.samples.group_labels import GroupLabels
from tuimon.samples.library import Entry
from tuimon.samples.selection import Group, finite, rewards_of
from tuimon.text import clean
from tuimon.tui.screens.text_choice import GROUPS, Choice
from tuimon.tui.state import ViewState
from tuimon.tui.table import Table

_REWARD_WORD = re.compile(r"^(?:rewards?|scores?)[_ ]|[_ ](?:rewards?|scores?)(?:_func)?$")
_WORDS = 24
"""Cells that the first words of a text get before further columns are shown."""
_LONGEST_TEXT = 2000
_SAMPLE = 256
"""Number of texts whose parts of the reward have columns."""
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 16
_LETTERS = "".join(name[0].upper() if name != "empty" else "∅" for name in NAMES.values())


class SampleTable(Table[Any]):
    """The list of samples or groups."""

    GAP = 1

    def __init__(self, chosen: Callable[[], object]) -> None:
        """chosen: called when another row has been selected."""
        super().__init__()
        self._chosen = chosen

    def go_to(self, index: int) -> None:
        super().go_to(index)
        self._chosen()

    def key(self, item: Any) -> int:
        return id(item)

    def show(self, choice: Choice, state: ViewState) -> None:
        """Display a choice; the same row stays selected, whatever is in it."""
        if choice.items is not self.items or not self.columns:
            self.forget_widths()
            self.columns = list_columns(choice)
        self._kept = None
        self.show_items(choice.items, self.columns, Order(), state.symbols, state.theme)


def list_columns(choice: Choice) -> tuple[Column[Any], ...]:
    """Return the columns of what is listed (`Choice.items`)."""
    return _group_columns(choice) if choice.mode == GROUPS else _sample_columns(choice.entries)


_words = partial(text_column, "text", least=_WORDS, role=Role.TEXT, most=_LONGEST_TEXT, fills=True, right=False)


def _sample_columns(entries: Sequence[Entry]) -> tuple[Column[Entry], ...]:
    labels = GroupLabels(entry.group for entry in entries)
    rewards = rewards_of(entries)
    low, high = min(rewards, default=0.0), max(rewards, default=0.0)
    names = dict.fromkeys(name for entry in entries[:_SAMPLE] for name, _ in entry.components)

    def reward(entry: Entry) -> Span:
        role = Role.VALUE if finite(entry) is not None else Role.MUTED
        if high > low and entry.reward in (low, high):
            role = Role.GOOD if entry.reward == high else Role.WARNING
        return _number(entry.reward), role

    def part(name: str) -> Callable[[Entry], str]:
        return lambda entry: _number(dict(entry.components).get(name))

    unit = entries[0].length_unit if entries else ""
    several = 1 < len(labels) < len(entries)
    return (
        text_column("reward", "reward", reward, 8),
        text_column("length", unit, lambda entry: format_value(entry.length), 7, role=Role.TEXT, most=10),
        text_column("marks", "", _marks, 3, role=Role.WARNING, right=False),
        text_column("group", "group", lambda e: labels.label(e.group) if several else "", max(5, labels.width), 30),
        text_column("advantage", "advantage", lambda e: "" if e.advantage is None else _number(e.advantage), 9, 29),
        *(text_column(name, component_head(name), part(name), 8, 28 - place) for place, name in enumerate(names)),
        _words(head="text", text=lambda entry: clean(redacted_text(entry.head)) or "(empty)"),
    )


def component_head(name: str) -> str:
    """Return the head of a part of the reward: the words that distinguish it from others."""
    name = clean(name).rpartition("/")[2]
    return _REWARD_WORD.sub("", name) or name


def _marks(entry: Entry) -> str:
    """Return at most three letters: T truncated, E error, and the flags."""
    letters = "T" * bool(entry.truncated) + "E" * bool(entry.error)
    return (letters + "".join(letter for bit, letter in zip(NAMES, _LETTERS, strict=True) if entry.flags & bit))[:3]


def _group_columns(choice: Choice) -> tuple[Column[Group], ...]:
    labels = GroupLabels(entry.group for entry in choice.entries)
    rewards = rewards_of(choice.entries)
    low, high = min(rewards, default=0.0), max(rewards, default=0.0)

    def bars(group: Group) -> str:
        shown = "".join(_bar(entry, low, high) for entry in group.entries[:_MOST_BARS])
        return shown[:-1] + "…" if len(group.entries) > _MOST_BARS else shown

    def number(value: Callable[[Group], float]) -> Callable[[Group], Span]:
        return lambda group: (_number(value(group)), Role.WARNING if group.is_flat else Role.VALUE)

    def identical(group: Group) -> str:
        return f"{group.identical} of {len(group.entries)}" if group.identical else ""

    def passed(group: Group) -> str:
        return f"{group.passed}/{group.judged}" if group.judged else "-"

    several = 1 < len(labels) < len(choice.entries)
    return (
        text_column("mean", "mean", number(lambda group: group.mean), 8),
        text_column("std", "± std", number(lambda group: group.std), 8, 26),
        *([text_column("passed", "passed", passed, 8, 30, Role.TEXT)] if choice.pass_field else []),
        text_column("identical", "identical", identical, 9, 27, Role.WARNING),
        text_column("rewards", "rewards", bars, 4, role=Role.ACCENT, most=_MOST_BARS, right=False),
        text_column("group", "group", lambda g: labels.label(g.key) if several else "", 5, 25, most=labels.width),
        _words(head="prompt", text=lambda group: clean(redacted_text(group.entries[0].prompt_head))),
    )


def _bar(entry: Entry, low: float, high: float) -> str:
    reward = finite(entry)
    if reward is None:
        return "?"
    share = (reward - low) / (high - low) if high > low else 1.0
    return _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]


def _number(value: float | None) -> str:
    return "-" if value is None else format_value(value)
