"""Columns of the list of generated texts: samples, or groups of a prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tuimon import lazy_re as re
from tuimon.draw.numbers import format_value
from tuimon.draw.table import KEPT, Column
from tuimon.model.views import Role
from tuimon.redact import redacted_text
from tuimon.samples.flags import NAMES
from tuimon.samples.group_labels import GroupLabels
from tuimon.samples.library import Entry
from tuimon.samples.selection import Group, finite, rewards_of
from tuimon.text import clean
from tuimon.tui.screens.text_choice import GROUPS, Choice

_REWARD_WORD = re.compile(r"^(?:rewards?|scores?)[_ ]|[_ ](?:rewards?|scores?)(?:_func)?$")
_WORDS = 24
"""Cells that the first words of a text get before further columns are shown."""
_LONGEST_TEXT = 2000
_SAMPLE = 256
"""Number of texts whose parts of the reward have columns."""
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 16
_LETTERS = "".join(name[0].upper() if name != "empty" else "∅" for name in NAMES.values())


def list_columns(choice: Choice) -> tuple[Column[Any], ...]:
    """Return the columns of what is listed (`Choice.items`)."""
    return _group_columns(choice) if choice.mode == GROUPS else _sample_columns(choice.entries)


def _column(
    id: str, head: str, text: Callable[[Any], tuple[str, Role] | str | None], least: int, keep: int = KEPT, **more: Any
) -> Column[Any]:
    """Return a column of texts with their roles; a text alone is muted, None is no value."""

    def span(item: Any) -> tuple[str, Role]:
        found = text(item)
        return (found or "", Role.MUTED) if found is None or isinstance(found, str) else found

    return Column(id, head, lambda item: span(item)[0], lambda item, width: (span(item),), least, keep, **more)


def _words_column(head: str, text: Callable[[Any], str]) -> Column[Any]:
    return _column(
        "text", head, lambda item: (text(item), Role.TEXT), _WORDS, most=_LONGEST_TEXT, fills=True, right=False
    )


def _sample_columns(entries: Sequence[Entry]) -> tuple[Column[Entry], ...]:
    labels = GroupLabels(entry.group for entry in entries)
    rewards = rewards_of(entries)
    low, high = min(rewards, default=0.0), max(rewards, default=0.0)
    names = dict.fromkeys(name for entry in entries[:_SAMPLE] for name, _ in entry.components)

    def reward(entry: Entry) -> tuple[str, Role]:
        role = Role.VALUE if finite(entry) is not None else Role.MUTED
        if high > low and entry.reward in (low, high):
            role = Role.GOOD if entry.reward == high else Role.WARNING
        return _number(entry.reward), role

    def part(name: str) -> Callable[[Entry], str | None]:
        return lambda entry: _number(dict(entry.components).get(name))

    unit = entries[0].length_unit if entries else ""
    several = 1 < len(labels) < len(entries)
    return (
        _column("reward", "reward", reward, 8),
        _column("length", unit, lambda entry: (format_value(entry.length), Role.TEXT), 7, most=10),
        _column("marks", "", lambda entry: (_marks(entry), Role.WARNING), 3, right=False),
        _column("group", "group", lambda e: labels.label(e.group) if several else None, max(5, labels.width), 30),
        _column("advantage", "advantage", lambda e: None if e.advantage is None else _number(e.advantage), 9, 29),
        *(_column(name, component_head(name), part(name), 8, 28 - place) for place, name in enumerate(names)),
        _words_column("text", lambda entry: clean(redacted_text(entry.head)) or "(empty)"),
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

    def bars(group: Group) -> tuple[str, Role]:
        shown = "".join(_bar(entry, low, high) for entry in group.entries[:_MOST_BARS])
        return (shown[:-1] + "…" if len(group.entries) > _MOST_BARS else shown), Role.ACCENT

    def number(value: Callable[[Group], float]) -> Callable[[Group], tuple[str, Role]]:
        return lambda group: (_number(value(group)), Role.WARNING if group.is_flat else Role.VALUE)

    def identical(group: Group) -> tuple[str, Role] | None:
        return (f"{group.identical} of {len(group.entries)}", Role.WARNING) if group.identical else None

    several = 1 < len(labels) < len(choice.entries)
    passed = _column("passed", "passed", lambda g: (f"{g.passed}/{g.judged}" if g.judged else "-", Role.TEXT), 8, 30)
    return (
        _column("mean", "mean", number(lambda group: group.mean), 8),
        _column("std", "± std", number(lambda group: group.std), 8, 26),
        *((passed,) if choice.pass_field else ()),
        _column("identical", "identical", identical, 9, 27),
        _column("rewards", "rewards", bars, 4, most=_MOST_BARS, right=False),
        _column("group", "group", lambda g: labels.label(g.key) if several else None, 5, 25, most=labels.width),
        _words_column("prompt", lambda group: clean(redacted_text(group.entries[0].prompt_head))),
    )


def _bar(entry: Entry, low: float, high: float) -> str:
    reward = finite(entry)
    if reward is None:
        return "?"
    share = (reward - low) / (high - low) if high > low else 1.0
    return _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]


def _number(value: float | None) -> str:
    return "-" if value is None else format_value(value)
