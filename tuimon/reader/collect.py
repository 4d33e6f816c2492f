"""Which logs there are below some paths, and following all of them.

collector = Collector(["logs"])
for event in collector.find(): …      look for logs; again later: what is new
for event in collector.preview(): …   the last points of large logs, before their history is read
for event in collector.read(): …      a block of each log that has grown, the newest first
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from tuimon.formats import DatabaseDecoder, Format, is_wanted, kind
from tuimon.model.events import Event, RunFound, StreamFound, StreamReplaced, StreamStatus
from tuimon.model.points import Item, Points
from tuimon.reader.checkpoints import Checkpoints
from tuimon.reader.database import Databases
from tuimon.reader.events import Announcer, preview
from tuimon.reader.follow import BLOCK, Followed
from tuimon.reader.notices import Notices
from tuimon.reader.pace import Rounds
from tuimon.reader.recognition import Recognition, as_grouped, nothing_found
from tuimon.reader.strays import DESCRIBES_NONE, TEXT_OF_NONE, Stray
from tuimon.reader.superseding import Newest
from tuimon.sources import filesystem
from tuimon.sources.runs import GroupedFile, Member, RunGroup, group_runs
from tuimon.sources.scan import FoundFile, Problem, Scan, rescan, scan
from tuimon.sources.swanlab_names import SwanLabNames
from tuimon.text import clean

PREVIEWS = 32
"""Logs of which the end is read first, the newest ones: a screen shows no more."""
_MANY, _WIDE = 1000, 4
"""Of a log with more metrics than this, so many blocks are read at once."""


class Collector:
    """Finds logs, groups them into runs, follows them. Everything it tells is an Event."""

    def __init__(self, roots: Sequence[str], console_patterns: Sequence[str] = ()) -> None:
        """console_patterns: of a user's own console lines, see Settings. Raises UsageError for what is none."""
        self.roots = [os.path.abspath(root) for root in roots]
        self._streams: list[Followed] = []
        """By stream id."""
        self.recognition = Recognition(console_patterns)
        self.problems: tuple[Problem, ...] = ()
        self._scan: Scan | None = None
        self._announcers: list[Announcer] = []
        self._known: dict[str, Followed] = {}
        self._databases = Databases()
        self._groups: tuple[RunGroup, ...] = ()
        self._with_metrics: set[str] = set()
        """Paths of the groups that hold metrics."""
        self._strays: dict[str, Stray] = {}
        self._waiting: list[FoundFile] = []
        """Found, and no log as long as they stay as they are."""
        self._nothing_more: set[str] = set()
        """Paths that were understood, and need no second look."""
        self._runs: dict[str, int] = {}
        self._run_names: dict[int, str] = {}
        self._newest = Newest()
        self._checkpoints = Checkpoints()
        self._retired: set[int] = set()
        self._notices = Notices()
        self._mounts = filesystem.Mounts()
        self._closed: set[str] = set()
        self._swanlab_names = SwanLabNames()
        self._previewed = 0
        """Streams up to this one were asked for a preview."""
        self._rounds: Rounds[Followed] = Rounds()
        self._silent_rounds: Rounds[Followed] = Rounds()

    @property
    def followed(self) -> list[Followed]:
        """All that was ever followed: by stream id, then what is read in silence."""
        return [*self._streams, *self._silent()]

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """(path, reason) of files that looked like a log by their name and are not read, or hold no run yet."""
        return [*self.recognition.skipped, *self._databases.silent()]

    @property
    def directories(self) -> list[str]:
        """Those in which a log lies or could appear; those with logs first, the newest log's first of all."""
        with_logs: dict[str, None] = {}
        for followed in sorted(self._live(), key=lambda f: -_known_time(f.modified)):
            with_logs.setdefault(os.path.dirname(followed.file))
        entered = self._scan.directories if self._scan else ()
        return list(dict.fromkeys([*with_logs, *entered]))

    @property
    def behind(self) -> bool:
        """Is there more on disk than has been read?"""
        return any(followed.behind for followed in self._live())

    @property
    def partly_unreadable(self) -> bool:
        states = ("unreadable", "unsupported")
        return (
            any(self._databases.unreadable())
            or any(f.damaged or f.status().state in states for f in self.followed)
            or any(stray.format.unsupported for stray in self._strays.values())
        )

    def progress(self) -> tuple[int, int]:
        """Bytes read and bytes on disk, of all that is followed."""
        live = list(self._live())
        return sum(f.size - f.remaining for f in live), sum(f.size for f in live)

    def newest_change(self) -> float:
        """When the newest of the logs was last changed, seconds since the epoch; 0 without one."""
        return max((followed.modified for followed in self._live() if followed.modified > 0), default=0.0)

    def require_something(self) -> None:
        """Raises NothingFound unless there is a log."""
        if not self.followed:
            raise nothing_found(self.roots, self.skipped, self.problems)

    # ------------------------------------------------------------------ finding

    @property
    def searched(self) -> bool:
        """Has all been looked into? Not so after a `find` in a hurry, and the next one does."""
        return self._scan is not None and not self._scan.hurried

    def find(self, hurry: bool = False) -> Iterator[Event]:
        """Looks for logs. The first call looks everywhere, later ones where something has changed.

        hurry: the first call leaves all but the newest of many checkpoints to the second."""
        before = self._scan
        self._scan = scan(self.roots, is_wanted, hurry=hurry) if before is None else rescan(before)
        self.problems = self._scan.problems
        if self._scan is not before:
            self._waiting = [file for file in self._scan.files if not self._is_known(file.path)]
        fresh: list[tuple[FoundFile, Format]] = []
        waiting, self._waiting = self._newest.in_order(self._waiting), []
        for file in waiting:
            if newer := self._newest.repeated_by(file):
                self.recognition.leave_out(file.path, f"superseded by {clean(newer)}")
                continue
            log_format = self.recognition.format_of(file)
            if log_format is None:
                self._waiting.append(file)
                continue
            self._newest.recognised(file, log_format)
            if kind(log_format.id) == "database":
                self._databases.add(file, log_format, cast(DatabaseDecoder, log_format.decoder()))
            else:
                fresh.append((file, log_format))
        fresh += self._databases.new_runs()
        if fresh:
            yield from self._begin(fresh)
        if self.searched:
            yield from self._checkpoints.news(self._scan.checkpoints, self._runs)
        yield from self._notices.of_unread(self._streams, self._strays.items(), self._databases.unreadable())
        yield from self._notices.of_problems(self.problems)

    def _is_known(self, path: str) -> bool:
        known = path in self._known or path in self._databases
        return known or path in self._strays or path in self._nothing_more

    def _begin(self, fresh: Iterable[tuple[FoundFile, Format]]) -> Iterator[Event]:
        """Follows new files: their runs are told first, then the streams, in the order of their names."""
        formats = {file.path: (file, log_format) for file, log_format in fresh}
        formats |= {path: (stray.file, stray.format) for path, stray in self._strays.items()}
        every = {f.path: as_grouped(f.path, f.format) for f in self._streams}
        every |= {path: as_grouped(path, log_format) for path, (_, log_format) in formats.items()}
        announced = [group for group in self._groups if group.path in self._runs]
        self._groups = group_runs(every.values(), self.roots, announced)
        self._with_metrics = {g.path for g in self._groups if not all(every[m.path].companion for m in g.members)}
        for group in self._groups:
            members = [m for m in group.members if m.path in formats]
            members.sort(key=lambda m: _in_order(m.path))
            members.sort(key=lambda m: self._newest.order(*formats[m.path]))
            if not self._makes_run(group, every):
                for member in members:
                    stray = self._strays.setdefault(member.path, Stray(group, member, *formats[member.path]))
                    stray.group, stray.member = group, member
            elif members or group.path in self._runs:
                yield from self._run(group)
                for member in members:
                    yield from self._follow(group, member, *formats[member.path])
        for stray in self._strays.values():
            yield from self._place(stray)

    def _makes_run(self, group: RunGroup, every: Mapping[str, GroupedFile]) -> bool:
        """Files without metrics are a run only where there are no metrics anywhere."""
        if group.path in self._runs or group.path in self._with_metrics:
            return True
        return not self._with_metrics and not all(every[member.path].beside for member in group.members)

    def _follow(self, group: RunGroup, member: Member, file: FoundFile, log_format: Format) -> Iterator[Event]:
        """Follow a file as a part of its run."""
        if log_format.unsupported and log_format.describes_run and group.path in self._with_metrics:
            self._strays.pop(member.path, None)
            self.recognition.leave_out(member.path, "its run has metrics")
            self._nothing_more.add(member.path)
            return
        if (newer := self._newest.newer_than(file, log_format)) is not None:
            self.recognition.skip(file, f"superseded by {clean(newer.path)}")
            return
        stray = self._strays.pop(member.path, None)
        if stray is not None:
            self.recognition.forgive(member.path)
            if stray.followed is not None and stray.followed.found.stream >= 0:
                yield from self._retire(stray.followed, f"in its own run {clean(group.name)} now")
        followed = self._followed(member, self._runs[group.path], file, log_format)
        yield from self._announce(followed)
        if (older := self._newest.put(followed)) is not None:
            self.recognition.leave_out(older.path, f"superseded by {clean(followed.path)}")
            yield from self._retire(older, f"superseded by {clean(followed.found.source)}")
            # A training that is begun again may write there once more, or has done so since the last look.
            del self._known[older.path]
            self._waiting += [one for one in self._scan.files if one.path == older.path] if self._scan else []

    def _followed(self, member: Member, run: int, file: FoundFile, log_format: Format) -> Followed:
        """run: -1 for text that is read in silence."""
        stream = len(self._streams) if run >= 0 else -1
        found = StreamFound(
            stream, run, member.source, member.path, log_format.id, log_format.rank, member.prefix, stream
        )
        database = self._databases.of(member.path)
        remote = self._mounts.is_remote(os.path.dirname(member.path))
        return Followed(found, log_format, file, self._swanlab_names, remote, database)

    def _announce(self, followed: Followed) -> Iterator[Event]:
        self._streams.append(followed)
        self._announcers.append(Announcer(followed.found.stream))
        self._known[followed.path] = followed
        yield followed.found
        if followed.format.unsupported and (status := followed.news()):
            yield status

    # Files without metrics of their own, among runs that have some: see strays.py.

    def _place(self, stray: Stray) -> Iterator[Event]:
        """Give a stray to the run that it may tell of; text that none is found for is read in silence."""
        path = stray.member.path
        if not stray.is_text:
            self.recognition.leave_out(path, stray.format.unsupported or DESCRIBES_NONE)
            return
        host = self._newest_below(stray.group)
        if host is None and stray.followed is None:
            self.recognition.leave_out(path, TEXT_OF_NONE)
            stray.followed = self._known[path] = self._followed(stray.member, -1, stray.file, stray.format)
        elif host is not None and host != stray.host:
            self.recognition.forgive(path)
            if stray.followed is None or stray.host is None:
                stray.followed = self._followed(stray.member, host, stray.file, stray.format)
            else:
                self._retired.add(stray.followed.found.stream)
                stray.followed = stray.followed.moved(len(self._streams), host)
            stray.host = host
            yield from self._announce(stray.followed)

    def _newest_below(self, above: RunGroup) -> int | None:
        """Of the runs with metrics below a directory, the one that was written last."""
        inside = f"{above.path.rstrip('/')}/"
        runs = {self._runs[path] for path in self._with_metrics if path.startswith(inside)}
        times = [(max(f.since.modified, f.modified), f.found.run) for f in self._streams if f.found.run in runs]
        return max(times, default=(0.0, None))[1]

    def _gets_run(self, stray: Stray) -> Iterator[Event]:
        """It has a point after all: it is a run, with all that lies beside it."""
        yield from self._run(stray.group)
        self._with_metrics.add(stray.group.path)
        beside = [one for one in self._strays.values() if one.group is stray.group]
        for one in beside:
            yield from self._follow(one.group, one.member, one.file, one.format)
        for one in beside:
            yield from self._read(self._known[one.member.path])

    def _run(self, group: RunGroup) -> Iterator[Event]:
        run = self._runs.setdefault(group.path, len(self._runs))
        if self._run_names.get(run) != group.name:
            self._run_names[run] = group.name
            yield RunFound(run, clean(group.name), group.path)

    def _retire(self, followed: Followed, message: str) -> Iterator[Event]:
        """Another stream takes its place."""
        stream, size = followed.found.stream, followed.size
        self._retired.add(stream)
        yield StreamReplaced(stream)
        yield StreamStatus(stream, "superseded", message, size, size, followed.modified, 0)

    # ------------------------------------------------------------------ reading

    def hint(self, closed: Iterable[str]) -> None:
        """These files have just been closed or moved by their writers: documents are parsed at once."""
        self._closed.update(closed)

    def read(self, paths: Iterable[str] | None = None) -> Iterator[Event]:
        """A block of each log that has grown, the newest run first; of these paths alone when some are given."""
        if paths is None:
            now = time.time()
            found = self._rounds.next(self._streams, now) + self._silent_rounds.next(list(self._silent()), now)
        else:
            found = [f for path in paths for f in self._at(path)]
        there = (f for f in found if f.found.stream not in self._retired and not f.format.unsupported)
        chosen = [f for f in there if f.path in self._closed or not f.settled]
        if paths is None:
            newest: dict[int, float] = {}
            for f in chosen:  # one that has not been read yet has no time of its own
                newest[f.found.run] = max(newest.get(f.found.run, 0.0), f.since.modified, _known_time(f.modified, 0.0))
            chosen.sort(key=lambda f: (-newest[f.found.run], -_known_time(f.modified)))
        for followed in chosen:
            closed = followed.path in self._closed
            self._closed.discard(followed.path)
            yield from self._read(followed, closed)

    def preview(self) -> Iterator[Event]:
        """The last points of large logs that have not been read yet, the newest first. For whoever shows them while
        `read` gives the history, and them again."""
        waiting = [f for f in self._streams[self._previewed :] if f.can_preview and f.found.stream not in self._retired]
        self._previewed = len(self._streams)
        waiting.sort(key=lambda f: -f.since.modified)
        for followed in waiting[:PREVIEWS]:
            found = preview(followed.found.stream, followed.preview())
            if found.names:
                yield found
            else:
                followed.preview_end = 0

    def _read(self, followed: Followed, closed: bool = False) -> Iterator[Event]:
        if self._known.get(followed.path) is not followed:
            return  # another took its place in this round
        # Whoever takes a block does something for each metric in it: of thousands, much for a few points each.
        many = followed.found.stream >= 0 and self._announcers[followed.found.stream].metrics > _MANY
        yield from self._told(followed, followed.read(_WIDE * BLOCK if many else BLOCK, closed))
        if followed.preview_over:
            followed.preview_end = 0
            yield preview(followed.found.stream, ())
        if followed.found.stream >= 0 and followed.found.stream not in self._retired:
            status = followed.news()
            if status is not None:
                yield status

    def _told(self, followed: Followed, items: Iterable[Item]) -> Iterator[Event]:
        """What a file gave, as events."""
        stray = self._strays.get(followed.path)
        if stray is not None:
            items = list(items)
            if any(isinstance(item, Points) for item in items):
                yield from self._gets_run(stray)
                return
            if followed.found.stream < 0:
                return
        yield from self._announcers[followed.found.stream].events(items)

    def _at(self, path: str) -> Iterable[Followed]:
        """What is followed at a path: a file, or the runs of a database that has changed, or its -wal."""
        database = self._databases.at(path)
        if database is not None:
            return [self._known[run] for run in database.runs if run in self._known]
        return [self._known[path]] if path in self._known else []

    def flush(self) -> Iterator[Event]:
        """After a pause: a last record without its end is taken for whole where that can be told."""
        for followed in list(self._live()):
            yield from self._told(followed, followed.flush())

    def in_file_order(self) -> Iterator[tuple[str, Item]]:
        """(source, item) of every log from its beginning to its present end, file by file: for exports."""
        for followed in sorted(self._live(), key=lambda f: _in_order(f.path)):
            while True:
                for item in followed.read():
                    yield followed.found.source, item
                if followed.status().state != "reading":
                    break
            for item in followed.flush():
                yield followed.found.source, item

    def _live(self) -> Iterator[Followed]:
        yield from (f for f in self._streams if f.found.stream not in self._retired and not f.format.unsupported)
        yield from self._silent()

    def _silent(self) -> Iterator[Followed]:
        return (stray.followed for stray in self._strays.values() if stray.followed and stray.host is None)


def _in_order(path: str) -> list[str | int]:
    """A key that sorts 2000.log before 10000.log."""
    parts: list[str | int] = list(re.split(r"([0-9]+)", path))
    parts[1::2] = map(int, parts[1::2])
    return parts


def _known_time(value: float, otherwise: float = math.inf) -> float:
    return value if value == value else otherwise
