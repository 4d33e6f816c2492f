"""Lines that one statement printed, read with one regular expression instead of by the families.

    2026-11-21 01:41:19,123 - INFO - step=7 loss=0.5123 lr=1e-05
    <timestamp>             - INFO - step=<integer> loss=<real> lr=<real>

A template is a line whose timestamps, integers and real numbers are slots of one lexical class each; a number of
another class (nan, a real for an integer) does not match, and its line is read by the families like any other. A
template is learned from a line with a row: the families read copies of it with other numbers in the slots, and it is
accepted only if the row, its step and its time are always the numbers of the same slots, whatever was read before.

A run of lines of one shape is read at once, except its last line, which leaves the families as if they had read all.
Lines of several shapes in turns are read one by one, each by the template of its shape, once it has given many rows.

On a busy machine this reads 23 MB/s of verl's lines instead of 6, 16 MB/s of lines with a timestamp and 16 pairs
instead of 5, 13 MB/s of lines with three pairs instead of 3, and 8 MB/s of those of four shapes in turns instead of 2
(`python -m tests.bench formats`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import nan

import numpy as np

from tuimon import lazy_re as re
from tuimon.formats.console._marks import NOTED_MARKS, marks_of
from tuimon.formats.console._tasks import Task
from tuimon.formats.console.families import Family, Line, Pair, Sink, parse_timestamp
from tuimon.model.points import Points

_MAX_ATTEMPTS, _MAX_ATTEMPTS_ALIKE, _MAX_TEMPLATES = 32, 4, 16
_MAX_SHAPES = 256
_MAX_LINE = 1 << 13
"""Bytes of a line from which a template is learned."""
_WORTH = 16
"""Number of lines like the first one that must follow for a template to be learned."""
_SEEN = 24
"""Rows of one shape, between lines of other shapes, after which a template is learned."""
_TIME = (
    rb"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,6}(?!\d)|(?![.,]\d))(?:Z|[+-]\d\d:?\d\d|(?!Z|[+-]\d\d:?\d\d))"
)
_REAL = rb"-?(?:\d{1,40}+\.\d{1,40}+(?:[eE][+-]?\d{1,3}+)?+|\d{1,40}+[eE][+-]?\d{1,3}+)"
_SLOT = re.compile(
    rb"(?<!\d)(" + _TIME + rb")|(?<![\w.@/])(" + _REAL + rb")(?![\d.])|(?<![\w.@/])(?<!of )(\d{1,15})(?![\d.])"
)
"""A timestamp, a real number, an integer. Numbers within names and totals ("3/100") are not slots."""
_TIME_WITHIN = 50
"""Bytes within which a timestamp lies."""
_NOT_ALIKE = re.compile(
    rb"[^\t\x20-\x7e]|%\||\[repeated |\.py:\d+\s*$|\A\s*\{|\A {0,9}(?:P\d+ +)?\d+: |\A\[\w*[A-Za-z][\w.@-]*\d\]|"
    rb"<std|\A\[pod/|\A[A-Za-z][\w.-]*[-_]\d+ *\||\\"
)
"""Lines that are changed before they are read, or that may have a label."""
_COMPOUND = re.compile(rb"\d,\d|\d[-/]\d+[-/]\d")
"""Thousands, and dates that are not read as timestamps."""
_BESIDE, _BESIDE_AFTER = re.compile(rb"\d[:.-]\Z"), re.compile(rb"[:.-]\d")
_NUMERIC = b"0123456789+-.eE"
_PROBES: tuple[tuple[Callable[[int], int], Callable[[int], str]], ...] = (
    (lambda index: 700_001 + 7 * index, lambda index: f"{index + 1}.{index + 25}"),
    (lambda index: 0, lambda index: "0.0"),
    (lambda index: 10**14 + index, lambda index: f"{index + 1}e-05"),
    (lambda index: 1, lambda index: f"-0.{index + 11}"),
    (lambda index: 12 + index, lambda index: f"-{index + 1}.5E+07"),
    (lambda index: 345_678, lambda index: f"0.00{1_234_567_890_123_456 + index}"),
)
"""(integer, real number) by index of the slot. Only the first distinguishes the slots."""


class _Template:
    """The expression for the lines of one statement, and which slots are the step, the time and the values."""

    def __init__(
        self, expression: bytes, step: int, time: int | None, row: Sequence[tuple[str, int]], family: int
    ) -> None:
        """step, time: groups of the expression. row: (name, group) of each metric. family: index of its family."""
        self.family = family
        self.line = re.compile(expression)
        self._lines = re.compile(expression + rb"\n")
        self.names = [name for name, _ in row]
        self._step = step
        self._time = time
        self._values = [group for _, group in row]

    def reads(self, raw: bytes, step: int | None, row: Sequence[Pair]) -> bool:
        """Return True if the line matches and has this step and row."""
        match = self.line.fullmatch(raw)
        return match is not None and int(match[self._step]) == step and self._row(match) == list(row)

    def _row(self, match: re.Match[bytes]) -> list[Pair]:
        return [(name, float(match[group])) for name, group in zip(self.names, self._values, strict=True)]

    def add(self, raw: bytes, offset: int, sink: Sink) -> bool:
        """Add the points of a line if it matches."""
        match = self.line.fullmatch(raw)
        if match is None:
            return False
        step, row = int(match[self._step]), self._row(match)
        time = nan if self._time is None else parse_timestamp(match[self._time].decode())
        for name, value in row:
            sink.points.add(name, step, value, time)
        sink.step, sink.last_row, sink.last_offset, sink.interrupted = step, row, offset, False
        sink.row_count += 1
        return True

    def read(self, block: bytes, start: int, sink: Sink) -> int:
        """Add the points of the lines that match from `start` on, except the last of them; return where it begins."""
        matches = list(iter(self._lines.scanner(block, start).match, None))  # type: ignore[attr-defined]
        if len(matches) < 2:
            return start
        end: int = matches.pop().start()
        columns = list(zip(*[match.groups() for match in matches], strict=True))
        times = np.full(len(matches), nan) if self._time is None else np.array(_times(columns[self._time - 1]))
        values = np.empty((len(matches), len(self.names)))
        for number, group in enumerate(self._values):
            values[:, number] = list(map(float, columns[group - 1]))
        steps = np.array(list(map(int, columns[self._step - 1])), np.int64)
        sink.points.add_rows(self.names, steps, values, times)
        sink.row_count += len(matches)
        return end


class UniformLines:
    """The templates of one log."""

    def __init__(self, known: tuple[Family, ...]) -> None:
        """known: the families in the order in which they are tried."""
        self._families = known
        self._templates: list[_Template] = []
        self._attempts = Counter[bytes]()
        """Number of attempts to learn a template, by the shape of the line: all of it but the numbers."""
        self._seen = Counter[bytes]()
        """Number of rows by shape, of lines between those of other shapes."""
        self._by_shape: dict[bytes, _Template] = {}

    def read_line(self, raw: bytes, offset: int, sink: Sink) -> int | None:
        """Add the row of a line whose shape is known and return the index of its family; None for other lines."""
        template = self._by_shape.get(raw.translate(None, _NUMERIC))
        if template is None or not sink.fallback_names.isdisjoint(template.names):
            return None
        return template.family if template.add(raw, offset, sink) else None

    def read(self, raw: bytes, block: bytes, start: int, sink: Sink) -> int:
        """Read the lines of `block` from `start` on that are like `raw`, except the last; return where the rest begins.

        raw: the line before them, of which the row has just been added to the sink.
        """
        row = sink.last_row
        template = next((known for known in self._templates if known.reads(raw, sink.step, row)), None)
        if template is None:
            template = self._learned(raw, block, start)
            if template is None or not template.reads(raw, sink.step, row):
                return start
        shape = raw.translate(None, _NUMERIC)
        if self._seen[shape] >= _SEEN and all(map(sink.points.has, template.names)):
            self._by_shape[shape] = template
        if not sink.fallback_names.isdisjoint(template.names):
            return start
        return template.read(block, start, sink)

    def _learned(self, raw: bytes, block: bytes, start: int) -> _Template | None:
        if self._attempts.total() >= _MAX_ATTEMPTS or len(raw) > _MAX_LINE:
            return None
        shape = raw.translate(None, _NUMERIC)
        self._seen[shape] += len(self._seen) < _MAX_SHAPES or shape in self._seen
        is_worth = len(block) - start >= _WORTH * len(raw)
        follows = is_worth and block[start : block.find(b"\n", start)].translate(None, _NUMERIC) == shape
        if self._attempts[shape] >= _MAX_ATTEMPTS_ALIKE or not (follows or self._seen[shape] >= _SEEN):
            return None
        self._attempts[shape] += 1
        template = _template_of(raw, self._families)
        if template and len(self._templates) < _MAX_TEMPLATES:
            self._templates.append(template)
        return template


def _template_of(raw: bytes, known: tuple[Family, ...]) -> _Template | None:
    """Return the template of a line, or None if its row depends on more than the numbers in its slots."""
    if _NOT_ALIKE.search(raw) or any(mark in raw for mark in NOTED_MARKS):
        return None
    slots = list(_SLOT.finditer(raw))
    times = [index for index, slot in enumerate(slots) if slot[1]]
    if len(times) > 1 or (times and slots[times[0]].end() > _TIME_WITHIN):
        return None
    if _COMPOUND.search(_SLOT.sub(lambda slot: b"" if slot[1] else slot[0], raw)):
        return None
    ends = [0, *(slot.end() for slot in slots)]
    pieces = [raw[end:start] for end, start in zip(ends, [*(slot.start() for slot in slots), len(raw)], strict=True)]
    expression = _woven([*map(re.escape, pieces)], [b"(" + _class_of(slot) + b")" for slot in slots])
    task = Task(known, Sink())
    step, row, family = None, list[tuple[str, int]](), 0
    for number, (integer, real) in enumerate(_PROBES):
        texts = [_filled(slot, number, index, integer(index), real(index)) for index, slot in enumerate(slots)]
        line = _woven(pieces, texts)
        if not re.fullmatch(expression, line):
            return None
        read = _read(line, task, may_report=not number)
        if read is None:
            return None
        if not number:
            numbers = {float(text): index for index, text in enumerate(texts) if index not in times}
            distinct = len(numbers) == len(texts) - len(times)
            if not distinct or read[0] not in numbers or any(value not in numbers for _, value in read[1]):
                return None
            step, row = numbers[read[0]], [(name, numbers[value]) for name, value in read[1]]
            family = read[3]
            if slots[step][3] is None or len(dict(row)) < len(row):
                return None
        assert step is not None
        time = parse_timestamp(texts[times[0]].decode()) if times else nan
        expected = int(texts[step]), [(name, float(texts[index])) for name, index in row]
        if read[:2] != expected or repr(read[2]) != repr(time):
            return None
    assert step is not None
    groups = [(name, index + 1) for name, index in row]
    return _Template(expression, step + 1, times[0] + 1 if times else None, groups, family)


def _class_of(slot: re.Match[bytes]) -> bytes:
    if slot[1]:
        return _TIME
    if slot[2]:
        return _REAL
    text = slot.string
    beside = _BESIDE.search(text[: slot.start()][-2:]) or _BESIDE_AFTER.match(text[slot.end() : slot.end() + 2])
    return b"\\d{%d}" % len(slot[0]) if beside else rb"\d{1,15}+"


def _filled(slot: re.Match[bytes], probe: int, index: int, integer: int, real: str) -> bytes:
    """Return another text of the class of a slot."""
    if slot[1]:
        return b"20%02d" % (10 + probe) + slot[0][4:]
    if slot[2]:
        return real.encode()
    if _class_of(slot).endswith(b"+"):
        return b"%d" % integer
    width = len(slot[0])
    return (b"%d" % (10**width + (31 + index + 7 * probe) % 10**width))[1:]


def _woven(pieces: Sequence[bytes], texts: Sequence[bytes]) -> bytes:
    """Return the pieces with the texts between them."""
    return b"".join(part for pair in zip_longest(pieces, texts, fillvalue=b"") for part in pair)


def _read(raw: bytes, task: Task, may_report: bool) -> tuple[int, list[Pair], float, int] | None:
    """Return (step, row, time, index of the family) of a line; None unless one family takes it and reads one row.

    may_report: whether it may report a total, which is then the same in all lines."""
    sink, line = task.sink, Line(raw)
    sink.take()
    for index, marks in marks_of(task.families):
        if any(mark in raw for mark in marks):
            rows, reader = sink.row_count, task.reader(index)
            used = reader.read(line)
            if reader.lines_awaited or sink.held_count or sink.fallback_names or sink.row_count - rows != int(used):
                return None
            if used:
                items = sink.take()
                points = [item for item in items if isinstance(item, Points)]
                whole = [len(part) for part in points] == [len(sink.last_row)]
                whole = whole and (len(items) == 1 or may_report)
                if not whole or not reader.reads_alone(line) or sink.step is None:
                    return None
                return sink.step, list(sink.last_row), line.time, index
    return None


def _times(texts: Sequence[bytes]) -> list[float]:
    """Return parse_timestamp() of timestamps, calling it once for each minute of those without a zone."""
    minutes: dict[bytes, float] = {}
    times = []
    for text in texts:
        minute, second = text[:17], text[17:19]
        if len(text) not in (19, 23) or not (text[20:] or b"0").isdigit() or second >= b"60":
            times.append(parse_timestamp(text.decode()))
            continue
        if minute not in minutes:
            minutes[minute] = parse_timestamp((minute + b"00").decode())
        times.append(minutes[minute] + int(second) + int(text[20:].ljust(6, b"0")) / 1e6)
    return times
