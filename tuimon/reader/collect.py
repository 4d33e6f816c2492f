"""Collector: find the logs below some paths and read them as they grow.

collector = Collector(["logs"])
for event in collector.find(): …      look for logs; called again, it looks for new ones
for event in collector.preview(): …   the last points of large logs whose history has not been read yet
for event in collector.read(): …      a block of each log that has grown, the newest run first
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from tuimon.model.events import Event
from tuimon.model.log_names import log_name
from tuimon.model.points import Item, Lines, Points
from tuimon.reader.assembly import RunAssembly
from tuimon.reader.checkpoints import Checkpoints
from tuimon.reader.discovery import Discovery
from tuimon.reader.events import preview
from tuimon.reader.follow import Followed
from tuimon.reader.item_sources import BLOCK
from tuimon.reader.notices import Notices
from tuimon.reader.polling import PollSchedule
from tuimon.reader.rank_jobs import RankJobs, RunLogs
from tuimon.reader.recognition import nothing_found
from tuimon.reader.writer_watch import WriterWatch
from tuimon.sources.files import CHECK_ACCESS
from tuimon.sources.grouped_files import natural_order
from tuimon.sources.scan import Problem
from tuimon.sources.writers import writers

PREVIEWS = 32
"""Maximum number of logs whose end is read first, the newest ones: a screen shows no more."""
MANY_METRICS, BLOCKS = 1000, 4
"""Number of blocks read at a time from a log with more than MANY_METRICS metrics.

Each block costs work for every metric in it, and a single block of such a log has few points of each."""


class Collector:
    """Finds logs, groups them into runs, and reads them. Everything is reported as events."""

    def __init__(self, roots: Sequence[str], console_patterns: Sequence[str] = ()) -> None:
        """console_patterns: the user's patterns of console lines (Settings). Raises UsageError if one is invalid."""
        self.roots = [os.path.abspath(root) for root in roots]
        self._discovery = Discovery(self.roots, console_patterns)
        self._assembly = RunAssembly(self.roots, self._discovery)
        self._checkpoints = Checkpoints()
        self._notices = Notices()
        self._writers = WriterWatch()
        self.ranks = RankJobs(self._logs_of_runs, self._assembly.attempts_of)
        self._clock: Callable[[], float] = time.time
        self._previewed = 0
        """Number of streams for which a preview was considered."""
        self._schedule: PollSchedule = PollSchedule()

    # ------------------------------------------------------------------ finding

    def find(self) -> Iterator[Event]:
        """Look for logs. The first call searches everywhere, later calls where something has changed."""
        new_logs = self._discovery.new_logs(self._assembly)
        if new_logs:
            yield from self._assembly.add(new_logs)
        if self._discovery.scan is not None:
            yield from self._checkpoints.changes(self._discovery.scan.checkpoints, self._assembly.runs)
        unreadable = self._discovery.databases.unreadable()
        yield from self._notices.of_unread(self._assembly.streams, self._assembly.unassigned.values(), unreadable)
        if not self._assembly.streams:  # else it may be any text beside the logs
            yield from self._notices.of_texts(self._discovery.recognition.teachable)
        yield from self._notices.of_problems(self.problems)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What cannot be searched or opened."""
        searched = self._discovery.scan.problems if self._discovery.scan else ()
        of_logs = (log.problem for log in self._assembly.live() if log.problem is not None)
        return tuple(dict.fromkeys((*searched, *self._discovery.recognition.refused.values(), *of_logs)))

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """(path, reason) of files whose names look like logs and that are not read, or hold no run yet."""
        return [*self._discovery.recognition.skipped, *self._discovery.databases.without_runs()]

    @property
    def followed(self) -> list[Followed]:
        """All logs ever followed, by id."""
        return self._assembly.streams

    @property
    def directories(self) -> list[str]:
        """Directories in which logs are or can appear; those of the newest logs first, those without logs last."""
        with_logs: dict[str, None] = {}
        for followed in sorted(self._assembly.live(), key=_newest_first):
            with_logs.setdefault(os.path.dirname(followed.file))
        searched = self._discovery.scan.directories if self._discovery.scan else ()
        return list(dict.fromkeys([*with_logs, *searched]))

    @property
    def searched_directories(self) -> list[str]:
        """Directories below the given ones in which logs can appear; not those of files that were given."""
        roots = [root.rstrip("/") for root in self.roots if os.path.isdir(root)]
        searched = self._discovery.scan.directories if self._discovery.scan else ()
        return [path for path in searched if any(path == root or path.startswith(f"{root}/") for root in roots)]

    def _logs_of_runs(self) -> RunLogs:
        """Return the path and the logs of each run, by its id."""
        logs: dict[int, dict[str, Followed]] = {run: {} for run in self._assembly.runs.values()}
        for followed in self._assembly.streams:
            if not followed.retired and followed.found.run in logs:
                logs[followed.found.run][followed.path] = followed
        return {run: (path, logs[run]) for path, run in self._assembly.runs.items() if logs[run]}

    def rules(self) -> dict[str, str]:
        """Return why each log is in its run, by path, in the words of docs/targets.md."""
        return self._assembly.rules()

    def require_something(self) -> None:
        """Raise NothingFound unless there is a log."""
        if not self.followed:
            raise nothing_found(self.roots, self.skipped, self.problems)

    # ------------------------------------------------------------------ reading

    def preview(self) -> Iterator[Event]:
        """Yield the last points of large logs that have not been read yet, the newest first.

        They can be shown until `read` has reached them; it yields them again."""
        streams = self._assembly.streams
        waiting = [f for f in streams[self._previewed :] if f.can_preview and not f.retired]
        self._previewed = len(streams)
        waiting.sort(key=lambda f: -f.since.modified)
        for followed in waiting[:PREVIEWS]:
            event = preview(followed.found.stream, followed.preview())
            if event.names:
                yield event
            else:
                followed.preview_end = 0

    def read(self, paths: Iterable[str] | None = None) -> Iterator[Event]:
        """Read a block of each log that has grown, the newest run first. paths: read only these files."""
        if paths is None:
            logs = self._schedule.next(self._assembly.streams, self._clock())
            self._assembly.look_for_points()
        else:
            logs = [f for path in paths for f in self._assembly.at(path)]
        logs = [f for f in logs if not f.retired and not f.format.unsupported]
        logs = [f for f in logs if not f.settled]
        if paths is None:
            newest: dict[int, float] = {}
            for f in logs:  # `modified` is NaN before the first read
                newest[f.found.run] = max(newest.get(f.found.run, 0.0), f.since.modified, f.modified)
            logs.sort(key=lambda f: (-newest[f.found.run], _newest_first(f)))
        for followed in logs:
            yield from self._read(followed)
        yield from self._regrouped()
        yield from self._notices.of_problems(self.problems)

    def flush(self, silent: float = 0.0) -> Iterator[Event]:
        """Yield last records without their ends, where they can be decoded. To be called after a pause, and after
        `find_writers`: else the writer of each log whose last line is incomplete is searched for by itself.

        silent: seconds for which a log must not have changed; 0 for all logs."""
        for followed in [f for f in self._assembly.live() if not silent or self._clock() - f.modified >= silent]:
            yield from self._events(followed, followed.flush())
            yield from self._changed_status(followed)
        yield from self._regrouped()

    def use_clock(self, clock: Callable[[], float]) -> None:
        """Use another clock (s since the epoch) to judge growth and writers, such as that of a test."""
        self._clock = self.ranks.clock = clock
        self._writers = WriterWatch(clock, clock)

    def find_writers(self) -> Iterator[Event]:
        """Yield the status of silent logs for which it has become known whether a process holds them open."""
        for followed in self._writers.changed(self._assembly.streams):
            if status := followed.changed_status():
                yield status

    def _read(self, followed: Followed) -> Iterator[Event]:
        if not self._assembly.is_followed(followed):
            return  # it was replaced in this round
        blocks = BLOCKS if followed.encoder.metric_count > MANY_METRICS else 1
        yield from self._events(followed, followed.read(blocks * BLOCK))
        if followed.preview_over:
            followed.preview_end = 0
            yield preview(followed.found.stream, ())
        followed.note_growth(self._clock())
        yield from self._changed_status(followed)

    @staticmethod
    def _changed_status(followed: Followed) -> Iterator[Event]:
        """Yield the status of a log if it has changed."""
        if not followed.retired and (status := followed.changed_status()):
            yield status

    def _events(self, followed: Followed, items: Iterable[Item]) -> Iterator[Event]:
        """The items of a log as events; points can be those by which it is of another run."""
        items = self.ranks.taken(followed, items)
        if self._assembly.may_move(followed.path):
            items = list(items)
            self._assembly.is_outdated |= any(isinstance(item, Points) for item in items)
        yield from followed.encoder.events(items)

    def _regrouped(self) -> Iterator[Event]:
        """Group all logs again if points can change their runs, and read those that are in another run."""
        while self._assembly.is_outdated:
            for log in (yield from self._assembly.regroup()):
                yield from self._read(log)

    def in_file_order(self) -> Iterator[tuple[str, Item]]:
        """(source, item) of every log from its beginning to its present end, file by file, for exports."""
        logs = sorted(self._assembly.live(), key=lambda f: (natural_order(log_name(f.path).live), f.found.order))
        local = [followed for followed in logs if not (followed.remote or followed.in_database)]
        holders = writers({followed.file for followed in local})
        for followed in logs:
            while True:
                for item in followed.read():
                    if not isinstance(item, Lines):
                        yield followed.own_source, item
                if followed.status().state != "reading":
                    break
            if (writer := holders.get(followed.file)) is not None:
                followed.set_writer(writer, copied=False)
            for item in followed.flush():
                if not isinstance(item, Lines):
                    yield followed.own_source, item

    # ------------------------------------------------------------------ state

    @property
    def behind(self) -> bool:
        """Is there more on disk than has been read?"""
        return any(followed.behind for followed in self._assembly.live())

    @property
    def partly_unreadable(self) -> bool:
        """Is any log, or a part of one, unreadable or unsupported?"""
        states = ("unreadable", "unsupported")
        return (
            any(self._discovery.databases.unreadable())
            or bool(self._discovery.recognition.refused)
            or any(problem.hint == CHECK_ACCESS for problem in self.problems)
            or any(f.damaged or f.status().state in states for f in self.followed)
            or any(item.format.advice for item in self._assembly.unassigned.values())
        )

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes on disk) of all logs."""
        live = list(self._assembly.live())
        return sum(f.size - f.remaining for f in live), sum(f.size for f in live)

    def estimated_progress(self) -> tuple[int, int]:
        """(bytes read, estimated bytes on disk): the size of a log that was not examined yet is the mean of others."""
        live = list(self._assembly.live())
        read, size = self.progress()
        examined = sum(f.modified == f.modified for f in live)
        return read, round(size * len(live) / examined) if examined else 0

    def newest_change(self) -> float:
        """Time of the last change of any log (s since the epoch); 0 without logs."""
        return max((followed.modified for followed in self._assembly.live() if followed.modified > 0), default=0.0)


def _newest_first(followed: Followed) -> float:
    """A key that sorts logs by descending time of change, those never examined first."""
    modified = followed.modified
    return -modified if modified == modified else float("-inf")
