"""Rows of the list of generated texts: samples or groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tuimon import lazy_re as re
from tuimon.draw.numbers import format_value
from tuimon.draw.rows import fit_row
from tuimon.draw.scatter import Points, render_scatter
from tuimon.model.views import Role, Row, Size, Span, Symbols
from tuimon.redact import redacted_text
from tuimon.rollouts.flags import NAMES
from tuimon.rollouts.group_labels import GroupLabels
from tuimon.rollouts.library import Entry
from tuimon.rollouts.overview import Bin, StepNumbers
from tuimon.rollouts.selection import SINCE_FIRST, Group, finite
from tuimon.text import cell_width, clean, fit
from tuimon.tui.screens.text_choice import GROUPS, HISTOGRAM, STEPS, Choice

_REWARD_WORD = re.compile(r"^(?:rewards?|scores?)[_ ]|[_ ](?:rewards?|scores?)(?:_func)?$")
_REWARD, _LENGTH, _ADVANTAGE, _GROUP, _COMPONENT = 9, 8, 9, 5, 9
_STD, _CHANGE, _FIRST, _IDENTICAL = 9, 7, 11, 9
_WORDS = 24
"""Cells that the first words of a text get before further columns are shown."""
_BARS, _ASCII_BARS = "▁▂▃▄▅▆▇█", "_.:-=+*#"
_MOST_BARS = 16
_LETTERS = "".join(name[0].upper() if name != "empty" else "∅" for name in NAMES.values())


class Columns:
    """Columns of the list that a width has room for."""

    def __init__(self, entries: Sequence[Entry], width: int) -> None:
        room = width - 1 - _REWARD - _LENGTH - 4 - _WORDS
        self.labels = GroupLabels(entry.group for entry in entries)
        self.group_width = max(_GROUP, self.labels.width + 1)
        self.groups = 1 < len(self.labels) < len(entries) and room >= self.group_width
        room -= self.group_width * self.groups
        self.advantage = room >= _ADVANTAGE and any(entry.advantage is not None for entry in entries[:256])
        room -= _ADVANTAGE * self.advantage
        names = dict.fromkeys(name for entry in entries[:256] for name, _ in entry.components)
        self.components = tuple(names)[: max(0, room // _COMPONENT)]
        rewards = [reward for entry in entries if (reward := finite(entry)) is not None]
        self.low, self.high = min(rewards, default=0.0), max(rewards, default=0.0)


def head_row(columns: Columns, unit: str, width: int) -> Row:
    """Return the column heads of the list of samples."""
    text = f" {'reward':>{_REWARD - 1}}{unit:>{_LENGTH}}    "
    text += "group".rjust(columns.group_width + 1) if columns.groups else ""
    text += "advantage".rjust(_ADVANTAGE + 1) if columns.advantage else ""
    text += "".join(f" {component_head(name)}" for name in columns.components)
    return fit_row(((text + "  text", Role.MUTED),), width)


def component_head(name: str) -> str:
    """Return the head of a part of the reward, as wide as its column: the words that distinguish it from others."""
    name = clean(name).rpartition("/")[2]
    name = _REWARD_WORD.sub("", name) or name
    shown = fit(name, _COMPONENT - 1).strip()
    return " " * (_COMPONENT - 1 - cell_width(shown)) + shown


def sample_row(entry: Entry, columns: Columns, selected: bool, width: int) -> Row:
    """Return the row of a sample in the list."""
    reward = entry.reward
    role = Role.MUTED if reward is None or not math.isfinite(reward) else Role.VALUE
    if reward is not None and columns.high > columns.low:
        role = Role.GOOD if reward == columns.high else Role.WARNING if reward == columns.low else role
    spans: list[Span] = [
        ("▌" if selected else " ", Role.ACCENT),
        (f"{_number(reward):>{_REWARD - 1}}", role),
        (f"{format_value(entry.length):>{_LENGTH}}", Role.TEXT),
        (_marks(entry), Role.WARNING),
    ]
    if columns.groups:
        spans.append((f" {columns.labels.label(entry.group):>{columns.group_width - 1}} ", Role.MUTED))
    if columns.advantage:
        spans.append((f"{_number(entry.advantage):>{_ADVANTAGE}} ", Role.MUTED))
    values = dict(entry.components)
    spans += [(f"{_number(values.get(name)):>{_COMPONENT}}", Role.MUTED) for name in columns.components]
    words = clean(redacted_text(entry.head)) or "(empty)"
    spans.append(("  " + words, Role.VALUE if selected else Role.TEXT))
    return fit_row(spans, width)


def _marks(entry: Entry) -> str:
    """Return four cells: T truncated, E error, and the flags."""
    letters = "T" if entry.truncated else ""
    letters += "E" if entry.error else ""
    letters += "".join(letter for bit, letter in zip(NAMES, _LETTERS, strict=True) if entry.flags & bit)
    return f" {letters[:3]:<3}"


class GroupColumns:
    """Columns of the list of groups that a width has room for. The prompt gets what is left of it."""

    def __init__(self, choice: Choice, columns: Columns, width: int) -> None:
        self.passed = bool(choice.pass_field)
        """Whether it is known which samples passed."""
        self.identical = any(group.identical for group in choice.groups)
        self.change = bool(choice.change)
        self.is_share = choice.change_is_share
        """Whether the change is that of the share that passed, not that of the mean reward."""
        self.bars = min(_MOST_BARS, max((len(group.entries) for group in choice.groups), default=1))
        self.first = bool(choice.first_change)
        self.first_is_share = choice.first_is_share
        """Values of `change` and `is_share` for the change since the first step that has the prompt."""
        room = width - 10 - _WORDS - 9 * self.passed - (_CHANGE + 1) * self.change - self.bars - 4
        room -= (_FIRST + 1) * self.first + (_IDENTICAL + 1) * self.identical
        self.std = room >= _STD
        room -= _STD * self.std
        self.label_width = columns.labels.width
        self.label = columns.groups and room > max(self.label_width, _GROUP)

    def head(self, width: int) -> Row:
        """Return the column heads."""
        std = f" {'± std':>{_STD - 1}}" if self.std else ""
        passed = f" {'passed':>8}" if self.passed else ""
        identical = f" {'identical':>{_IDENTICAL}}" if self.identical else ""
        change = f" {'change':>{_CHANGE}}" if self.change else ""
        first = f" {SINCE_FIRST:>{_FIRST}}" if self.first else ""
        bars = "rewards" if self.bars >= len("rewards") else ""
        label = f"  {'group':<{max(self.label_width, _GROUP)}}" if self.label else ""
        text = f" {'mean':>8}{std}{passed}{identical}{change}{first}  {bars:<{self.bars}}{label}  prompt"
        return fit_row(((text, Role.MUTED),), width)


def _change_span(change: float | None, is_share: bool, width: int) -> Span:
    """Return a change right-aligned: in percentage points (pp) if it is that of a share."""
    sign = Role.MUTED if not change else Role.GOOD if change > 0 else Role.WARNING
    if change is None:
        text = "-"
    else:
        text = f"{round(100 * change):+d} pp" if is_share else f"{'+' if change > 0 else ''}{format_value(change)}"
    return f" {text:>{width}}", sign


def group_row(
    group: Group,
    columns: Columns,
    shown: GroupColumns,
    choice: Choice,
    selected: bool,
    symbols: Symbols,
    width: int,
) -> Row:
    """Return the row of a group: statistics of its rewards, a bar for each sample, and the prompt."""
    marks = _ASCII_BARS if symbols is Symbols.ASCII else _BARS
    bars = "".join(_bar(entry, columns, marks) for entry in group.entries[:_MOST_BARS])
    if len(group.entries) > _MOST_BARS:
        bars = bars[:-1] + "…"
    role = Role.WARNING if group.is_flat else Role.VALUE
    spans: list[Span] = [("▌" if selected else " ", Role.ACCENT), (f"{_number(group.mean):>8}", role)]
    if shown.std:
        spans.append((f" {_number(group.std):>{_STD - 1}}", role))
    if shown.passed:
        spans.append((f" {_passed(group.passed, group.judged)}", Role.TEXT))
    if shown.identical:
        same = f"{group.identical} of {len(group.entries)}" if group.identical else "-"
        spans.append((f" {same:>{_IDENTICAL}}", Role.WARNING if group.identical else Role.MUTED))
    if shown.change:
        spans.append(_change_span(choice.change.get(group.entries[0].prompt), shown.is_share, _CHANGE))
    if shown.first:
        spans.append(_change_span(choice.first_change.get(group.entries[0].prompt), shown.first_is_share, _FIRST))
    prompt = clean(redacted_text(group.entries[0].prompt_head))
    spans.append((f"  {bars:<{shown.bars}}", Role.ACCENT))
    if shown.label:
        spans.append((f"  {columns.labels.label(group.key):<{max(shown.label_width, _GROUP)}}", Role.MUTED))
    spans.append(("  " + prompt, Role.VALUE if selected else Role.TEXT))
    return fit_row(spans, width)


def bin_head(width: int) -> Row:
    """Return the column heads of the histogram."""
    return fit_row(((f" {'reward':>19} {'texts':>7}", Role.MUTED),), width)


def bin_row(chosen: Bin, total: int, most: int, selected: bool, symbols: Symbols, width: int) -> Row:
    """Return the row of a range of rewards. total: number of texts; most: number in the largest range."""
    name = _number(chosen.low) if chosen.low == chosen.high else f"{_number(chosen.low)} – {_number(chosen.high)}"
    share = f"{chosen.count / total:>5.0%} " if total else ""
    return fit_row(
        (
            ("▌" if selected else " ", Role.ACCENT),
            (f"{name:>19} {chosen.count:>7} {share}", Role.VALUE if selected else Role.TEXT),
            (_length(chosen.count, most, width - 36, symbols), Role.ACCENT),
        ),
        width,
    )


def step_head(title: str, width: int) -> Row:
    """Return the column heads of the list of steps."""
    return fit_row(
        ((f" {'step':>9} {'texts':>11} {'reward':>8} {'± std':>8} {'passed':>8}  {title}", Role.MUTED),), width
    )


def _bar_value(numbers: StepNumbers, bars: str) -> float:
    value = numbers.share if bars == "share" else numbers.mean
    return max(value, 0.0) if math.isfinite(value) else 0.0


def _passed(passed: int, judged: int) -> str:
    return f"{f'{passed}/{judged}' if judged else '-':>8}"


def step_row(
    numbers: StepNumbers, field: str, value: float, most: float, selected: bool, symbols: Symbols, width: int
) -> Row:
    """Return the row of a step, with a bar for a value. field: number that the column of passed samples is of; most:
    the largest value."""
    step = "-" if numbers.step is None else str(numbers.step)
    mean, std = (_number(numbers.mean), _number(numbers.std)) if numbers.count else ("", "")
    passed = _passed(numbers.passed, numbers.judged if numbers.pass_field == field else 0) if numbers.count else " " * 8
    return fit_row(
        (
            ("▌" if selected else " ", Role.ACCENT),
            (f"{step:>9} {f'{numbers.count}/{numbers.total}':>11}", Role.VALUE if selected else Role.TEXT),
            (f" {mean:>8} {std:>8}", Role.VALUE),
            (f" {passed}  ", Role.TEXT),
            (_length(value, most, width - 52, symbols), Role.ACCENT),
        ),
        width,
    )


def scatter_rows(choice: Choice, cursor: int, symbols: Symbols, size: Size) -> list[Row]:
    """Return a plot of the rewards of the listed samples against their lengths, with the selected one marked."""
    from tuimon.analysis.correlation import correlation_words

    known = [(entry, reward) for entry in choice.listed if (reward := finite(entry)) is not None]
    units = {entry.length_unit for entry, _ in known}
    if len(units) != 1:
        why = "some lengths are in tokens, others in characters" if units else "no text has a finite reward"
        return [((f" No plot: {why}", Role.MUTED),)]
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
    return list(render_scatter("reward against length", words, labels, groups, size, symbols))


def _length(value: float, most: float, cells: int, symbols: Symbols) -> str:
    """Return a bar; a value above 0 has one cell at least."""
    count = round(value / most * cells) if most > 0 and cells > 0 else 0
    return ("=" if symbols is Symbols.ASCII else "█") * (max(count, 1) if value > 0 else 0)


def _bar(entry: Entry, columns: Columns, marks: str) -> str:
    reward = finite(entry)
    if reward is None:
        return "?"
    share = (reward - columns.low) / (columns.high - columns.low) if columns.high > columns.low else 1.0
    return marks[min(int(share * len(marks)), len(marks) - 1)]


def _number(value: float | None) -> str:
    return "-" if value is None else format_value(value)


def list_rows(choice: Choice, columns: Columns, shown: range, cursor: int, symbols: Symbols, width: int) -> list[Row]:
    """Return the column heads and the rows of a list."""
    if choice.mode == GROUPS:
        groups = ((choice.groups[index], index == cursor) for index in shown)
        layout = GroupColumns(choice, columns, width)
        rows = (group_row(group, columns, layout, choice, chosen, symbols, width) for group, chosen in groups)
        return [layout.head(width), *rows]
    if choice.mode == HISTOGRAM:
        largest, total = max((chosen.count for chosen in choice.bins), default=0), len(choice.listed)
        bins = ((choice.bins[index], index == cursor) for index in shown)
        return [bin_head(width), *(bin_row(part, total, largest, chosen, symbols, width) for part, chosen in bins)]
    if choice.mode == STEPS:
        values = [_bar_value(numbers, choice.bars) for numbers in choice.by_step]
        most = max(values, default=0.0)
        numbers = ((choice.by_step[index], values[index], index == cursor) for index in shown)
        field = choice.by_step[0].pass_field if choice.by_step else ""
        rows = (step_row(part, field, value, most, chosen, symbols, width) for part, value, chosen in numbers)
        return [step_head(choice.bars, width), *rows]
    unit = choice.entries[0].length_unit if choice.entries else ""
    entries = ((choice.listed[index], index == cursor) for index in shown)
    return [head_row(columns, unit, width), *(sample_row(entry, columns, chosen, width) for entry, chosen in entries)]
