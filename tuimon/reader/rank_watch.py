"""Follow the ranks of the runs that several processes write, within a share of the reader's time."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct

from tuimon.model.events import RanksSeen
from tuimon.model.ranks import JobRanks
from tuimon.ranks.evidence import FileAttempt
from tuimon.reader.rank_files import JobReading
from tuimon.reader.rank_paths import is_job, job_directory

_FIRST, _SLICE = 10.0, 0.1
"""Maximum seconds of work at a time, at first and later: the first verdict comes before the history of the files."""
_EVERY = 2.0
"""Minimum seconds between two reads of the files of a job."""
_SHARE = 0.06
"""Maximum fraction of the time that is spent on a job once it has been read."""
_SHARE_OF_OTHERS = 0.15
"""Maximum fraction of the time that is spent on runs that are not followed, until each was read once."""
_AGAIN = 60.0
"""Seconds after which a run that was not written by several ranks is examined again."""
_MOST_RUNS = 8
"""Runs that are followed, those that grew last; each takes memory and time. The others are read one after another."""


class _Job(Struct):
    """A run that is watched."""

    paths: int
    """Number of its files at the last read."""
    reading: JobReading | None
    """None if it is not a job of several ranks, or if it was read and is not followed."""
    due: float
    spent: float = 0.0
    """Seconds that the present read has taken."""
    report: JobRanks | None = None
    read_until: float = -math.inf
    """Time until which a run that is not followed need not be read again."""


class RankWatch:
    """Yields what is known about the ranks of each run whenever it has changed."""

    def __init__(
        self,
        paths_of_runs: Callable[[], dict[int, list[str]]],
        live: bool = True,
        clock: Callable[[], float] = time.time,
        attempts_of: Callable[[int], Mapping[str, FileAttempt]] = lambda run: {},
    ) -> None:
        """paths_of_runs: returns the paths of the files of each run, the run that grew last first. live: read for a
        limited time at once. clock: returns the seconds since the epoch. attempts_of: returns the attempts of the
        training of a run by path, if they have files of their own."""
        self._attempts_of = attempts_of
        self._paths_of_runs = paths_of_runs
        self._live = live
        self._clock = clock
        self._jobs: dict[int, _Job] = {}
        self._followed: list[int] = []
        self._every_path: list[str] = []
        """Paths of the files of all runs, sorted; empty until a round needs them."""
        self._others_due = -math.inf
        self._requests: deque[int] = deque()
        self._wanted: dict[int, None] = {}

    def want(self, runs: Iterable[int]) -> None:
        """Examine these runs next, and yield an event about each even if it has no ranks. Thread-safe."""
        self._requests.extend(runs)

    def wait(self, now: float) -> float:
        """Return the seconds until there is something to do. now: time.monotonic()."""
        due = (self._jobs[run].due for run in self._followed if run in self._jobs)
        return max(min(min(due, default=math.inf), self._others_due) - now, 0.0)

    def events(self, on_progress: Callable[[int, int], None] | None = None, busy: bool = False) -> Iterator[RanksSeen]:
        """Read what is new for a limited time, and yield the reports that have changed.

        on_progress: is called with the numbers of files of a job that were read and that it has, if this watch is not
        live. busy: leave the runs that are not followed for later.
        """
        now = time.monotonic()
        runs = self._paths_of_runs()
        self._every_path.clear()
        self._followed = list(runs)[: _MOST_RUNS if self._live else None]
        for run in self._followed:
            job, paths = self._jobs.get(run), runs[run]
            if job is None or (len(paths) != job.paths and job.reading is None) or now >= job.due:
                event = self._look(run, paths, job, on_progress)
                if event is not None:
                    yield event
        while self._requests:
            self._wanted[self._requests.popleft()] = None
        if self._live and (self._wanted or not busy):
            yield from self._others(runs, busy)
        yield from self._answers()

    def _others(self, runs: dict[int, list[str]], busy: bool) -> Iterator[RanksSeen]:
        """Examine the runs that are not followed, those that are wanted first, for a slice of time."""
        begin = time.monotonic()
        wanted = [run for run in self._wanted if run in runs]
        if not wanted and begin < self._others_due < math.inf:
            return
        followed = set(self._followed)
        self._others_due = math.inf
        for run in wanted if busy else (*wanted, *runs):
            job = self._jobs.get(run)
            if run in followed or (
                job is not None and job.paths == len(runs[run]) and job.reading is None and begin < job.read_until
            ):
                continue
            now = time.monotonic()
            if now - begin >= _SLICE:
                self._others_due = now + (now - begin) / _SHARE_OF_OTHERS
                return
            if job is not None and job.reading is None:
                job.due = now
            event = self._look(run, runs[run], job, None)
            job = self._jobs[run]
            if job.reading is None or job.reading.is_complete:
                is_over = job.reading is None or job.reading.is_silent
                job.read_until = math.inf if is_over else time.monotonic() + _AGAIN
                job.reading, job.due = None, now
            if event is not None:
                yield event

    def _answers(self) -> Iterator[RanksSeen]:
        """Yield an event about each wanted run without ranks that has been examined."""
        for run in list(self._wanted):
            job = self._jobs.get(run)
            if job is not None and (job.report is not None or job.reading is None or job.reading.is_complete):
                del self._wanted[run]
                if job.report is None:
                    yield RanksSeen(run, None)

    def _directory(self, paths: list[str]) -> str:
        """Return the place of the files of a run (see `job_directory`); "" if most files below it are of other runs, as
        below the common parent of two logs that lie apart."""
        directory = job_directory(paths)
        if len(paths) < 2 or "*" in directory:
            return directory
        if not self._every_path:
            self._every_path = sorted(path for files in self._paths_of_runs().values() for path in files)
        first, last = (bisect_left(self._every_path, directory + end) for end in ("/", "0"))  # "0" follows "/"
        return directory if last - first <= 2 * len(paths) else ""

    def _look(
        self, run: int, paths: list[str], job: _Job | None, on_progress: Callable[[int, int], None] | None
    ) -> RanksSeen | None:
        now = time.monotonic()
        first = job is None or job.report is None
        if job is None or (job.reading is None and (len(paths) != job.paths or now >= job.due)):
            directory = self._directory(paths)
            reading = JobReading(directory, self._clock) if directory and is_job(directory) else None
            job = self._jobs[run] = _Job(len(paths), reading, now + _AGAIN, report=job.report if job else None)
        elif job.reading is not None and len(paths) != job.paths:
            job.paths = len(paths)
            directory = self._directory(paths)
            if directory and directory != job.reading.place and is_job(directory):  # files of other nodes have come
                job = self._jobs[run] = _Job(len(paths), JobReading(directory, self._clock), now, report=job.report)
        if job.reading is None:
            return None
        seconds = (_FIRST if first and run in self._followed else _SLICE) if self._live else math.inf
        if on_progress is not None and not self._live:
            seconds = _SLICE
        job.reading.set_attempts(self._attempts_of(run))
        complete = job.reading.read(seconds, final=first and not self._live)
        while on_progress is not None and not self._live and not complete:
            on_progress(*job.reading.progress)
            complete = job.reading.read(seconds, final=first)
        report = job.report
        if complete and (job.reading.changed or first):
            report = job.reading.report()
        spent = time.monotonic() - now
        job.spent += spent
        job.due = now + spent
        if complete:
            job.due += max(_EVERY, job.spent / _SHARE if self._live else 0.0)
            job.spent = 0.0
        if report is None or report == job.report:
            return None
        job.report = report
        return RanksSeen(run, report)
