"""Lines of a user's own trainer, by patterns from the settings (console_patterns): the line, a name where a number is.

    it {step} | loss {loss} (avg {train/loss_avg}) | lr {lr}
    [{time}] epoch {epoch}{}acc = {val/acc}%

    {name}      a number (0.5, 1e-06, nan, -inf, np.float64(0.5), tensor(0.5), '0.5'): the metric of that name
    {step}      the step, as any name of STEP_KEYS; {epoch} is the step where there is no other
    {time}      the wall time, as any name of TIME_KEYS: a date and time, or seconds since the epoch
    {}          any text, up to the next piece of the pattern
    {{ and }}   a brace; blanks match any blanks; all other text is as in the line

The pattern may begin anywhere in the line, but not within a word. The first pattern that matches reads the line. A line
without a step has the step of the row before it; in a log without any step its number, from 0.

These are no regular expressions, for those of Python backtrack: one careless pattern and one hostile line hold the
reader for hours. What a pattern becomes here never goes back: pieces between {} are searched for one after the other,
and nothing within a piece can match in two ways, so time is linear in the line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan
from string import Formatter

from tuimon.errors import UsageError
from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line, stamp
from tuimon.formats._console._values import number
from tuimon.formats._rows import STEP_KEYS, TIME_KEYS, TOTAL_KEYS, seconds, step_of

_MAX_LENGTH = 1 << 16
"""Characters of a line that is looked at."""
_NUMBER = r"[+-]?+(?:(?:\d{1,40}+(?:\.\d{1,40}+)?+|\.\d{1,40}+)(?:[eE][+-]?\d{1,6}+)?+|(?i:nan|inf(?:inity)?+))"
_FULL_STOP = r"(?:(?<=\d)\.(?!\d))?+"
"""Of "1.", as numpy prints it."""
_WRAPPED = rf"(?:(?:np|numpy|torch)\.)?+\w{{1,20}}+\(\[?+{_NUMBER}\.?+\]?+(?:,[^()\[\]]{{0,40}}+)?+\)"
_MOMENT = r"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9}+)?+(?:Z|[+-]\d\d:?+\d\d)?+"
_BLANKS = r"\s{1,200}+"
_BEFORE_NUMBER = r"\s{0,200}+"
_WORD = re.compile(r"\w")
_HINT = "a pattern is the line with names in braces where its numbers are: it {step} | loss {loss} | {}lr={lr}"


class _Piece:
    """The part of a pattern between two {}: text and numbers, one right behind the other."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.expression = ""
        self._text = ""
        """What the expression ends with, if that is text."""

    def add_text(self, text: str) -> None:
        if not self.expression and _WORD.match(text):
            self.expression = r"(?<![\w/])(?<!\w[-.])"
        self.expression += _BLANKS.join(map(re.escape, re.split(r"\s+", text)))
        self._text = text

    def add_number(self, name: str, following: str) -> None:
        """following: the text behind it; a point there ends the sentence, not the number."""
        stop = "" if following.startswith(".") else _FULL_STOP
        value = rf"['\"]?+{_NUMBER}{stop}['\"]?+|{_WRAPPED}"
        if name in TIME_KEYS:
            value = rf"{_MOMENT}|{value}"
        before = _BEFORE_NUMBER if self.expression else r"(?<![\w.+-])"
        behind = "" if following else r"(?!\w|\.\d|,\d{3}(?!\d))"
        self.expression += f"{before}({value}){behind}"
        self.names.append(name)
        self._text = ""

    @property
    def ends_with_number(self) -> bool:
        return bool(self.names) and not self._text

    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.expression + (r"(?!\w)" if self._text and _WORD.match(self._text[-1]) else ""))


class Pattern:
    """One pattern. `numbers(text)` gives what stands at its names."""

    def __init__(self, pattern: str) -> None:
        """Raises UsageError for what is no pattern, or can match what is no line of metrics."""
        self._said = pattern
        pieces = [_Piece()]
        words: list[str] = []
        parts = self._parts()
        for index, (text, name) in enumerate(parts):
            if text:
                pieces[-1].add_text(text)
                words += text.split()
            if name == "":
                pieces.append(_Piece())
            elif name is not None:
                if pieces[-1].ends_with_number:
                    raise self._wrong(f"nothing tells where {{{pieces[-1].names[-1]}}} ends and {{{name}}} begins")
                pieces[-1].add_number(name, parts[index + 1][0] if index + 1 < len(parts) else "")
        self._pieces = [(piece.names, piece.compiled()) for piece in pieces if piece.expression]
        self.names = tuple(name for names, _ in self._pieces for name in names)
        if len(set(self.names)) < len(self.names):
            raise self._wrong("a name is there twice")
        if not any(name not in STEP_KEYS[:-1] and name not in TIME_KEYS for name in self.names):
            raise self._wrong("it names no metric")
        if not words:
            raise self._wrong("it has no text by which its lines are known")
        self.mark = max(words, key=len)
        """A text that each line has which matches."""

    def numbers(self, text: str) -> dict[str, str] | None:
        """Name -> what is printed there; None where the line is another."""
        found: dict[str, str] = {}
        at = 0
        for names, expression in self._pieces:
            match = expression.search(text, at)
            if match is None:
                return None
            found.update(zip(names, match.groups(), strict=True))
            at = match.end()
        return found

    def _parts(self) -> list[tuple[str, str | None]]:
        """(text, name behind it): "" for {}, None where the pattern ends."""
        try:
            parsed = list(Formatter().parse(self._said.strip()))
        except ValueError as error:
            raise self._wrong(str(error).lower()) from None
        parts: list[tuple[str, str | None]] = []
        for text, name, form, conversion in parsed:
            if form or conversion:
                raise self._wrong("a name in braces holds no : and no !")
            if parts and parts[-1][1] is None:  # an escaped brace ends a part
                text = parts.pop()[0] + text
            parts.append((text, name.strip() if name is not None else None))
        return parts

    def _wrong(self, why: str) -> UsageError:
        return UsageError(f"console_patterns: {self._said!r}: {why}", _HINT)


class OwnReader(LineReader):
    """Reads lines by the patterns of a user."""

    def __init__(self, sink: Sink, patterns: Sequence[Pattern]) -> None:
        super().__init__(sink)
        self._patterns = patterns
        self._counted: int | None = None
        """The number that the last row without a step has as its step."""

    def read(self, line: Line) -> bool:
        if len(line.text) > _MAX_LENGTH:
            return False
        for pattern in self._patterns:
            printed = pattern.numbers(line.text) if pattern.mark in line.text else None
            if printed is not None:
                return self._row(printed, line)
        return False

    def _row(self, printed: dict[str, str], line: Line) -> bool:
        step: int | None = None
        values: dict[str, float] = {}
        for name, text in printed.items():
            if name in TIME_KEYS and (time := _moment(text)) is not None:
                line.time = time
                continue
            value = number(text.strip("'\""))
            if value is None:
                continue
            as_step = step_of(value) if name in STEP_KEYS[:-1] else None
            if as_step is not None and step is None:
                step = as_step[0]
            else:
                values[name] = value
        if step is None and (as_step := step_of(values.get("epoch"))) is not None:
            step = as_step[0]
            del values["epoch"]
        counted = step is None
        if step is None:
            step = self._next()
        for name in TOTAL_KEYS:
            if name in values and (total := step_of(values[name])) is not None:
                self.sink.progress(step, total[0])
        return self.sink.row(values.items(), step, line, counted)

    def _next(self) -> int:
        """The step of a row that names none."""
        before = self.sink.step
        if before is not None and before != self._counted:
            return before
        self._counted = 0 if before is None else before + 1
        return self._counted


def _moment(text: str) -> float | None:
    """Seconds since the epoch; None for what is no time stamp."""
    time = stamp(text)
    value = number(text) if isnan(time) else None
    return time if not isnan(time) else seconds(value)


def own_family(patterns: Sequence[str]) -> Family:
    """The family of a user's patterns, asked before all others. Raises UsageError for what is no pattern."""
    known = [Pattern(pattern) for pattern in patterns]
    marks = tuple(dict.fromkeys(pattern.mark for pattern in known))
    return Family("own", marks, lambda sink: OwnReader(sink, known), order=0)
