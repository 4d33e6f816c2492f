"""Text of a console log for the log view, read from the file itself in bounded time and memory, whatever its size.

Lines are addressed by the byte offset at which they begin, as in `less`, so the end of a huge file is shown at once.
Nothing is cached. The displayed text of a line is determined by formats/console, and the step of a line by decoding the
lines before it. A line of more than MAX_RAW bytes is displayed as several.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isnan

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.formats.console.text import LineSteps, display_line, parse_timestamp
from tuimon.model.severity import ERROR_PATTERN, PROBLEM_WORDS, severity
from tuimon.reader.encoding import is_marked_utf16, utf8
from tuimon.redact import redacted_text
from tuimon.sources.files import opened

MAX_RAW = 1 << 20
"""Maximum number of bytes in a line; a progress bar that is redrawn for hours is one endless line."""
BUDGET = 64 << 20
"""Default number of bytes that one search looks through."""
_WINDOW = 1 << 16
"""Number of bytes read at a time."""
_STEP_WINDOWS = (1 << 15, 1 << 17, 1 << 20)
"""Bytes before a line in which its step is looked for, in turn."""
_BAR = 1024
"""Bytes after a row of metrics in which the progress bar that gives its step is looked for."""
_STEP_REACH = 1 << 20
"""Bytes after an offset in which a row of metrics is looked for."""
_HEAD = 256
"""Bytes at the beginning of the file that identify it."""
MAX_UTF16 = 16 << 20
"""Maximum size (bytes) of a file in UTF-16 that is converted. It is held in memory as UTF-8; offsets are those of the
UTF-8 text."""

_SUFFIXES = (".log", ".out", ".err", ".txt")
"""Suffixes of text files that may say why a run ended although they contain no metric."""
_MOST_FILES = 50


class LogLine(Struct, frozen=True):
    """A line as displayed, without secrets. The text comes from the file and must pass text.clean."""

    offset: int
    """Offset of its first byte in the file."""
    end: int
    """Offset of the next line."""
    text: str
    level: str
    """error | warning | ""."""
    time: float | None
    """Time stamp at the beginning of the line (s since the epoch), if there is one."""


class SearchResult(Struct, frozen=True):
    """Result of a search."""

    line: LogLine | None
    """The line that matches, or None."""
    reached: int
    """Offset at which to continue in the same direction."""
    done: bool
    """A line matches, or the end of the file (backwards: its beginning) was reached."""


class LogText:
    """The lines of the file at `path`. A file that cannot be read has no lines, and `message` says why."""

    def __init__(self, path: str, console_patterns: Sequence[str] = ()) -> None:
        """console_patterns: the user's patterns of console lines, as for the reader of the log."""
        self.path = path
        self.size = 0
        """Bytes at the last refresh."""
        self.message = ""
        self.generation = 0
        """Incremented when the file was replaced or truncated, so that earlier offsets are invalid."""
        self._patterns = tuple(console_patterns)
        self._head = b""
        self._file_size = 0
        self._utf8: bytes | None = None
        """Text of a file in UTF-16."""
        self.refresh()

    def refresh(self) -> bool:
        """Look at the file; return whether it has changed."""
        before = self.size, self.generation
        try:
            with opened(self.path) as (descriptor, status):
                head = os.pread(descriptor, _HEAD, 0)
                replaced = status.st_size < self._file_size or not head.startswith(self._head)
                if not is_marked_utf16(head) or status.st_size > MAX_UTF16:
                    self._utf8, self.size = None, status.st_size
                elif replaced or self._utf8 is None or status.st_size != self._file_size:
                    self._utf8 = utf8(os.pread(descriptor, status.st_size, 0))
                    self.size = len(self._utf8)
        except OSError as error:
            self.message = error.strerror or type(error).__name__
            return False
        self.message = ""
        self.generation += replaced
        self._file_size, self._head = status.st_size, head
        return (self.size, self.generation) != before

    # ------------------------------------------------------------------ lines

    def lines(self, offset: int, count: int) -> list[LogLine]:
        """Up to `count` lines, beginning with the line that contains the byte at `offset`.

        The last line of the file need not have ended."""
        lines: list[LogLine] = []
        position = self._start_of(offset) if offset < self.size else self.size
        while len(lines) < count and (data := self._whole_lines(position, _WINDOW)):
            for start, raw in _split(data, position):
                lines += self._displayed(start, raw)
                if len(lines) == count:
                    break
            position += len(data)
        return lines

    def before(self, offset: int, count: int) -> list[LogLine]:
        """The last `count` lines before the one that contains the byte at `offset`; offset = size: the last lines."""
        lines: list[LogLine] = []
        end = self._start_of(offset) if offset < self.size else self.size
        while end > 0 and len(lines) < count:
            start = self._start_of(max(0, end - _WINDOW))
            pieces = _split(self._whole_lines(start, end - start), start)
            lines = [line for piece in pieces for line in self._displayed(*piece)] + lines
            end = start
        return lines[-count:] if count else []

    def _displayed(self, offset: int, raw: bytes) -> list[LogLine]:
        """The line at `offset`, or nothing if it is not displayed."""
        text = display_line(raw.removesuffix(b"\n"))
        if text is None:
            return []
        time, text = parse_timestamp(text), redacted_text(text)
        return [LogLine(offset, offset + len(raw), text, severity(text), None if isnan(time) else time)]

    def _whole_lines(self, start: int, least: int) -> bytes:
        """The lines that begin in the `least` bytes after the start of a line; whole unless too long."""
        data = self._read(start, least)
        if data and not data.endswith(b"\n") and start + len(data) < self.size:
            more = self._read(start + len(data), MAX_RAW)
            data += more[: more.find(b"\n") + 1 or len(more)]
        return data

    def _end_of(self, start: int) -> int:
        """Offset of the line after the one that begins at `start`."""
        return start + len(next(_split(self._whole_lines(start, 1), start), (start, b""))[1])

    def _start_of(self, offset: int) -> int:
        """Start of the line that contains the byte at `offset`; some offset within the line if that is too long."""
        offset = min(max(0, offset), self.size)
        reach = 0
        for window in (_WINDOW, MAX_RAW):
            reach = max(0, offset - window)
            newline = self._read(reach, offset - reach).rfind(b"\n")
            if newline >= 0:
                return reach + newline + 1
            if not reach:
                break
        return reach

    def _read(self, start: int, count: int) -> bytes:
        if self._utf8 is not None:
            return self._utf8[start : start + max(0, count)]
        try:
            with opened(self.path) as (descriptor, _):
                return os.pread(descriptor, max(0, min(count, self.size - start)), start)
        except OSError as error:
            self.message = error.strerror or type(error).__name__
            return b""

    # ------------------------------------------------------------------ searching

    def search(self, text: str, offset: int, backwards: bool, budget: int = BUDGET) -> SearchResult:
        """Find the first line after `offset` (backwards: the last line before it) that contains the text.

        The search is case-sensitive if the text has a capital. It looks through about `budget` bytes; continue at
        `reached` unless it is `done`."""
        exact = text != text.lower()

        def matches(line: str) -> bool:
            return text in (line if exact else line.lower())

        pattern = re.compile(re.escape(text.encode()), 0 if exact else re.IGNORECASE)
        return self._search(pattern, matches, offset, backwards, budget)

    def next_error(self, offset: int, backwards: bool, budget: int = BUDGET) -> SearchResult:
        """Find the first line after `offset` (backwards: the last line before it) that reports an error."""
        return self._search(_ERROR, lambda line: severity(line) == "error", offset, backwards, budget)

    def next_warning(self, offset: int, backwards: bool, budget: int = BUDGET) -> SearchResult:
        """Find the first line after `offset` (backwards: the last line before it) that reports a warning."""
        return self._search(_PROBLEM, lambda line: severity(line) == "warning", offset, backwards, budget)

    def _search(
        self, pattern: re.Pattern[bytes], matches: Callable[[str], bool], offset: int, backwards: bool, budget: int
    ) -> SearchResult:
        """pattern: a necessary condition on the bytes of the line. matches: the condition on the displayed text."""
        position = self._start_of(offset) if offset < self.size else self.size
        if not backwards and position < offset:  # within a line: begin with the next one
            position = self._end_of(position)
        window = _WINDOW
        while budget > 0 and (position > 0 if backwards else position < self.size):
            start = self._start_of(max(0, position - window)) if backwards else position
            data = self._whole_lines(start, position - start if backwards else window)
            if not data:
                break
            if pattern.search(data):
                pieces = list(_split(data, start))
                for line_start, raw in reversed(pieces) if backwards else pieces:
                    for line in self._displayed(line_start, raw) if pattern.search(raw) else ():
                        if matches(line.text):
                            return SearchResult(line, line_start if backwards else line.end, True)
            budget -= len(data)
            position = start if backwards else start + len(data)
            window = min(4 * window, MAX_RAW)
        return SearchResult(None, position, position <= 0 if backwards else position >= self.size)

    # ------------------------------------------------------------------ steps

    def step_of(self, offset: int) -> int | None:
        """Training step of the line at `offset`: that of the last row of metrics up to it, or None if none is near."""
        end = self._end_of(self._start_of(offset))
        for window in _STEP_WINDOWS:
            start = self._start_of(max(0, end - window))
            steps = LineSteps(self._patterns, within=start > 0)
            steps.feed(self._read(start, end - start + _BAR))
            if rows := [step for row, step in steps.rows if start + row < end]:
                return rows[-1]
            if not start:
                break
        return None

    def offset_of(self, step: int) -> int | None:
        """Offset of the line of this step or of the last step before it; None if the log has no steps.

        Steps are assumed to ascend; in a log with several attempts of a run, the result is in one of them."""
        low, high = 0, self.size
        end = high  # no row follows it within _STEP_REACH bytes: a log without steps is decoded once, not at each probe
        while high - low > _STEP_WINDOWS[0]:
            middle = self._start_of((low + high) // 2)
            if middle <= low:
                break
            marks = self._marks_from(middle, end=end)
            if not marks:
                end = middle
            if marks and marks[0][1] <= step:
                low = middle
            else:
                high = middle
        best: tuple[int, int] | None = None
        for offset, marked in self._marks_from(low, 2 * _STEP_WINDOWS[0], end):
            if marked > step and best is not None:
                break
            if best is None or best[1] < marked <= step:
                best = offset, marked
        return best[0] if best else None

    def _marks_from(self, start: int, least: int = 1, end: int | None = None) -> list[tuple[int, int]]:
        """(offset, step) of rows in the `least` bytes after `start`, and of the next rows after those, before `end`."""
        steps = LineSteps(self._patterns, within=start > 0)
        for position in range(start, min(start + _STEP_REACH, end if end is not None else self.size), _WINDOW // 4):
            data = self._read(position, _WINDOW // 4)
            steps.feed(data)
            if not data or (steps.rows and position + len(data) >= start + least):
                break
        return [(start + offset, step) for offset, step in steps.rows]


def _split(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """(offset, bytes with the newline) of each line in `data`, which begins at offset `start` of the file."""
    position = 0
    while position < len(data):
        end = data.find(b"\n", position, position + MAX_RAW) + 1 or min(position + MAX_RAW, len(data))
        yield start + position, data[position:end]
        position = end


_ERROR = re.compile(ERROR_PATTERN.encode(), re.MULTILINE)
_PROBLEM = re.compile(PROBLEM_WORDS.encode())


def text_files(directory: str, known: Iterable[str]) -> list[str]:
    """Return the text files of a run: `known` first, then the files with one of _SUFFIXES directly in the directory and
    in its logs/ and log/."""
    paths = dict.fromkeys(known)
    for folder in (directory, os.path.join(directory, "logs"), os.path.join(directory, "log")):
        try:
            with os.scandir(folder) as entries:
                texts = (e.path for e in entries if e.name.endswith(_SUFFIXES) and e.is_file(follow_symlinks=False))
                paths |= dict.fromkeys(sorted(texts)[:_MOST_FILES])
        except OSError:
            continue
    return list(paths)[:_MOST_FILES]
