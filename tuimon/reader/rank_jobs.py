"""The ranks of the runs: what the lines of their logs say about processes.

Each log yields its lines as it is read for its metrics (Lines). They are looked at once the names or the texts of the
logs of a run name two ranks: of each log its first 4 KiB and its end, and then all that is added. Nothing is read for
ranks alone, except the ends of logs that had been read before, when a run turns out to be a job of several ranks, or
when the names of the logs mean other ranks, as with the fourth of task-0.log, task-1.log, …
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

import orjson
from msgspec import Struct

from tuimon.model.events import RanksSeen
from tuimon.model.points import Item, Lines
from tuimon.model.ranks import FileLine, JobRanks
from tuimon.ranks.evidence import Evidence, Failure
from tuimon.ranks.file_reading import FileReading
from tuimon.ranks.hangs import HANGS_AFTER
from tuimon.ranks.hardware import read_buses
from tuimon.ranks.lines import MARKS, failure_of
from tuimon.ranks.report import report_of
from tuimon.ranks.verdict import judge
from tuimon.reader.follow import Followed
from tuimon.reader.rank_paths import HEAD, log_file, named_ranks, node_of, ranks_in_path, repeated, task_numbers
from tuimon.sources.job_hosts import host_named, host_of, job_root, unreachable_hosts
from tuimon.text import clean

_TAIL_OF_ALL, _TAIL, _SHORTEST_TAIL = 6 << 20, 1 << 18, 1 << 13
"""Bytes of the ends of all logs of a run, at most and at least of each, that are looked at."""
_SEARCHED = 1 << 16
"""Bytes of the end of a block in which ranks are searched while none are known."""
_LONGEST_LINE = 4096
_EVERY, SHARE = 2.0, 0.02
"""Minimum seconds between two reports, and maximum part of the time that they take."""

RunLogs = Mapping[int, tuple[str, Mapping[str, Followed]]]
"""Path of each run and its logs by path, by the id of the run."""


class RankJobs:
    """The jobs of several ranks among the runs."""

    def __init__(self, logs_of_runs: Callable[[], RunLogs], attempts_of: Callable[[int], Mapping[str, int]]) -> None:
        """attempts_of: the number of the attempt of a run by path."""
        self._logs_of_runs, self._attempts_of = logs_of_runs, attempts_of
        self.clock: Callable[[], float] = time.time
        """Returns the seconds since the epoch."""
        self._jobs: dict[int, _Job] = {}
        self._due = 0.0

    def taken(self, log: Followed, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items of a log without its lines, which are looked at."""
        for item in items:
            if not isinstance(item, Lines):
                yield item
            else:
                job = self._jobs.setdefault(log.found.run, _Job())
                if not job.has(log):
                    job.set_logs(*self._logs_of_runs()[log.found.run])
                job.take(log, item)

    def events(self, at_once: bool = False) -> Iterator[RanksSeen]:
        """Yield the reports that have changed. at_once: do not wait until it is time for the next ones."""
        now = time.monotonic()
        if now < self._due and not at_once:
            return
        runs = self._logs_of_runs()
        for run, job in self._jobs.items():
            if run in runs:
                job.set_logs(*runs[run])
                if (report := job.changed_report(self._attempts_of(run), self.clock())) is not None:
                    yield RanksSeen(run, report)
        done = time.monotonic()
        self._due = done + max(_EVERY, (done - now) / SHARE)

    def wait(self, now: float) -> float:
        """Return the seconds until reports are due, infinity without a job. now: time.monotonic()."""
        return max(self._due - now, 0.0) if any(job.is_job for job in self._jobs.values()) else float("inf")


class _Reading(Struct):
    """How far the lines of a log were looked at."""

    file: FileReading
    node: str
    end: int = 0
    skipped: int = 0
    header: str = ""
    """First line of the log of a monitor of GPUs."""


class _Job:
    """The logs of one run."""

    def __init__(self) -> None:
        self.is_job = False
        self._directory = ""
        self._evidence = Evidence()
        self._logs: Mapping[str, Followed] = {}
        self._readings: dict[str, _Reading] = {}
        self._named: set[int] = set()
        self._numbers: dict[str, int] = {}
        self._repeated: set[str] = set()
        """Logs whose names occur on several hosts."""
        self._changed = self._judged_as_silent = False
        self._attempts: Mapping[str, int] = {}
        self._report: JobRanks | None = None

    def has(self, log: Followed) -> bool:
        return self._logs.get(log.path) is log

    def set_logs(self, path: str, logs: Mapping[str, Followed]) -> None:
        """Set the path of the run and its logs."""
        before, self._logs = self._logs, logs
        if before.keys() == logs.keys():
            return
        self._directory = job_root(next(iter(logs))) or (path if os.path.isdir(path) else os.path.dirname(path))
        numbers, same = task_numbers(self._directory, list(logs)), repeated(list(logs))
        mean_others = any(
            path not in logs
            or numbers.get(path) != self._numbers.get(path)
            or (path in same) != (path in self._repeated)
            for path in self._readings
        )
        self._numbers, self._repeated = numbers, same
        self._named.update(numbers.values(), *(ranks_in_path(path, self._directory) for path in logs))
        if mean_others or (not self.is_job and len(self._named) > 1):
            self._begin()

    def take(self, log: Followed, lines: Lines) -> None:
        if self.is_job:
            self._look_at(log, lines)
            return
        ranks, is_launcher = named_ranks(lines.data[: max(HEAD - lines.offset, 0)] + lines.data[-_SEARCHED:])
        self._named |= ranks
        if is_launcher or len(self._named) > 1:
            self._begin()

    def changed_report(self, attempts: Mapping[str, int], now: float) -> JobRanks | None:
        """Return the report if it has changed; None as long as a log has not been read to its end."""
        if not self.is_job or any(log.behind for log in self._logs.values()):
            return None
        attempts = {self._relative(path): attempt for path, attempt in attempts.items()}
        unreachable = unreachable_hosts(self._directory) if any(map(job_root, self._logs)) else {}
        of_processes = [log for log in self._logs.values() if not log.format.of_machine]
        quiet_for = now - max(map(_modified, of_processes), default=now)
        is_silent = quiet_for >= HANGS_AFTER
        facts = attempts, unreachable, is_silent
        if not self._changed and facts == (self._attempts, self._evidence.unreachable, self._judged_as_silent):
            return None
        self._changed, (self._attempts, self._evidence.unreachable, self._judged_as_silent) = False, facts
        self._evidence.attempts, self._evidence.quiet_for = attempts, quiet_for
        report = self._judged()
        if report is None or report == self._report:
            return None
        self._report = report
        return report

    def _judged(self) -> JobRanks | None:
        """Return the verdict and a row for each rank; None for fewer than two ranks, unless a launcher reports the end
        of the only one."""
        evidence = self._evidence
        if len(evidence.ranks) < 2 and not evidence.has_ended_rank:
            return None
        places = [(key, rank.place.path) for key, rank in evidence.ranks.items() if rank.place is not None]
        hosts = [(key, host_named(path.partition("/")[0])) for key, path in places]
        evidence.lost = {key: host for key, host in hosts if host in evidence.unreachable}
        for failure in evidence.failures:
            if failure.key is None and os.path.basename(failure.place.path) == "error.json":
                folder = os.path.dirname(failure.place.path)
                keys = {key for key, path in places if os.path.dirname(path) == folder}
                failure.key = keys.pop() if len(keys) == 1 else None
                failure.node = evidence.rank(failure.key).node if failure.key else ""
        skipped = sum(reading.skipped for reading in self._readings.values())
        return report_of(evidence, judge(evidence), self._directory, skipped)

    def _begin(self) -> None:
        """Look at the beginning and the end of what has been read of each log."""
        self.is_job, self._evidence, self._readings = True, Evidence(), {}
        for log in self._logs.values():
            for lines in log.end_lines():
                self._look_at(log, lines)

    def _look_at(self, log: Followed, lines: Lines) -> None:
        reading = self._readings.get(log.path)
        if reading is None or lines.restarted:
            reading = self._readings[log.path] = self._new_reading(log, lines.data[:HEAD])
        data, most = lines.data, max(min(_TAIL, _TAIL_OF_ALL // len(self._logs)), _SHORTEST_TAIL)
        begin, tail = max(reading.end - lines.offset, 0), len(data) + lines.left - most
        if begin < tail:
            if (head := HEAD - lines.offset) > begin:
                cut = data.find(b"\n", head) + 1 or len(data)
                self._feed(log, reading, lines, begin, cut)
                begin = cut
            begin = max(begin, data.find(b"\n", tail) + 1 or len(data)) if tail < len(data) else len(data)
        self._feed(log, reading, lines, begin, len(data))

    def _feed(self, log: Followed, reading: _Reading, lines: Lines, begin: int, end: int) -> None:
        """Look at the bytes of some lines from `begin` to `end`."""
        if begin >= end:
            return
        block, offset = lines.data[begin:end], lines.offset + begin
        reading.skipped += max(offset - reading.end, 0)
        reading.end, self._changed = lines.offset + end, True
        if log.format.of_machine:
            text = block.decode("utf-8", "replace")
            reading.header = reading.header or text.partition("\n")[0]
            read_buses(text if not offset else f"{reading.header}\n{text}", reading.node, self._evidence)
        elif os.path.basename(log.path) == "error.json":
            self._read_error(self._relative(log.path), block)
        else:
            number = lines.number + lines.data.count(b"\n", 0, begin) if lines.number else 0
            _feed_lines(reading.file, block, offset, number)

    def _new_reading(self, log: Followed, head: bytes) -> _Reading:
        path, relative = log.path, self._relative(log.path)
        file = log_file(path, relative, self._numbers.get(path), _modified(log), path in self._repeated, head)
        name = os.path.basename(path)
        node = node_of(name) or host_of(path) or name.split(".")[0]
        return _Reading(FileReading(self._evidence, file), node)

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self._directory)

    def _read_error(self, path: str, data: bytes) -> None:
        """Read torchelastic's error.json: the exception and its time, of the rank whose log lies beside it."""
        try:
            message = orjson.loads(data)["message"]
            text = message["message"] if isinstance(message, dict) else str(message)
            stamp = float(message["extraInfo"]["timestamp"]) if isinstance(message, dict) else None
        except (ValueError, KeyError, TypeError):
            return
        line = clean(str(text).split("\n", 1)[0])[:400]
        if (kind := failure_of(line)) is not None:
            self._evidence.failures.append(Failure(kind, line, FileLine(path, 1), stamp, stamp is not None))


def _modified(log: Followed) -> float:
    """Return the time of the last change of a log, that when it was found if it has not been read."""
    return log.modified if log.modified == log.modified else log.since.modified


def _feed_lines(reading: FileReading, block: bytes, offset: int, number: int) -> None:
    """Let the lines of a block be read. number: that of its first line; 0 if it is unknown."""
    marks = (match.start() for match in MARKS.finditer(block))
    position, mark = 0, next(marks, len(block))
    for line in block.splitlines(keepends=True) if b"\r" not in block else _lines(block):
        end = position + len(line)
        if len(line) > 1:
            text = line[:_LONGEST_LINE].rstrip(b"\r\n").rsplit(b"\r", 1)[-1].decode("utf-8", "replace")
            reading.feed(number, text, offset + position, mark < end)
        while mark < end:
            mark = next(marks, len(block))
        position, number = end, number + (number > 0)


def _lines(block: bytes) -> Iterator[bytes]:
    """Yield the lines of a block with their ends; a carriage return does not end a line."""
    parts = block.split(b"\n")
    for part in parts[:-1]:
        yield part + b"\n"
    if parts[-1]:
        yield parts[-1]
