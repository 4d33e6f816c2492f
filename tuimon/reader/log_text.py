"""The text of a console log for a log view, from the file itself: of any size, growing, in bounded time and memory.

Lines are addressed by the byte at which they begin, as `less` does it, so the end of a huge file is there at once.
Nothing is kept but how many lines each block of the file has, once `index` has counted them. What a line shows is said
in formats/_console/_shown.py; the step of a line is found by reading the lines before it as the decoder does.
A line of more than MAX_RAW bytes is shown as several.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from math import isnan

from msgspec import Struct

from tuimon.formats.console import ERROR, LineSteps, level, shown, stamp
from tuimon.sources.files import open_regular

MAX_RAW = 1 << 20
"""Bytes of one line; progress bars that are redrawn for hours make lines without end."""
BUDGET = 64 << 20
"""Bytes that one search looks through, unless it is told otherwise."""
_WINDOW = 1 << 16
_BLOCK = 1 << 16
"""Bytes that share an entry of the index of line numbers."""
_STEP_WINDOWS = (1 << 15, 1 << 17, 1 << 20)
"""How far back a line's step is looked for, in bytes."""
_STEP_REACH = 1 << 20
"""How far on a row of metrics is looked for."""
_HEAD = 256


class LogLine(Struct, frozen=True):
    """One line as it is shown. The text is foreign: it has to pass text.clean."""

    offset: int
    """Of its first byte in the file."""
    end: int
    """Of the line behind it."""
    text: str
    level: str
    """error | warning | ""."""
    time: float | None
    """Seconds since the epoch, where the line begins with a time stamp."""


class Found(Struct, frozen=True):
    """How a search ended."""

    line: LogLine | None
    reached: int
    """Where to go on, with the same direction."""
    done: bool
    """The end of the file (backwards its beginning) was reached, or a line was found."""


class LogText:
    """The lines of the file at `path`. A file that cannot be read is an empty one, with the reason in `message`."""

    def __init__(self, path: str, console_patterns: Sequence[str] = ()) -> None:
        """console_patterns: of a user's own lines, as the reader of the log has them."""
        self.path = path
        self.size = 0
        """Bytes, when last looked at."""
        self.message = ""
        self.generation = 0
        """Grows when the file is another one, or was truncated: offsets of before mean nothing then."""
        self._patterns = tuple(console_patterns)
        self._head = b""
        self._counts = [0]
        """Lines that end before each block that has been counted."""
        self.refresh()

    def refresh(self) -> bool:
        """Look whether the file has changed."""
        before = self.size, self.generation
        try:
            descriptor, status = open_regular(self.path)
        except OSError as error:
            self.message = error.strerror or type(error).__name__
            return False
        try:
            head = os.pread(descriptor, _HEAD, 0)
        finally:
            os.close(descriptor)
        self.message = ""
        if status.st_size < self.size or not head.startswith(self._head):
            self.generation += 1
            self._counts = [0]
        self.size, self._head = status.st_size, head
        return (self.size, self.generation) != before

    # ------------------------------------------------------------------ lines

    def lines(self, offset: int, count: int) -> list[LogLine]:
        """Up to `count` lines from the one on, in which the byte at `offset` lies. Fewer at the end of the file, whose
        last line need not have ended."""
        found: list[LogLine] = []
        at = self._start_of(offset) if offset < self.size else self.size
        while len(found) < count and (data := self._whole_lines(at, _WINDOW)):
            for start, raw in _split(data, at):
                self._add(found, start, raw)
                if len(found) == count:
                    break
            at += len(data)
        return found

    def before(self, offset: int, count: int) -> list[LogLine]:
        """The last `count` lines before the one in which the byte at `offset` lies (the last of all: offset = size)."""
        found: list[LogLine] = []
        end = self._start_of(offset) if offset < self.size else self.size
        while end > 0 and len(found) < count:
            start = self._start_of(max(0, end - _WINDOW))
            here: list[LogLine] = []
            for at, raw in _split(self._whole_lines(start, end - start), start):
                self._add(here, at, raw)
            found = here + found
            end = start
        return found[-count:] if count else []

    def _add(self, found: list[LogLine], offset: int, raw: bytes) -> None:
        text = shown(raw.removesuffix(b"\n"))
        if text is not None:
            time = stamp(text)
            found.append(LogLine(offset, offset + len(raw), text, level(text), None if isnan(time) else time))

    def _whole_lines(self, start: int, least: int) -> bytes:
        """The lines that begin in the `least` bytes from a line's start on, whole unless too long."""
        data = self._read(start, least)
        if data and not data.endswith(b"\n") and start + len(data) < self.size:
            more = self._read(start + len(data), MAX_RAW)
            data += more[: more.find(b"\n") + 1 or len(more)]
        return data

    def _end_of(self, start: int) -> int:
        """Where the line behind the one that begins at `start` begins."""
        return start + len(next(_split(self._whole_lines(start, 1), start), (start, b""))[1])

    def _start_of(self, offset: int) -> int:
        """Where the line begins in which the byte at `offset` lies; where it is too long, somewhere before."""
        offset = min(max(0, offset), self.size)
        reach = 0
        for window in (_WINDOW, MAX_RAW):
            reach = max(0, offset - window)
            found = self._read(reach, offset - reach).rfind(b"\n")
            if found >= 0:
                return reach + found + 1
            if not reach:
                break
        return reach

    def _read(self, start: int, count: int) -> bytes:
        try:
            descriptor, _ = open_regular(self.path)
        except OSError as error:
            self.message = error.strerror or type(error).__name__
            return b""
        try:
            return os.pread(descriptor, max(0, min(count, self.size - start)), start)
        finally:
            os.close(descriptor)

    # ------------------------------------------------------------------ searching

    def search(self, text: str, offset: int, backwards: bool = False, budget: int = BUDGET) -> Found:
        """The next line from `offset` on (backwards: the last one before it) that holds the text; case counts if the
        text has a capital. Looks through at most about `budget` bytes; go on at `reached` unless it is `done`."""
        exact = text != text.lower()

        def holds(line: str) -> bool:
            return text in (line if exact else line.lower())

        wanted = re.compile(re.escape(text.encode()), 0 if exact else re.IGNORECASE)
        return self._search(wanted, holds, offset, backwards, budget)

    def next_error(self, offset: int, backwards: bool = False, budget: int = BUDGET) -> Found:
        """The same for a line that tells of an error."""
        return self._search(_ERROR, lambda line: level(line) == "error", offset, backwards, budget)

    def _search(
        self, wanted: re.Pattern[bytes], holds: Callable[[str], bool], offset: int, backwards: bool, budget: int
    ) -> Found:
        at = self._start_of(offset) if offset < self.size else self.size
        if not backwards and at < offset:  # within a line: the next one is meant
            at = self._end_of(at)
        window = _WINDOW
        while budget > 0 and (at > 0 if backwards else at < self.size):
            start = self._start_of(max(0, at - window)) if backwards else at
            data = self._whole_lines(start, at - start if backwards else window)
            if not data:
                break
            if wanted.search(data):
                pieces = list(_split(data, start))
                for where, raw in reversed(pieces) if backwards else pieces:
                    found: list[LogLine] = []
                    if wanted.search(raw):
                        self._add(found, where, raw)
                    if found and holds(found[0].text):
                        return Found(found[0], where if backwards else found[0].end, True)
            budget -= len(data)
            at = start if backwards else start + len(data)
            window = min(4 * window, MAX_RAW)
        return Found(None, at, at <= 0 if backwards else at >= self.size)

    # ------------------------------------------------------------------ steps

    def step_of(self, offset: int) -> int | None:
        """The training step that the line at `offset` belongs to: that of the last row of metrics up to it; None where
        there is none near, or where the log counts nothing."""
        end = self._end_of(self._start_of(offset))
        for window in _STEP_WINDOWS:
            start = self._start_of(max(0, end - window))
            steps = LineSteps(self._patterns)
            steps.feed(self._read(start, end - start))
            if steps.marks:
                return steps.marks[-1][1]
            if not start:
                break
        return None

    def offset_of(self, step: int) -> int | None:
        """Where the line of this step begins, or of the last step before it; None where the log tells no step. Steps
        are taken to ascend: of a run that was resumed within one log, one of its attempts is found."""
        low, high = 0, self.size
        while high - low > _STEP_WINDOWS[0]:
            middle = self._start_of((low + high) // 2)
            marks = self._marks_from(middle)
            if middle <= low:
                break
            if marks and marks[0][1] <= step:
                low = middle
            else:
                high = middle
        found: tuple[int, int] | None = None
        for at, marked in self._marks_from(low, 2 * _STEP_WINDOWS[0]):
            if marked > step and found is not None:
                break
            if found is None or found[1] < marked <= step:
                found = at, marked
        return found[0] if found else None

    def _marks_from(self, start: int, least: int = 1) -> list[tuple[int, int]]:
        """(offset, step) of rows in the `least` bytes from a line's start on, and of the next rows behind them."""
        steps = LineSteps(self._patterns)
        for at in range(start, start + _STEP_REACH, _WINDOW // 4):
            data = self._read(at, _WINDOW // 4)
            steps.feed(data)
            if not data or (steps.marks and at + len(data) >= start + least):
                break
        return [(start + at, step) for at, step in steps.marks]

    # ------------------------------------------------------------------ numbers of lines

    def index(self, budget: int = BUDGET) -> bool:
        """Count lines in up to `budget` more bytes; True once all whole blocks are counted."""
        while budget > 0:
            start = (len(self._counts) - 1) * _BLOCK
            data = self._read(start, min(budget, 64 * _BLOCK) // _BLOCK * _BLOCK or _BLOCK)
            blocks = len(data) // _BLOCK
            if not blocks:
                return True
            for block in range(blocks):
                lines = data.count(b"\n", block * _BLOCK, (block + 1) * _BLOCK)
                self._counts.append(self._counts[-1] + lines)
            budget -= blocks * _BLOCK
        return self.size - (len(self._counts) - 1) * _BLOCK < _BLOCK

    def number_of(self, offset: int) -> int | None:
        """How many lines end before the one in which the byte at `offset` lies; None until `index` has come so far."""
        start = self._start_of(offset)
        block = start // _BLOCK
        if block >= len(self._counts):
            return None
        return self._counts[block] + self._read(block * _BLOCK, start - block * _BLOCK).count(b"\n")

    def offset_of_line(self, number: int) -> int | None:
        """Where line `number` (from 0) begins; None where it has not been counted, or there is none."""
        block = bisect_right(self._counts, max(0, number) - 1) - 1 if number > 0 else 0
        missing = max(0, number) - self._counts[block]
        data = self._read(block * _BLOCK, _BLOCK)
        at = 0
        for _ in range(missing):
            at = data.find(b"\n", at) + 1
            if not at:
                return None
        return block * _BLOCK + at


def _split(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """(offset, bytes with their newline) of the lines in the bytes that begin at offset `start`."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at, at + MAX_RAW) + 1 or min(at + MAX_RAW, len(data))
        yield start + at, data[at:end]
        at = end


_ERROR = re.compile(ERROR.encode(), re.MULTILINE)
