"""Columns of the list of generated texts: samples, groups of a prompt, ranges of rewards, or steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tuimon import lazy_re as re
from tuimon.draw.numbers import format_value
from tuimon.draw.scatter import Points, render_scatter
from tuimon.draw.table import KEPT, Column
from tuimon.model.views import Role, Rows, Size, Symbols
from tuimon.redact import redacted_text
from tuimon.samples.flags import NAMES
from tuimon.samples.group_labels import GroupLabels
from tuimon.samples.library import Entry
from tuimon.samples.overview import Bin, StepNumbers
from tuimon.samples.selection import Group, finite, rewards_of
from tuimon.text import clean
from tuimon.tui.screens.text_choice import GROUPS, HISTOGRAM, STEPS, Choice

_REWARD_WORD = re.compile(r"^(?:rewards?|scores?)[_ ]|[_ ](?:rewards?|scores?)(?:_func)?$")
_WORDS = 24
"""Cells that the first words of a text get before further columns are shown."""
_LONGEST_TEXT, _LONGEST_BAR = 2000, 400
_SAMPLE = 256
"""Number of texts whose parts of the reward have columns."""
_BARS, _ASCII_BARS = "▁▂▃▄▅▆▇█", "_.:-=+*#"
_MOST_BARS = 16
_LETTERS = "".join(name[0].upper() if name != "empty" else "∅" for name in NAMES.values())


def list_columns(choice: Choice, symbols: Symbols) -> tuple[Column[Any], ...]:
    """Return the columns of what is listed (`Choice.items`)."""
    if choice.mode == GROUPS:
        return _group_columns(choice, symbols)
    if choice.mode == HISTOGRAM:
        return _bin_columns(choice, symbols)
    return _step_columns(choice, symbols) if choice.mode == STEPS else _sample_columns(choice.entries)


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


def _group_columns(choice: Choice, symbols: Symbols) -> tuple[Column[Group], ...]:
    labels = GroupLabels(entry.group for entry in choice.entries)
    rewards = rewards_of(choice.entries)
    low, high = min(rewards, default=0.0), max(rewards, default=0.0)
    marks = _ASCII_BARS if symbols is Symbols.ASCII else _BARS

    def bars(group: Group) -> tuple[str, Role]:
        shown = "".join(_bar(entry, low, high, marks) for entry in group.entries[:_MOST_BARS])
        return (shown[:-1] + "…" if len(group.entries) > _MOST_BARS else shown), Role.ACCENT

    def number(value: Callable[[Group], float]) -> Callable[[Group], tuple[str, Role]]:
        return lambda group: (_number(value(group)), Role.WARNING if group.is_flat else Role.VALUE)

    def identical(group: Group) -> tuple[str, Role] | None:
        return (f"{group.identical} of {len(group.entries)}", Role.WARNING) if group.identical else None

    def change(group: Group) -> tuple[str, Role] | None:
        return _change(choice.change.get(group.entries[0].prompt), choice.change_is_share)

    several = 1 < len(labels) < len(choice.entries)
    passed = _column("passed", "passed", lambda g: (_passed(g.passed, g.judged), Role.TEXT), 8, 30)
    return (
        _column("mean", "mean", number(lambda group: group.mean), 8),
        _column("std", "± std", number(lambda group: group.std), 8, 26),
        *((passed,) if choice.pass_field else ()),
        _column("identical", "identical", identical, 9, 27),
        _column("change", "change", change, 7, 29),
        _column("rewards", "rewards", bars, 4, most=_MOST_BARS, right=False),
        _column("group", "group", lambda g: labels.label(g.key) if several else None, 5, 25, most=labels.width),
        _words_column("prompt", lambda group: clean(redacted_text(group.entries[0].prompt_head))),
    )


def _change(change: float | None, is_share: bool) -> tuple[str, Role] | None:
    """Return a change, in percentage points (pp) if it is that of a share."""
    if change is None:
        return None
    role = Role.MUTED if not change else Role.GOOD if change > 0 else Role.WARNING
    return f"{round(100 * change):+d} pp" if is_share else f"{'+' * (change > 0)}{format_value(change)}", role


def _bin_columns(choice: Choice, symbols: Symbols) -> tuple[Column[Bin], ...]:
    most, total = max((part.count for part in choice.bins), default=0), len(choice.listed)

    def limits(part: Bin) -> tuple[str, Role]:
        low = _number(part.low)
        return low if part.low == part.high else f"{low} – {_number(part.high)}", Role.TEXT

    return (
        _column("reward", "reward", limits, 19),
        _column("texts", "texts", lambda part: (str(part.count), Role.TEXT), 7),
        _column("share", "", lambda part: (f"{part.count / total:.0%}" if total else "", Role.TEXT), 4),
        _bar_column("", lambda part: float(part.count), most, symbols),
    )


def _step_columns(choice: Choice, symbols: Symbols) -> tuple[Column[StepNumbers], ...]:
    def bar(numbers: StepNumbers) -> float:
        value = numbers.share if choice.bars == "share" else numbers.mean
        return max(value, 0.0) if math.isfinite(value) else 0.0

    def number(value: Callable[[StepNumbers], float]) -> Callable[[StepNumbers], tuple[str, Role]]:
        return lambda numbers: (_number(value(numbers)) if numbers.count else "", Role.VALUE)

    field = choice.by_step[0].pass_field if choice.by_step else ""
    most = max(map(bar, choice.by_step), default=0.0)
    return (
        _column("step", "step", lambda n: ("-" if n.step is None else str(n.step), Role.TEXT), 9),
        _column("texts", "texts", lambda n: (f"{n.count}/{n.total}", Role.TEXT), 11),
        _column("reward", "reward", number(lambda n: n.mean), 8),
        _column("std", "± std", number(lambda n: n.std), 8, 25),
        _column("passed", "passed", lambda n: _passed(n.passed, n.judged * (n.pass_field == field)), 8, 26),
        _bar_column(choice.bars, bar, most, symbols),
    )


def _bar_column(head: str, value: Callable[[Any], float], most: float, symbols: Symbols) -> Column[Any]:
    """Return a column of bars that fills the width; a value above 0 has one cell at least."""
    sign = "=" if symbols is Symbols.ASCII else "█"

    def bar(item: Any, width: int) -> tuple[tuple[str, Role]]:
        count = round(value(item) / most * width) if most > 0 else 0
        return ((sign * (max(count, 1) if value(item) > 0 else 0), Role.ACCENT),)

    return Column("bar", head, value, bar, 5, KEPT, most=_LONGEST_BAR, fills=True, right=False)


def _passed(passed: int, judged: int) -> str:
    return f"{passed}/{judged}" if judged else "-"


def _bar(entry: Entry, low: float, high: float, marks: str) -> str:
    reward = finite(entry)
    if reward is None:
        return "?"
    share = (reward - low) / (high - low) if high > low else 1.0
    return marks[min(int(share * len(marks)), len(marks) - 1)]


def _number(value: float | None) -> str:
    return "-" if value is None else format_value(value)


def scatter_rows(choice: Choice, cursor: int, symbols: Symbols, size: Size) -> Rows:
    """Return a plot of the rewards of the listed samples against their lengths, with the selected one marked."""
    from tuimon.analysis.correlation import correlation_words

    known = [(entry, reward) for entry in choice.listed if (reward := finite(entry)) is not None]
    units = {entry.length_unit for entry, _ in known}
    if len(units) != 1:
        why = "some lengths are in tokens, others in characters" if units else "no text has a finite reward"
        return (((f" No plot: {why}", Role.MUTED),),)
    lengths = np.array([entry.length for entry, _ in known], np.float64)
    rewards = np.array([reward for _, reward in known], np.float64)
    selected = choice.entry(cursor)
    chosen = np.array([entry is selected for entry, _ in known], bool)
    groups = [
        Points(name, role, lengths[which], rewards[which])
        for name, role, which in (("selected", Role.SERIES_1, chosen), ("", Role.SERIES_0, ~chosen))
    ]
    words = ((correlation_words(lengths, rewards), Role.VALUE),)
    labels = f"length ({units.pop()})", ""
    return tuple(render_scatter("reward against length", words, labels, groups, size, symbols))
