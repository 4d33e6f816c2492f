"""Group logs into runs and begin to follow them as streams.

The groups are those of `group_runs` for all files that are known now; what is followed is brought into agreement with
them, so a log is read again from its beginning if it is in another run than before.

Some files have no metrics and are in the directory of no run that has. They are not runs of their own (a screen full
of empty runs would be useless) unless there are no metrics at all. They are kept as UnassignedFile:

- Console text that is above several runs, or neither above nor below one, is a run once its beginning or its end has a
  point.
- A config, and a log that cannot be read, waits for metrics to appear in its directory.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tuimon.formats import Format, kind
from tuimon.model.events import Event, RunFound, StreamFound, StreamReplaced, StreamStatus
from tuimon.model.log_names import log_name
from tuimon.reader.discovery import Discovery
from tuimon.reader.follow import Followed
from tuimon.reader.grouping import group_runs
from tuimon.reader.log_chains import training_key
from tuimon.reader.naming import SwanLabNames
from tuimon.reader.recognition import as_grouped
from tuimon.reader.trainings import Trainings
from tuimon.sources import filesystem
from tuimon.sources.grouped_files import GroupedFile, Member, RunLogs, natural_order
from tuimon.sources.overrides import load_overrides
from tuimon.sources.scan import FoundFile
from tuimon.text import clean

TEXT_WITHOUT_RUN = "text without metrics that is of no run, or of which one is unknown: --join says it"
CONFIG_WITHOUT_RUN = "no metrics beside it"


class UnassignedFile(Struct):
    """A file without metrics that is not part of a run."""

    member: Member
    file: FoundFile
    format: Format

    @property
    def is_text(self) -> bool:
        return kind(self.format.id) == "stream"


class RunAssembly:
    """The runs with their streams, and the files that are not part of a run."""

    def __init__(self, roots: Sequence[str], discovery: Discovery) -> None:
        self.streams: list[Followed] = []
        """All streams ever announced, by id."""
        self.runs: dict[str, int] = {}
        """Run id by path."""
        self.unassigned: dict[str, UnassignedFile] = {}
        """By path."""
        self._roots = roots
        self._recognition = discovery.recognition
        self._supersession = discovery.supersession
        self._databases = discovery.databases
        self._reconsider = discovery.reconsider
        self._by_path: dict[str, Followed] = {}
        """The log that is followed at each path."""
        self._left_out: set[str] = set()
        """Paths of files that are recognised and need not be examined again."""
        self._group_at: dict[str, RunLogs] = {}
        """Group by the path of a run."""
        self._next_run = 0
        self.is_outdated = False
        """Whether logs have got points that can change their runs since they were grouped."""
        self._with_metrics: set[str] = set()
        """Paths of the groups that hold metrics."""
        self._announced: dict[int, tuple[str, str]] = {}
        """(name, path) of each run as announced, by id."""
        self._mounts = filesystem.Mounts()
        self._swanlab_names = SwanLabNames()
        self._trainings = Trainings()
        self._overrides = load_overrides(roots)

    def __contains__(self, path: object) -> bool:
        """Is the file at this path followed, unassigned or left out?"""
        known = self._by_path, self.unassigned, self._left_out
        return any(path in paths for paths in known)

    def at(self, path: str) -> Sequence[Followed]:
        """The logs that are read from the file at `path`: one, or the runs of a database (also for its -wal)."""
        database = self._databases.at(path)
        paths = [path] if database is None else database.runs
        return [self._by_path[log] for log in paths if log in self._by_path]

    def live(self) -> Iterator[Followed]:
        """All logs that are read."""
        return (f for f in self.streams if not f.retired and not f.format.unsupported)

    def add(self, new_logs: Iterable[tuple[FoundFile, Format]]) -> Iterator[Event]:
        """Follow new logs. Yields RunFound before the streams of the run, which are in the order of their names."""
        yield from self._group({file.path: (file, log_format) for file, log_format in new_logs})

    def may_move(self, path: str) -> bool:
        """Return whether a log can be in another run once it has points."""
        return path in self._trainings.undecided

    def look_for_points(self) -> None:
        """Note whether texts of no run have points now, by which `regroup` makes them runs."""
        texts = (path for path, item in self.unassigned.items() if item.is_text)
        self.is_outdated = self.is_outdated or any(map(self._trainings.has_points, texts))

    def regroup(self) -> Generator[Event, None, list[Followed]]:
        """Group all logs again. Returns those that are to be read from their beginnings."""
        self.is_outdated = False
        count = len(self.streams)
        yield from self._group({})
        return [log for log in self.streams[count:] if self.is_followed(log)]

    def _group(self, new: dict[str, tuple[FoundFile, Format]]) -> Iterator[Event]:
        """Group all logs, and follow those that are new or in another run than before."""
        waiting = new | {path: (item.file, item.format) for path, item in self.unassigned.items()}
        formats = {log.path: log.format for log in self.streams} | {path: pair[1] for path, pair in waiting.items()}
        self._trainings.formats = formats
        names = self._recognition.metric_names
        files = {path: as_grouped(path, format, names.get(path, frozenset())) for path, format in formats.items()}
        groups = group_runs(files.values(), self._roots, self._trainings, self._overrides)
        self._group_at = {group.path: group for group in groups}
        self._with_metrics = {group.path for group in groups if group.has_metrics}
        runs = [group for group in groups if self._is_run(group, files)]
        self._number_runs(runs)
        for group in runs:
            for member in group.members:
                log = self._by_path.get(member.path)
                if log is not None and member.path not in waiting and self._has_moved(log, group, member):
                    waiting[member.path] = log.since, log.format
                    yield from _retire(log, f"in run {clean(group.name)} now")
        for group in groups:
            members = [member for member in group.members if member.path in waiting]
            members.sort(key=lambda member: (natural_order(log_name(member.path).live), member.part))
            members.sort(key=lambda member: self._supersession.sort_key(*waiting[member.path]))
            if group.path not in self.runs:
                for member in members:
                    self.unassigned[member.path] = UnassignedFile(member, *waiting[member.path])
            else:
                yield from self._announce_run(group)
                for member in members:
                    yield from self._follow(group, member, *waiting[member.path])
                yield from self._order_files(group)
        for path, item in self.unassigned.items():
            reason = TEXT_WITHOUT_RUN if item.is_text else item.format.advice or CONFIG_WITHOUT_RUN
            self._recognition.leave_out(path, reason)

    def _number_runs(self, groups: Sequence[RunLogs]) -> None:
        """Set the id of each run: that of its path, else that of most of its logs if their run is no more."""
        before, self.runs = (
            self.runs,
            {group.path: self.runs[group.path] for group in groups if group.path in self.runs},
        )
        free = set(before.values()).difference(self.runs.values())
        for group in groups:
            if group.path not in self.runs:
                logs = (self._by_path.get(member.path) for member in group.members)
                ids = Counter(log.found.run for log in logs if log is not None and log.found.run in free)
                if not ids:
                    ids[self._next_run] = 1
                    self._next_run += 1
                (self.runs[group.path], _) = ids.most_common(1)[0]
                free.discard(self.runs[group.path])

    def _has_moved(self, log: Followed, group: RunLogs, member: Member) -> bool:
        """Return whether a log is followed as part of another run, or with another prefix, than that of its group."""
        return not log.retired and (log.found.run, log.found.prefix) != (self.runs[group.path], member.prefix)

    def attempts_of(self, run: int) -> dict[str, int]:
        """Return the number of the attempt by path, of a run whose attempts have files of their own; else {}."""
        path = next((path for path, id in self.runs.items() if id == run), "")
        group = self._group_at.get(path)
        return _file_attempts(group.members) if group is not None else {}

    def rules(self) -> dict[str, str]:
        """Return why each log is in its run, by path, in the words of docs/targets.md."""
        return {member.path: member.rule for group in self._group_at.values() for member in group.members}

    def is_followed(self, followed: Followed) -> bool:
        """Is it still the log that is followed at its path?"""
        return self._by_path.get(followed.path) is followed

    def _is_run(self, group: RunLogs, files: Mapping[str, GroupedFile]) -> bool:
        """Files without metrics are a run only if a text has points, or if there are no metrics anywhere."""
        if group.has_metrics or group.path in self.runs:
            return True
        paths = [member.path for member in group.members]
        if not self._with_metrics and not all(files[path].beside for path in paths):
            return True
        return any(map(self._trainings.has_points, paths))

    def _announce_run(self, group: RunLogs) -> Iterator[Event]:
        run = self.runs[group.path]
        if self._announced.get(run) != (group.name, group.path):
            self._announced[run] = group.name, group.path
            yield RunFound(run, clean(group.name), group.path)

    def _follow(self, group: RunLogs, member: Member, file: FoundFile, log_format: Format) -> Iterator[Event]:
        """Follow a file as part of its run, unless its run has metrics elsewhere or a newer file supersedes it."""
        if log_format.unsupported and log_format.describes_run and group.path in self._with_metrics:
            self.unassigned.pop(member.path, None)
            self._recognition.leave_out(member.path, "its run has metrics")
            self._left_out.add(member.path)
            return
        if (newer := self._supersession.newer(file, log_format)) is not None:
            self._recognition.skip(file, f"superseded by {clean(newer.path)}")
            return
        if self.unassigned.pop(member.path, None) is not None:
            self._recognition.forgive(member.path)
        followed = self._new_followed(member, self.runs[group.path], file, log_format)
        yield from self._announce(followed)
        if (older := self._supersession.follow(followed)) is not None:
            self._recognition.leave_out(older.path, f"superseded by {clean(followed.path)}")
            yield from _retire(older, f"superseded by {clean(followed.found.source)}")
            # A restarted training may write to the older file again, or has done so since the last look.
            del self._by_path[older.path]
            self._reconsider(older.path)

    def _order_files(self, group: RunLogs) -> Iterator[Event]:
        """Announce the streams whose source has changed, or their order in a source of several attempts, again.

        A file of a rotated log that is moved aside is found after the log that continues it, but began before. It can
        turn out later that a file goes on where another one has been."""
        sources: dict[str, list[tuple[Member, Followed]]] = defaultdict(list)
        for member in group.members:
            log = self._by_path.get(member.path)
            if log is not None and not log.retired:
                sources[member.joined or member.source].append((member, log))
        for source, logs in sources.items():
            orders = [log.found.order for _, log in logs]
            if any(member.joined for member, _ in logs):
                logs.sort(key=lambda pair: (pair[0].attempt, natural_order(log_name(pair[1].path).live), pair[0].part))
                orders.sort()
            for (_, log), order in zip(logs, orders, strict=True):
                if (log.found.source, log.found.order) != (source, order):
                    log.found = replace(log.found, source=source, order=order)
                    yield log.found

    def _new_followed(self, member: Member, run: int, file: FoundFile, log_format: Format) -> Followed:
        stream = len(self.streams)
        source = member.joined or member.source
        rank = 0 if log_format.counts_episodes else log_format.rank
        event = StreamFound(
            stream, run, source, member.path, log_format.id, rank, member.prefix, stream, log_format.of_machine
        )
        database = self._databases.of(member.path)
        remote = self._mounts.is_remote(os.path.dirname(member.path))
        return Followed(event, log_format, file, self._swanlab_names, member.source, remote, database)

    def _announce(self, followed: Followed) -> Iterator[Event]:
        self.streams.append(followed)
        self._by_path[followed.path] = followed
        yield followed.found
        if followed.format.unsupported and (status := followed.changed_status()):
            yield status


def _retire(followed: Followed, message: str) -> Iterator[Event]:
    """End a stream that another one replaces."""
    stream, size = followed.found.stream, followed.size
    followed.retired = True
    yield StreamReplaced(stream)
    yield StreamStatus(stream, "superseded", message, size, size, followed.modified, 0)


def _file_attempts(members: Sequence[Member]) -> dict[str, int]:
    """Return the number of the attempt by path; {} if there is only one.

    A file without points, such as slurm-1001.err, is of the attempt that its name says."""
    if not any(member.attempt for member in members):
        return {}
    attempts = {member.path: member.attempt for member in members if member.joined}
    by_name = {training_key(path): number for path, number in attempts.items()}
    for member in members:
        if (key := training_key(member.path)) in by_name:
            attempts.setdefault(member.path, by_name[key])
    return attempts
