"""Read the files of a job of many ranks for the verdict: the beginning and the end of each, then what is added.

Nothing is written, and a file that is damaged or cannot be read costs only itself.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

import orjson
from msgspec import Struct
from msgspec.structs import replace

from tuimon.model.ranks import JobRanks, Place
from tuimon.ranks.evidence import Evidence, Failure, FileAttempt
from tuimon.ranks.file_reading import FileReading
from tuimon.ranks.hangs import HANGS_AFTER
from tuimon.ranks.hardware import DMON_HEAD, read_gpus
from tuimon.ranks.lines import MARKS, failure_of
from tuimon.ranks.report import report_of
from tuimon.ranks.verdict import Verdict, judge
from tuimon.reader.rank_paths import (
    HEAD,
    base_of,
    files_of,
    head_of,
    is_hardware,
    log_file,
    node_of,
    repeated,
    task_numbers,
)
from tuimon.sources.job_hosts import host_named, host_of, unreachable_hosts
from tuimon.text import clean

_TAIL = 262_144
_TAIL_OF_ALL, _SHORTEST_TAIL = 6 << 20, 8_192
"""Bytes of the tails of all files, which many files share."""
_MANY = 64
_MOST_AT_ONCE = 1 << 20
"""Bytes that a visit reads of a file that has grown."""
_COUNTED = 64 << 20
"""Bytes in front of a line up to which lines are counted for its number; above, it stays unknown (0)."""
_MOST_NUMBERED = 8
"""Rows of a report whose lines are counted."""
_DOCUMENT_TAIL = 32_768
_LONGEST_LINE = 4096
_SEARCH_EVERY = 10.0
"""Seconds between two searches for new files."""


class _Known(Struct):
    """A file that is read, and how far."""

    path: str
    reading: FileReading
    inode: int
    size: int = 0
    """Size and time of the last change when it was last visited."""
    modified: float = 0.0
    offset: int = 0
    """End of the last line that was read."""
    lines: int = 0
    counted: bool = True
    """Is `lines` the number of lines up to `offset`?"""
    skipped: int = 0


class JobReading:
    """Follows the files of one job. Files that are deleted stay in what was read."""

    def __init__(self, place: str, clock: Callable[[], float] = time.time) -> None:
        """place: the directory of the files, or the only file; see `job_directory`. clock: seconds since the epoch."""
        self.place = place
        self._clock = clock
        self.directory = base_of(place)
        self.evidence = Evidence()
        self._known: dict[str, _Known] = {}
        self._documents: dict[str, tuple[float, int]] = {}
        """Time and size of the files that are read as a whole."""
        self._numbers: dict[str, int] = {}
        self._repeated: set[str] = set()
        """Files whose names occur on several hosts."""
        self._is_of_hosts = self.directory != place and not os.path.isfile(place)
        self._paths: list[str] = []
        self._pending: deque[str] = deque()
        self._searched_at = -_SEARCH_EVERY
        self._newest = 0.0
        self._changed = False
        self._judged_as_silent = False
        """Whether the job was silent at the last verdict."""
        self._attempts: dict[str, FileAttempt] = {}
        self._line_numbers: dict[tuple[str, int], int] = {}
        """By (path, offset)."""

    def read(self, seconds: float = float("inf"), final: bool = False) -> bool:
        """Read what is new in the files for about `seconds`. Return True once all have been read.

        final: also read a last line without its end.
        """
        start = time.monotonic()
        unreachable = unreachable_hosts(self.directory) if self._is_of_hosts else {}
        if unreachable != self.evidence.unreachable:
            self.evidence.unreachable, self._changed = unreachable, True
        if not self._pending:
            if start - self._searched_at >= _SEARCH_EVERY:
                self._search()
            self._pending.extend(self._paths)
        while self._pending:
            path = self._pending.popleft()
            try:
                self._visit(path, final)
            except (OSError, ValueError, OverflowError):
                continue
            if time.monotonic() - start >= seconds:
                break
        return not self._pending

    def set_attempts(self, attempts: Mapping[str, FileAttempt]) -> None:
        """Set the attempts of the training by the absolute path of a file."""
        known = {os.path.relpath(path, self.directory): attempt for path, attempt in attempts.items()}
        if known != self._attempts:
            self._attempts, self._changed = known, True

    @property
    def progress(self) -> tuple[int, int]:
        """(files read in this pass, all files of the job)."""
        return len(self._paths) - len(self._pending), len(self._paths)

    @property
    def changed(self) -> bool:
        """Whether the verdict can differ from the last one: something has been read since the last access, or the job
        has become silent, as a job that hangs writes nothing."""
        changed, self._changed = self._changed, False
        return changed or self.is_silent != self._judged_as_silent

    @property
    def is_complete(self) -> bool:
        """Whether the last pass has read all files."""
        return bool(self._paths) and not self._pending

    @property
    def is_silent(self) -> bool:
        """Whether no rank has written for so long that ranks at unequal steps hang."""
        return self._clock() - self._newest >= HANGS_AFTER

    def verdict(self) -> Verdict | None:
        """Return the verdict; None for fewer than two ranks, unless a launcher reports the end of the only one."""
        self.evidence.quiet_for = self._clock() - self._newest
        self._judged_as_silent = self.evidence.quiet_for >= HANGS_AFTER
        if len(self.evidence.ranks) < 2 and not self.evidence.has_ended_rank:
            return None
        self.evidence.attempts = self._attempts
        self.evidence.lost = {
            key: host
            for key, rank in self.evidence.ranks.items()
            if rank.place and (host := host_named(rank.place.path.partition("/")[0])) in self.evidence.unreachable
        }
        verdict = judge(self.evidence)
        if verdict.root_cause is not None and verdict.root_cause.place is not None:
            verdict.root_cause.place = self._numbered(verdict.root_cause.place)
        return verdict

    def report(self) -> JobRanks | None:
        """Return the verdict and a row for each rank; None for fewer than two ranks."""
        verdict = self.verdict()
        unread = sum(known.skipped for known in self._known.values())
        if verdict is None:
            return None
        report = report_of(self.evidence, verdict, self.directory, unread)
        strange = [
            replace(row, number=self._numbered(Place(row.path, row.number, row.offset)).line)
            for row in report.rows[:_MOST_NUMBERED]
            if row.strangeness
        ]
        return replace(report, rows=(*strange, *report.rows[len(strange) :]))

    def _numbered(self, place: Place) -> Place:
        """Return the place with its line number, which is unknown if lines before it were not read."""
        if place.line or not place.path or place.offset > _COUNTED:
            return place
        key = place.path, place.offset
        if key not in self._line_numbers:
            count, left = 1, place.offset
            try:
                with open(os.path.join(self.directory, place.path), "rb") as stream:
                    while left > 0 and (block := stream.read(min(left, 1 << 20))):
                        count += block.count(b"\n")
                        left -= len(block)
            except OSError:
                return place
            if len(self._line_numbers) > 1000:
                self._line_numbers.clear()
            self._line_numbers[key] = count
        return replace(place, line=self._line_numbers[key])

    def _search(self) -> None:
        self._searched_at = time.monotonic()
        paths = list(files_of(self.place))
        if paths == self._paths:
            return
        numbers = task_numbers(self.directory, paths)
        twice = repeated(paths)
        if any(
            numbers.get(path) != self._numbers.get(path) or (path in twice) != (path in self._repeated)
            for path in self._known
        ):
            self.evidence, self._known, self._documents = Evidence(), {}, {}
        # The hardware of the nodes says which GPU is at which bus, and a rank is known before its error.json is read.
        order = sorted(paths, key=lambda path: (not is_hardware(os.path.basename(path)), path.endswith("error.json")))
        self._paths, self._numbers, self._repeated = order, numbers, twice

    def _visit(self, path: str, final: bool) -> None:
        status = os.stat(path)
        if path not in self._known and self._is_document(path):
            if self._documents.get(path) != (status.st_mtime, status.st_size):
                self._documents[path] = status.st_mtime, status.st_size
                self._changed = True
                self._read_document(path)
            return
        self._newest = max(self._newest, status.st_mtime)  # without monitors of GPUs, which go on while a job hangs
        known = self._known.get(path)
        if known is None or known.inode != status.st_ino or status.st_size < known.offset:
            relative, number = os.path.relpath(path, self.directory), self._numbers.get(path)
            file = log_file(path, relative, number, status.st_mtime, path in self._repeated)
            known = self._known[path] = _Known(path, FileReading(self.evidence, file), status.st_ino)
        if (known.size, known.modified) == (status.st_size, status.st_mtime) and not final:
            if known.offset < known.size and known.offset:
                self._read_more(known, status.st_size, True)  # its last line has no end
            return
        known.size, known.modified = status.st_size, status.st_mtime
        self._read_more(known, status.st_size, final)

    def _read_more(self, known: _Known, size: int, to_end: bool) -> None:
        """Read lines from the offset on. to_end: also one without its end."""
        tail = _TAIL if len(self._paths) <= _MANY else max(_TAIL_OF_ALL // len(self._paths), _SHORTEST_TAIL)
        with open(known.path, "rb") as stream:
            if known.offset == 0 and size > HEAD + tail:
                self._feed(known, stream.read(HEAD), False)
                self._skip(stream, known, size - tail)
            elif size - known.offset > max(_MOST_AT_ONCE, tail):
                self._skip(stream, known, size - tail)
            stream.seek(known.offset)
            self._feed(known, stream.read(max(size - known.offset, 0)), to_end)

    def _feed(self, known: _Known, block: bytes, to_end: bool) -> None:
        end = len(block) if to_end else block.rfind(b"\n") + 1
        marks = (match.start() for match in MARKS.finditer(block))
        position, mark = 0, next(marks, end)
        for line in block[:end].splitlines(keepends=True) if b"\r" not in block else _lines(block[:end]):
            known.lines += 1
            position += len(line)
            if len(line) > 1:
                number = known.lines if known.counted else 0
                known.reading.feed(number, _decoded(line), known.offset, mark < position)
            while mark < position:
                mark = next(marks, end)
            known.offset += len(line)
        self._changed |= end > 0

    def _skip(self, stream: BinaryIO, known: _Known, end: int) -> None:
        """Go on at the first line after `end`. Lines are counted later, where a number is needed."""
        left = end - known.offset
        if left <= 0:
            return
        known.skipped += left
        known.counted = False
        stream.seek(end)
        known.offset = end + len(stream.readline(1 << 20))

    def _is_document(self, path: str) -> bool:
        """Is the file read as a whole, or by its ends, whenever it has changed?"""
        name = os.path.basename(path)
        known = name == "error.json" or is_hardware(name) or path in self._documents
        return known or (not self._numbers.get(path) and DMON_HEAD.match(head_of(path)) is not None)

    def _read_document(self, path: str) -> None:
        relative = os.path.relpath(path, self.directory)
        if os.path.basename(path) == "error.json":
            self._read_error(path, relative)
        else:
            stem = os.path.basename(path).split(".")[0]
            read_gpus(_ends(path), node_of(os.path.basename(path)) or host_of(path) or stem, self.evidence)

    def _read_error(self, path: str, relative: str) -> None:
        """Read torchelastic's error.json: the exception and its time, of the rank whose log lies beside it."""
        try:
            message = orjson.loads(head_of(path))["message"]
            text = message["message"] if isinstance(message, dict) else str(message)
            stamp = float(message["extraInfo"]["timestamp"]) if isinstance(message, dict) else None
        except (ValueError, KeyError, TypeError):
            return
        folder = os.path.dirname(relative)
        keys = {
            key
            for key, rank in self.evidence.ranks.items()
            if rank.place is not None and os.path.dirname(rank.place.path) == folder
        }
        key = keys.pop() if len(keys) == 1 else None
        line = clean(str(text).split("\n", 1)[0])[:400]
        kind = failure_of(line)
        if kind is not None:
            node = self.evidence.rank(key).node if key else ""
            place = Place(relative, 1)
            self.evidence.failures.append(Failure(kind, line, place, stamp, stamp is not None, key, node))


def _lines(block: bytes) -> Iterator[bytes]:
    """Yield the lines of a block with their ends; a carriage return does not end a line."""
    parts = block.split(b"\n")
    for part in parts[:-1]:
        yield part + b"\n"
    if parts[-1]:
        yield parts[-1]


def _decoded(line: bytes) -> str:
    """Return the text of a line; the last part counts where a progress bar overwrote itself."""
    return line[:_LONGEST_LINE].rstrip(b"\r\n").rsplit(b"\r", 1)[-1].decode("utf-8", "replace")


def _ends(path: str) -> str:
    """Return the text at the beginning and at the end of a file."""
    with open(path, "rb") as stream:
        block = stream.read(HEAD)
        size = os.fstat(stream.fileno()).st_size
        if size > HEAD:
            stream.seek(max(HEAD, size - _DOCUMENT_TAIL))
            block += b"\n" * (size > HEAD + _DOCUMENT_TAIL) + stream.read(_DOCUMENT_TAIL)
    return block.decode("utf-8", "replace")
