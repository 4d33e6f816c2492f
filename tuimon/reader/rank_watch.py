"""Follow the ranks of the runs that several processes write, within a share of the reader's time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from msgspec import Struct

from tuimon.model.events import RanksSeen
from tuimon.model.ranks import JobRanks
from tuimon.reader.rank_files import JobReading
from tuimon.reader.rank_paths import is_job, job_directory

_FIRST, _SLICE = 10.0, 0.1
"""Maximum seconds of work at a time, at first and later: the first verdict comes before the history of the files."""
_EVERY = 2.0
"""Minimum seconds between two reads of the files of a job."""
_SHARE = 0.06
"""Maximum fraction of the time that is spent on a job once it has been read."""
_AGAIN = 60.0
"""Seconds after which a run that was not written by several ranks is examined again."""
_MOST_RUNS = 8
"""Runs that are followed, those that grew last; each takes memory and time."""


class _Job(Struct):
    """A run that is watched."""

    paths: int
    """Number of its files at the last read."""
    reading: JobReading | None
    """None if it is not a job of several ranks."""
    due: float
    spent: float = 0.0
    """Seconds that the present read has taken."""
    report: JobRanks | None = None


class RankWatch:
    """Yields what is known about the ranks of each run whenever it has changed."""

    def __init__(
        self,
        paths_of_runs: Callable[[], dict[int, list[str]]],
        live: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """paths_of_runs: returns the paths of the files of each run. live: read for a limited time at once, and only
        the runs that grew last. clock: returns the seconds since the epoch."""
        self._paths_of_runs = paths_of_runs
        self._live = live
        self._clock = clock
        self._jobs: dict[int, _Job] = {}

    def wait(self, now: float) -> float:
        """Return the seconds until there is something to do. now: time.monotonic()."""
        return max(min((job.due for job in self._jobs.values()), default=math.inf) - now, 0.0)

    def events(self, on_progress: Callable[[int, int], None] | None = None) -> Iterator[RanksSeen]:
        """Read what is new for a limited time, and yield the reports that have changed.

        on_progress: is called with the numbers of files of a job that were read and that it has, if this watch is not
        live.
        """
        now = time.monotonic()
        for run, paths in list(self._paths_of_runs().items())[: _MOST_RUNS if self._live else None]:
            job = self._jobs.get(run)
            if job is None or (len(paths) != job.paths and job.reading is None) or now >= job.due:
                event = self._look(run, paths, job, now, on_progress)
                if event is not None:
                    yield event

    def _look(
        self,
        run: int,
        paths: list[str],
        job: _Job | None,
        now: float,
        on_progress: Callable[[int, int], None] | None,
    ) -> RanksSeen | None:
        first = job is None or job.report is None
        if job is None or (job.reading is None and (len(paths) != job.paths or now >= job.due)):
            directory = job_directory(paths)
            reading = JobReading(directory, self._clock) if directory and is_job(directory) else None
            job = self._jobs[run] = _Job(len(paths), reading, now + _AGAIN)
        elif job.reading is not None and len(paths) != job.paths:
            job.paths = len(paths)
            directory = job_directory(paths)
            if directory and directory != job.reading.place and is_job(directory):  # files of other nodes have come
                job = self._jobs[run] = _Job(len(paths), JobReading(directory, self._clock), now, report=job.report)
        if job.reading is None:
            return None
        seconds = (_FIRST if first else _SLICE) if self._live else _SLICE if on_progress else math.inf
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
