"""Lines that gave no metrics, for `tuimon doctor` and remarks, and the pattern for the settings that would read them.

    zzz 12 qwx 0.52 / 3.1          40 lines like this: console_patterns = ["zzz {step} qwx {qwx} / {}"]

They are counted by their shape while nothing of the log is understood. A shape counts if its numbers change and one has
a fraction. The step is the first whole number with the name of one, or that rises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.errors import UsageError
from tuimon.formats.console._patterns import Pattern
from tuimon.formats.console.families._line import plain
from tuimon.formats.console.shapes.cutting import cut
from tuimon.formats.console.shapes.labels import FRACTION, label_before, step_rank
from tuimon.formats.console.shapes.numbers import message_of
from tuimon.text import clean

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
    def proposed_patterns(self) -> dict[str, str]:
        """Example of the lines by the pattern that would read them: those of the most frequent shapes."""
        shapes = [shape for shape in self._shapes.values() if shape.count >= _LEAST_LINES and shape.changes]
        shapes.sort(key=lambda shape: -shape.count)
        examples = ((pattern_of(shape.first, shape.last), shape) for shape in shapes)
        return {
            pattern: f'{shape.count} lines like "{shape.first}"'
            for pattern, shape in islice((pair for pair in examples if pair[0]), _PROPOSED)
        }


def proposal_remark(examples: Mapping[str, str]) -> str:
    """Return the remark on lines that are not understood. examples: see `UnreadShapes.proposed_patterns`."""
    quoted = ", ".join(json.dumps(pattern, ensure_ascii=False) for pattern in examples)
    return f"{' and '.join(examples.values())} are not understood; console_patterns = [{quoted}] reads them"


def pattern_of(line: str, last: Sequence[str] = ()) -> str:
    """Return a cleaned pattern that reads lines like this one; "" if none is certain. last: numbers of a later one."""
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
    pattern = clean(" ".join(pattern.split()))  # a blank matches any blanks, such as a tab
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
