"""What is not read of a log, for `tuimon doctor` and remarks, and the pattern for the settings that would read it.

Numbers in lines that gave a row: the first such lines are cut at their numbers. A number is reported if it has a name
or a unit beside it and its value is not in the row, unless it is a step, a duration, a date, or has a name that no
metric has.

Lines that gave no metrics:

    zzz 12 qwx 0.52 / 3.1          40 lines like this: console_patterns = ["zzz {step} qwx {qwx} / {}"]

They are counted by their shape while nothing else of the log is understood. A shape counts if its numbers change and
one has a fraction. The step is the first whole number with the name of one, or that rises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isnan

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.errors import UsageError
from tuimon.formats.console._patterns import Pattern
from tuimon.formats.console.families import Line, Sink
from tuimon.formats.console.families._line import plain
from tuimon.formats.console.shapes.cutting import cut, number, places
from tuimon.formats.console.shapes.labels import FRACTION, is_name, label_before, step_rank, unit_after
from tuimon.formats.console.shapes.numbers import joined_numbers, message_of

_EXAMINED = 64
"""Number of lines that are examined in each log."""
_LEAST = 3
"""Minimum number of these lines in which a name must occur to be reported."""
_MAX_NAMED = 8
"""Number of names that are reported; further ones are counted."""
_MAX_LENGTH = 2000
_WHOLE = re.compile(r"\s?/\s?[\d.]{1,18}")
_EXPONENTS = {"k": 3, "K": 3, "M": 6, "G": 9, "B": 9, "T": 12}
_MAX_COUNTED = 2000
"""Number of lines that are counted."""
_LEAST_LINES = 5
"""Lines of one shape."""
_PROPOSED = 3
"""Shapes that are proposed."""
_MAX_SHAPED, _MAX_NUMBERS = 400, 24
_NO_NAME = re.compile(r"[^\w/@.-]+")
_UNIT = re.compile(r"[^\W\d]+|%")
"""Text directly after the last number."""


class UnreadParts:
    """The names whose numbers were not read in the first lines of a log."""

    def __init__(self) -> None:
        self._examined = 0
        self._lines = Counter[str]()
        self._examples: dict[str, str] = {}

    @property
    def is_done(self) -> bool:
        """Whether enough lines have been examined."""
        return self._examined >= _EXAMINED

    def examine(self, line: Line, sink: Sink) -> None:
        """Examine a line that gave the last row of the sink."""
        self._examined += 1
        known = {float(value) for _, value in sink.last_row} | {float(sink.step or 0)}
        has_nan = any(map(isnan, known))
        names = {name for name, _ in sink.last_row}
        parts = dict[str, str]()
        for part, name, printed, factor in _printed(line.message[:_MAX_LENGTH]):
            value = number(f"{printed}e{_EXPONENTS[factor]}" if factor else printed)
            if value in known or (has_nan and isnan(value)) or (factor and name in names):
                continue
            parts.setdefault(name, part)
        self._lines.update(parts.keys())
        self._examples = parts | self._examples

    def text(self, least_part: float = 0.0) -> str:
        """Return the most frequent names in at least this part of the lines with their first numbers, as "`tokens
        81,920` (in 60 of the first 64 lines)"; "" if there are none."""
        least = max(_LEAST, least_part * self._examined)
        names = [(name, count) for name, count in self._lines.most_common() if count >= least]
        examples = dict[int, list[str]]()
        for name, count in names[:_MAX_NAMED]:
            examples.setdefault(count, []).append(f"`{self._examples[name]}`")
        texts = [f"{', '.join(parts)} ({self._share(count)})" for count, parts in examples.items()]
        more = len(names) - _MAX_NAMED
        return "; ".join([*texts, *([f"{more} more"] if more > 0 else [])])

    def _share(self, count: int) -> str:
        """Return the number of lines as part of those that were examined."""
        part = "all" if count == self._examined else f"{count}"
        return f"in {part} of the first {self._examined} lines"


class UnreadShapes:
    """Counts the shapes of lines that gave no metrics."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[str, ...], _Lines] = {}
        self._left = _MAX_COUNTED

    def note(self, lines: Sequence[bytes]) -> None:
        """Count lines; only the first ones of a log are counted."""
        for raw in lines[: self._left]:
            if len(raw) > _MAX_SHAPED or not FRACTION.search(raw.decode("latin-1")):
                continue
            text = message_of(plain(raw))
            parts = cut(text)
            if not 2 <= len(parts) // 2 <= _MAX_NUMBERS:
                continue
            shape = self._shapes.setdefault(tuple(parts[::2]), _Lines(text, parts[1::2], []))
            shape.count, shape.last = shape.count + 1, parts[1::2]
            shape.changes = shape.changes or shape.numbers != parts[1::2]
        self._left -= min(self._left, len(lines))

    @property
    def text(self) -> str:
        """The most frequent shapes with the patterns that read them, in words; "" without one."""
        shapes = [shape for shape in self._shapes.values() if shape.count >= _LEAST_LINES and shape.changes]
        shapes.sort(key=lambda shape: -shape.count)
        proposed = [(shape, pattern) for shape in shapes if (pattern := pattern_of(shape.first, shape.last))][
            :_PROPOSED
        ]
        if not proposed:
            return ""
        lines = " and ".join(f'{shape.count} lines like "{shape.first}"' for shape, _ in proposed)
        quoted = [pattern.replace("\\", "\\\\").replace('"', '\\"') for _, pattern in proposed]
        patterns = ", ".join(f'"{pattern}"' for pattern in dict.fromkeys(quoted))
        return f"{lines} are not understood; console_patterns = [{patterns}] reads them"


def pattern_of(line: str, last: Sequence[str] = ()) -> str:
    """Return a pattern that reads lines like this one; "" if none is certain. last: the numbers of a later one."""
    parts = cut(line)
    pattern, names, has_step = "", list[str](), False
    for index, digits in enumerate(parts[1::2]):
        text = parts[2 * index]
        label = label_before(text[-80:])[1]
        name = _NO_NAME.sub("_", label).strip("_")
        rises = len(last) > index and last[index].isdecimal() and digits.isdecimal() and int(last[index]) > int(digits)
        if not has_step and digits.isdecimal() and (step_rank(label) or rises or (not index and not name)):
            name, has_step = "step", True
        elif name in names or name == "step" or not FRACTION.search(digits):
            name = ""
        names.append(name)
        pattern += text.replace("{", "{{").replace("}", "}}") + f"{{{name}}}"
    if unit := _UNIT.match(parts[-1]):
        pattern += unit[0]
    pattern = pattern.strip()
    try:
        return pattern if has_step and Pattern(pattern).numbers(line) else ""
    except UsageError:
        return ""


class _Lines(Struct):
    """The lines of one shape."""

    first: str
    numbers: list[str]
    last: list[str]
    """The numbers of the last line."""
    count: int = 0
    changes: bool = False


def _printed(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (part of the text, name or unit, digits, factor) of the numbers with a name or a unit beside them."""
    end = 0
    for found in joined_numbers(text, places(text))[0]:
        before, after, end = text[end : found.start], text[found.end : found.end + 40], found.end
        label = label_before(before)[1]
        factor, unit, length = unit_after(after)
        if found.role or step_rank(label) or before.strip() == "/":
            end += 0 if factor else length  # the unit of a total is no name of the next number
            continue
        if "/" in unit and after[:1].isspace() and is_name(label) and after[length : length + 2].strip().isdigit():
            unit, length = "", len(factor)  # "gnorm=0.8 tokens/s 18.6k"
        if not factor and after[:1] in _EXPONENTS and not after[1:2].isalnum():
            factor, length = after[:1], 1
        end = found.end + length
        if after[:1] == ":" or before.endswith("("):
            continue
        whole = _WHOLE.match(text, end)
        part = text[found.start : whole.end() if whole else end]
        printed = text[found.start : found.end].replace(",", found.joint)
        if label and is_name(label):
            yield before[before.rfind(label) :] + part, label, printed, factor
        elif unit and ("/" in unit or not label):
            yield part, unit, printed, factor
