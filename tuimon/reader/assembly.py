"""Group logs into runs and begin to follow them as streams.

Some files have no metrics and are in the directory of no run that has. They are not runs of their own (a screen full
of empty runs would be useless) unless there are no metrics at all. They are kept as UnassignedFile:

- Console text above several runs is shown with the run that was written last, and continues with the next run when
  that begins. So each run has the text that was written while it was the newest.
- Of several such texts, one that names the directory of a single run, as W&B and SwanLab print it, is shown with this
  run.
- Console text below a run is shown with that run.
- Console text that is neither above nor below a run is read without being reported.
- If such text contains a point it becomes a run, from its beginning. But text that names the directory of a single run
  below it is a log of this run, with its points.
- A config, and a log that cannot be read, waits for metrics to appear in its directory.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from tuimon.formats import Format
from tuimon.model.events import Event, RunFound, StreamFound, StreamReplaced, StreamStatus
from tuimon.model.log_names import log_name
from tuimon.ranks.evidence import FileAttempt
from tuimon.reader.discovery import Discovery
from tuimon.reader.file_attempts import file_attempts
from tuimon.reader.follow import Followed
from tuimon.reader.naming import SwanLabNames
from tuimon.reader.recognition import as_grouped
from tuimon.reader.trainings import Trainings
from tuimon.reader.unassigned_file import UnassignedFile
from tuimon.sources import filesystem
from tuimon.sources.grouped_files import GroupedFile, Member, RunGroup, natural_order
from tuimon.sources.runs import group_runs
from tuimon.sources.scan import FoundFile
from tuimon.text import clean

TEXT_WITHOUT_RUN = "text without metrics, near no run"
CONFIG_WITHOUT_RUN = "no metrics beside it"


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
        self._groups: tuple[RunGroup, ...] = ()
        self._group_at: dict[str, RunGroup] = {}
        """Group by the path of a run."""
        self._paths: dict[int, str] = {}
        """Path by run id."""
        self._with_metrics: set[str] = set()
        """Paths of the groups that hold metrics."""
        self._joined: set[str] = set()
        """Paths of texts that are logs of the runs whose directories they name."""
        self._run_names: dict[int, str] = {}
        self._mounts = filesystem.Mounts()
        self._swanlab_names = SwanLabNames()
        self._trainings = Trainings()
        self._runs_themselves: set[str] = set()
        """Paths of texts with points of several trainings above other runs; each training is a run."""

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
        yield from (f for f in self.streams if not f.retired and not f.format.unsupported)
        yield from self.unreported()

    def unreported(self) -> Iterator[Followed]:
        """Text that is read only to see whether it contains points."""
        return (file.followed for file in self.unassigned.values() if file.followed and file.host is None)

    def add(self, new_logs: Iterable[tuple[FoundFile, Format]]) -> Iterator[Event]:
        """Follow new logs. Yields RunFound before the streams of the run, which are in the order of their names."""
        yield from self._group({file.path: (file, log_format) for file, log_format in new_logs})

    def _group(self, formats: dict[str, tuple[FoundFile, Format]], undecided: Iterable[str] = ()) -> Iterator[Event]:
        """Group all logs and follow new ones. undecided: paths of followed logs that can be in another run now."""
        formats |= {path: (item.file, item.format) for path, item in self.unassigned.items()}
        names = self._recognition.metric_names
        unknown = frozenset[str]()
        files = {f.path: as_grouped(f.path, f.format, names.get(f.path, unknown)) for f in self.streams}
        files |= {
            path: as_grouped(path, log_format, names.get(path, unknown)) for path, (_, log_format) in formats.items()
        }
        for path in self._runs_themselves:
            files[path] = replace(files[path], companion=False)
        known = [
            replace(group, members=tuple(m for m in group.members if m.path not in undecided))
            for group in self._groups
            if group.path in self.runs
        ]
        self._trainings.formats |= {path: log_format for path, (_, log_format) in formats.items()}
        self._groups = group_runs(files.values(), self._roots, known, self._trainings)
        self._group_at = {group.path: group for group in self._groups}
        self._with_metrics = {group.path for group in self._groups if group.has_metrics}
        for group in self._groups:
            for moved in [self._by_path[m.path] for m in group.members if self._was_elsewhere(m, group)]:
                formats[moved.path] = moved.since, moved.format
                yield from _retire(moved, f"in its own run {clean(group.name)} now")
            members = [m for m in group.members if m.path in formats]
            members.sort(key=lambda m: file_order(m.path))
            members.sort(key=lambda m: self._supersession.sort_key(*formats[m.path]))
            if not self._is_run(group, files):
                for member in members:
                    item = self.unassigned.setdefault(member.path, UnassignedFile(group, member, *formats[member.path]))
                    item.group, item.member = group, member
            elif members or group.path in self.runs:
                yield from self._announce_run(group)
                for member in members:
                    yield from self._follow(group, member, *formats[member.path])
                yield from self._join_files(group)
        for item in self.unassigned.values():
            yield from self._place(item)

    def promote(self, path: str) -> Generator[Event, None, list[Followed]]:
        """Make an unassigned text that contains a point a run, with the other unassigned files of its group, or a log
        of the run whose directory it names.

        Returns the logs that are to be read from their beginnings. A text that was shown with the run that it names
        already is followed further instead."""
        item = self.unassigned[path]
        if (owner := self._run_named(item)) is not None:
            return (yield from self._join(item, owner))
        if texts := self._of_several_trainings(item):
            self._runs_themselves.update(texts)
            yield from self._group({})
            return [self._by_path[text] for text in texts if text in self._by_path]
        group = item.group
        yield from self._announce_run(group)
        self._with_metrics.add(group.path)
        items = [item for item in self.unassigned.values() if item.group is group]
        for item in items:
            yield from self._follow(group, item.member, item.file, item.format)
        return [self._by_path[item.member.path] for item in items if item.member.path in self._by_path]

    def attempts_of(self, run: int) -> dict[str, FileAttempt]:
        """Return the attempts of the training by path, of a run whose attempts have files of their own; else {}."""
        group = self._group_at.get(self._paths.get(run, ""))
        return file_attempts(group.members, self._by_path) if group is not None else {}

    def is_undecided(self, path: str) -> bool:
        """Return whether a log had too few points to know whether it is of another training than its directory."""
        return path in self._trainings.undecided

    def decide(self, path: str) -> Generator[Event, None, list[Followed]]:
        """Move a log that has more points now to a run of its own, or another one, if it is of another training.

        Returns the log that is to be read from its beginning then."""
        before = self._by_path.get(path)
        yield from self._group({}, {path})
        after = self._by_path.get(path)
        return [] if after is None or after is before else [after]

    def _of_several_trainings(self, item: UnassignedFile) -> list[str]:
        """Return the paths of the texts beside an unassigned one that name no run, if they are of several trainings."""
        texts = [
            other
            for other in self.unassigned.values()
            if other.group is item.group and other.is_text and self._run_named(other) is None
        ]
        files = [as_grouped(other.file.path, other.format) for other in texts if other.format is item.format]
        return list(self._trainings.of(files).names)

    def _join(self, item: UnassignedFile, run: int) -> Generator[Event, None, list[Followed]]:
        """Make a text a log of a run. Returns it if it has to be read from its beginning."""
        path = item.member.path
        self.unassigned.pop(path)
        self._recognition.forgive(path)
        self._joined.add(path)
        if item.followed is not None and item.host == run:
            return []
        if item.followed is not None and item.followed.found.stream >= 0:
            yield from _retire(item.followed, f"in run {self._run_names[run]} now")
        followed = self._new_followed(item.member, run, item.file, item.format)
        yield from self._announce(followed)
        return [followed]

    def is_followed(self, followed: Followed) -> bool:
        """Is it still the log that is followed at its path?"""
        return self._by_path.get(followed.path) is followed

    def _is_run(self, group: RunGroup, files: Mapping[str, GroupedFile]) -> bool:
        """Files without metrics are a run only if there are no metrics anywhere."""
        if self._is_run_path(group.path):
            return True
        return not self._with_metrics and not all(files[member.path].beside for member in group.members)

    def _was_elsewhere(self, member: Member, group: RunGroup) -> bool:
        """Return whether a file is followed as part of another run than that of its group."""
        followed = self._by_path.get(member.path)
        if followed is None or followed.retired or member.path in self.unassigned or member.path in self._joined:
            return False
        return self._is_run_path(group.path) and followed.found.run not in (-1, self.runs.get(group.path))

    def _is_run_path(self, path: str) -> bool:
        return path in self.runs or path in self._with_metrics

    def _announce_run(self, group: RunGroup) -> Iterator[Event]:
        run = self.runs.setdefault(group.path, len(self.runs))
        self._paths[run] = group.path
        if self._run_names.get(run) != group.name:
            self._run_names[run] = group.name
            yield RunFound(run, clean(group.name), group.path)

    def _follow(self, group: RunGroup, member: Member, file: FoundFile, log_format: Format) -> Iterator[Event]:
        """Follow a file as part of its run, unless its run has metrics elsewhere or a newer file supersedes it."""
        if log_format.unsupported and log_format.describes_run and group.path in self._with_metrics:
            self.unassigned.pop(member.path, None)
            self._recognition.leave_out(member.path, "its run has metrics")
            self._left_out.add(member.path)
            return
        if (newer := self._supersession.newer(file, log_format)) is not None:
            self._recognition.skip(file, f"superseded by {clean(newer.path)}")
            return
        item = self.unassigned.pop(member.path, None)
        if item is not None:
            self._recognition.forgive(member.path)
            if item.followed is not None and item.followed.found.stream >= 0:
                yield from _retire(item.followed, f"in its own run {clean(group.name)} now")
        followed = self._new_followed(member, self.runs[group.path], file, log_format)
        yield from self._announce(followed)
        if (older := self._supersession.follow(followed)) is not None:
            self._recognition.leave_out(older.path, f"superseded by {clean(followed.path)}")
            yield from _retire(older, f"superseded by {clean(followed.found.source)}")
            # A restarted training may write to the older file again, or has done so since the last look.
            del self._by_path[older.path]
            self._reconsider(older.path)

    def _join_files(self, group: RunGroup) -> Iterator[Event]:
        """Announce the streams of files that are drawn as one source again, if their source or order has changed.

        A file of a rotated log that is moved aside is found after the log that continues it, but began before. It can
        turn out later that a file goes on where another one has been."""
        joined: dict[str, list[tuple[Member, Followed]]] = {m.joined: [] for m in group.members if m.joined}
        for member in group.members if joined else ():
            log, logs = self._by_path.get(member.path), joined.get(member.joined or member.source)
            if logs is not None and log is not None and not log.retired and log.found.stream >= 0:
                logs.append((member, log))
        for source, logs in joined.items():
            logs.sort(key=lambda pair: (pair[0].attempt, file_order(pair[1].path)))
            for (_, log), order in zip(logs, sorted(log.found.order for _, log in logs), strict=True):
                if (log.found.source, log.found.order) != (source, order):
                    log.found = replace(log.found, source=source, order=order)
                    yield log.found

    def _new_followed(self, member: Member, run: int, file: FoundFile, log_format: Format) -> Followed:
        """run: -1 for text that is not reported."""
        stream = len(self.streams) if run >= 0 else -1
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

    def _place(self, item: UnassignedFile) -> Iterator[Event]:
        """Show text with the newest run below it; without such a run, read it unreported."""
        path = item.member.path
        if not item.is_text:
            reason = item.format.advice or CONFIG_WITHOUT_RUN
            self._recognition.leave_out(path, reason)
            return
        host = self._host(item)
        if host is None and item.followed is None:
            self._recognition.leave_out(path, TEXT_WITHOUT_RUN)
            item.followed = self._by_path[path] = self._new_followed(item.member, -1, item.file, item.format)
        elif host is not None and host != item.host:
            self._recognition.forgive(path)
            if item.followed is None or item.host is None:
                item.followed = self._new_followed(item.member, host, item.file, item.format)
            else:
                item.followed.retired = True
                item.followed = item.followed.moved(len(self.streams), host)
            item.host = host
            yield from self._announce(item.followed)

    def _host(self, item: UnassignedFile) -> int | None:
        """Id of the run with which text is shown: the one below that it names, the one below that was written last, or
        the nearest one above."""
        runs = self._runs_below(item)
        texts = [other for other in self.unassigned.values() if other.group.path == item.group.path and other.is_text]
        if len(texts) > 1 and (named := self._run_named(item)) is not None:
            return named
        shown = {id(other.followed) for other in texts}
        times = [
            (max(f.since.modified, f.modified), f.found.run)
            for f in self.streams
            if f.found.run in runs and id(f) not in shown
        ]
        if times:
            return max(times)[1]
        above = item.group.path
        while above != (above := os.path.dirname(above)):
            if above in self._with_metrics:
                return self.runs[above]
        return None

    def _runs_below(self, item: UnassignedFile) -> Mapping[int, str]:
        """Paths of the runs with metrics below the directory of a text, by id."""
        inside = f"{item.group.path.rstrip('/')}/"
        return {self.runs[path]: path for path in self._with_metrics if path.startswith(inside)}

    def _run_named(self, item: UnassignedFile) -> int | None:
        """Id of the run whose directory a text names; None unless there are several below and it names one of them."""
        runs = self._runs_below(item)
        if len(runs) < 2:
            return None
        named = [run for run, path in runs.items() if item.names(os.path.basename(path))]
        return named[0] if len(named) == 1 else None


def _retire(followed: Followed, message: str) -> Iterator[Event]:
    """End a stream that another one replaces."""
    stream, size = followed.found.stream, followed.size
    followed.retired = True
    yield StreamReplaced(stream)
    yield StreamStatus(stream, "superseded", message, size, size, followed.modified, 0)


def file_order(path: str) -> tuple[list[str | int], tuple[int, str]]:
    """A key that sorts files by name, and the files of a rotated log from the oldest to the newest."""
    name = log_name(path)
    return natural_order(name.live), name.age
