"""Lines of a user's own trainer, by patterns from the settings (console_patterns): lines with names for the numbers.

    it {step} | loss {loss} (avg {train/loss_avg}) | lr {lr}
    [{time}] epoch {epoch}{}acc = {val/acc}%

    {name}      a number (0.5, 1e-06, nan, -inf, np.float64(0.5), tensor(0.5), '0.5'): the metric of that name
    {step}      the step, as any name of STEP_KEYS; {epoch} is the step if there is no other
    {time}      the wall time, as any name of TIME_KEYS: a date and time, or seconds since the epoch
    {total_steps}  the step at which the run ends, as any name of TOTAL_KEYS: for the progress, and a metric
    {}          any text, up to the next piece of the pattern
    {{ and }}   a brace; blanks match any blanks; all other text is as in the line
    {name}k     a number in thousands; also K, M (millions) and B (billions of tokens, samples or parameters)
    {name} ms/it, {name}GB, {name}%      a number with its unit

Other numbers of the line are read as in lines without a pattern.

The pattern may begin anywhere in the line except within a word. The first pattern that matches reads the line. A line
without a step has the step of the row before it; in a log without any step, rows are numbered from 0.

These are not regular expressions, because those of Python backtrack: one careless pattern and one hostile line would
block the reader for hours. A pattern is compiled so that it never backtracks: the pieces between {} are searched for
one after another, and nothing within a piece can match in two ways, so the time is linear in the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isnan
from string import Formatter
from typing import TypeAlias

from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.errors import UsageError
from tuimon.formats._shared.rows import STEP_KEYS, TIME_KEYS, TOTAL_KEYS, seconds, step_of
from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink, number, parse_timestamp
from tuimon.formats.console.shapes.cutting import places as numbers_of
from tuimon.formats.console.shapes.rows import layout_of, quantity_before, row_of
from tuimon.text import clean

_MAX_LENGTH = 1 << 16
"""Characters; longer lines are not read."""
_MAX_QUOTED = 120
"""Characters of a line that a remark quotes."""
_NUMBER = r"[+-]?+(?:(?:\d{1,40}+(?:\.\d{1,40}+)?+|\.\d{1,40}+)(?:[eE][+-]?\d{1,6}+)?+|(?i:nan|inf(?:inity)?+))"
_FULL_STOP = r"(?:(?<=\d)\.(?!\d))?+"
"""Allows "1.", as numpy prints it."""
_WRAPPED = rf"(?:(?:np|numpy|torch)\.)?+\w{{1,20}}+\(\[?+{_NUMBER}\.?+\]?+(?:,[^()\[\]]{{0,40}}+)?+\)"
_MOMENT = r"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9}+)?+(?:Z|[+-]\d\d:?+\d\d)?+"
_BLANKS = r"\s{1,200}+"
_BEFORE_NUMBER = r"\s{0,200}+"
_WORD = re.compile(r"\w")
_PLACES = frozenset({*STEP_KEYS[:-1], *TIME_KEYS, *TOTAL_KEYS})
_HINT = "a pattern is the line with names in braces where its numbers are: it {step} | loss {loss} | {}lr={lr}"


_Piece: TypeAlias = list[tuple[str, str | None]]
"""The part of a pattern between two {}, as (text, name after it)."""


class Pattern:
    """One pattern of the user, compiled."""

    def __init__(self, pattern: str) -> None:
        """Raises UsageError if the pattern is invalid, or could match lines without metrics."""
        self._source = pattern
        pieces: list[_Piece] = [[]]
        for text, name in self._parts():
            if name and not text and pieces[-1]:
                raise self._error(f"no text between {{{pieces[-1][-1][1]}}} and {{{name}}}")
            pieces[-1].append((text, name))
            if name == "":
                pieces.append([])
        self._pieces = [
            ([name for _, name in piece if name], _compiled(piece)) for piece in pieces if any(map(any, piece))
        ]
        self.names = tuple(name for names, _ in self._pieces for name in names)
        self._after = {
            name: text for piece in pieces for (_, name), (text, _) in pairwise([*piece, ("", None)]) if name
        }
        """The text of the pattern after each name."""
        words = [word for piece in pieces for text, _ in piece for word in text.split()]
        if len(set(self.names)) < len(self.names):
            raise self._error("a name occurs twice")
        if not any(name not in STEP_KEYS[:-1] and name not in TIME_KEYS for name in self.names):
            raise self._error("it names no metric")
        if not words:
            raise self._error("it has no text to recognise its lines by")
        self.mark = max(words, key=len)
        """Text that every matching line contains."""

    def numbers(self, text: str) -> dict[str, tuple[int, int]] | None:
        """Return name -> (start, end) of its number, or None if the line does not match."""
        places: dict[str, tuple[int, int]] = {}
        end = 0
        for names, expression in self._pieces:
            match = expression.search(text, end)
            if match is None:
                return None
            places.update((name, match.span(group)) for group, name in enumerate(names, 1))
            end = match.end()
        return places

    def quantity(self, name: str, value: float, printed: str) -> float | None:
        """Return the value with the factor and the unit that the pattern has after the name; None if it is unclear."""
        return quantity_before(name, value, printed, self._after[name])

    def _parts(self) -> _Piece:
        """Return (text, name after it): "" for {}, None at the end of the pattern."""
        try:
            parsed = list(Formatter().parse(self._source.strip()))
        except ValueError as error:
            raise self._error(str(error).lower()) from None
        parts: _Piece = []
        for text, name, form, conversion in parsed:
            if form or conversion:
                raise self._error("a name in braces cannot contain : or !")
            if parts and parts[-1][1] is None:  # an escaped brace ends a part
                text = parts.pop()[0] + text
            parts.append((text, name.strip() if name is not None else None))
        return parts

    def _error(self, reason: str) -> UsageError:
        return UsageError(f"console_patterns: {self._source!r}: {reason}", _HINT)


def _compiled(piece: _Piece) -> re.Pattern[str]:
    expression = ""
    for (text, name), (following, _) in pairwise([*piece, ("", None)]):
        if text:
            if not expression and _WORD.match(text):
                expression = r"(?<![\w/])(?<!\w[-.])"
            expression += _BLANKS.join(map(re.escape, re.split(r"\s+", text)))
        if name:
            stop = "" if following.startswith(".") else _FULL_STOP  # "x={x}." ends a sentence
            value = rf"['\"]?+{_NUMBER}{stop}['\"]?+|{_WRAPPED}"
            if name in TIME_KEYS:
                value = rf"{_MOMENT}|{value}"
            before = _BEFORE_NUMBER if expression else r"(?<![\w.+-])(?<!\d[,'])"
            after = "" if following else r"(?!\w|\.\d|[,']\d)"
            expression += f"{before}({value}){after}"
        elif text and _WORD.match(text[-1]):
            expression += r"(?!\w)"
    return re.compile(expression)


class PatternReader(LineReader):
    """Reads lines by the patterns of a user."""

    def __init__(self, sink: Sink, patterns: Sequence[Pattern]) -> None:
        super().__init__(sink)
        self._patterns = patterns
        self._counted: int | None = None
        """Number given as step to the last row without a step."""
        self.has_matched = [False] * len(patterns)
        """Whether each pattern has matched a line."""
        self.missed = [""] * len(patterns)
        """For each pattern the last line that contains its mark and that no pattern matches; "" without one."""

    def read(self, line: Line) -> bool:
        if len(line.text) > _MAX_LENGTH:
            return False
        marked = [index for index, pattern in enumerate(self._patterns) if pattern.mark in line.text]
        for index in marked:
            places = self._patterns[index].numbers(line.text)
            if places is not None:
                self.has_matched[index] = True
                return self._read_row(self._patterns[index], places, line)
        for index in marked:
            self.missed[index] = line.text
        return False

    def _read_row(self, pattern: Pattern, places: dict[str, tuple[int, int]], line: Line) -> bool:
        step: int | None = None
        values: dict[str, float] = {}
        for name, (start, end) in places.items():
            text = line.text[start:end]
            if name in TIME_KEYS and (time := _wall_time(text)) is not None:
                line.time = time
                continue
            printed = text.strip("'\"")
            value = number(printed)
            quantity = None if value is None else pattern.quantity(name, value, printed)
            if quantity is None:
                continue
            as_step = step_of(quantity) if name in STEP_KEYS[:-1] else None
            if as_step is not None and step is None:
                step = as_step[0]
            else:
                values[name] = quantity
        if step is None and (as_step := step_of(values.get("epoch"))) is not None:
            step = as_step[0]
            del values["epoch"]
        counted = step is None
        if step is None:
            step = self._next_step()
        for name in TOTAL_KEYS:
            if name in values and (total := step_of(values[name])) is not None:
                self.sink.facts.report_progress(step, total[0])
        row = [*values.items(), *((name, value) for name, value in _beside(line, places) if name not in values)]
        return self.sink.add_row(row, step, line, counted)

    def _next_step(self) -> int:
        """Return the step of a row that names none."""
        before = self.sink.step
        if before is not None and before != self._counted:
            return before
        self._counted = 0 if before is None else before + 1
        self.sink.numbered_count += 1
        return self._counted


def missed_remark(readers: Sequence[PatternReader]) -> str:
    """Return a note about the patterns that match no line although lines contain their longest word; "" for none.

    readers: those of the tasks of one log. Patterns whose word does not occur are probably meant for other logs.
    """
    notes = []
    for index in range(len(readers[0].missed) if readers else 0):
        missed = next((reader.missed[index] for reader in readers if reader.missed[index]), "")
        if missed and not any(reader.has_matched[index] for reader in readers):
            line = clean(missed.strip()[:_MAX_QUOTED])
            notes.append(f'pattern {index + 1} of console_patterns matched no line (the last one like it: "{line}")')
    return "; ".join(notes)


def _beside(line: Line, places: dict[str, tuple[int, int]]) -> list[Pair]:
    """Return the pairs of a line whose numbers the pattern does not name."""
    message = line.message
    begin = line.text.find(message)
    layout, cells = layout_of(" ".join(message.split()))
    spans = numbers_of(message)
    named = [(start - begin, end - begin) for start, end in places.values()]
    others = [
        column
        for column in layout.columns
        if not any(start < spans[column.last][1] and spans[column.first][0] < end for start, end in named)
    ]
    row = row_of(replace(layout, columns=others), cells)
    return [(name, value) for name, value in row if name.lower() not in _PLACES]


def _wall_time(text: str) -> float | None:
    """Return seconds since the epoch, or None if the text is not a time."""
    time = parse_timestamp(text)
    return seconds(number(text)) if isnan(time) else time


def pattern_family(patterns: Sequence[str]) -> Family:
    """Return the family of a user's patterns, tried before all others. Raises UsageError for an invalid pattern."""
    compiled = [Pattern(pattern) for pattern in patterns]
    marks = tuple(dict.fromkeys(pattern.mark for pattern in compiled))
    return Family("own", marks, lambda sink: PatternReader(sink, compiled), order=0)
