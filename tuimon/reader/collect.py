"""Which logs there are below some paths, and following all of them.

collector = Collector(["logs"])
for event in collector.find(): …      look for logs; again later: what is new
for event in collector.read(): …      a block of each log that has grown, the newest first
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tuimon.errors import FormatError, NothingFound
from tuimon.formats import DatabaseDecoder, Format, all_formats, recognise
from tuimon.model.events import Event, Notice, RunFound, StreamFound, StreamReplaced, StreamStatus
from tuimon.model.points import Item
from tuimon.reader.database import Database
from tuimon.reader.events import Announcer
from tuimon.reader.follow import BLOCK, Followed
from tuimon.sources import filesystem
from tuimon.sources.files import explain, open_regular
from tuimon.sources.runs import GroupedFile, RunGroup, group_runs
from tuimon.sources.scan import FoundFile, Problem, Scan, rescan, scan
from tuimon.sources.sqlite_copy import MAGIC, schema
from tuimon.text import clean

HEAD = 4096
"""Bytes by which a format is recognised."""
COMPANION = 10
"""Formats up to this rank (console text) belong to the run they lie beside, and make none of their own there."""
SAME_SAVE = 60.0
"""Seconds within which time stamps do not tell which of two copies is the newer (a copied directory)."""
QUIET = 600.0
"""Seconds without growth after which a log is looked at less often."""
QUIET_EVERY = 10
"""A quiet log is looked at in every tenth round."""


class Collector:
    """Finds logs, groups them into runs, follows them. Everything it tells is an Event."""

    def __init__(self, roots: Sequence[str]) -> None:
        self.roots = [os.path.abspath(root) for root in roots]
        self.followed: list[Followed] = []
        """By stream id."""
        self.skipped: list[tuple[str, str]] = []
        """(path, reason) of files that looked like a log by their name and are none."""
        self.problems: tuple[Problem, ...] = ()
        self._scan: Scan | None = None
        self._announcers: list[Announcer] = []
        self._known: dict[str, Followed] = {}
        self._databases: dict[str, tuple[Database, Format, FoundFile]] = {}
        """By path."""
        self._database_runs: dict[str, Database] = {}
        """By the path under which a run of it is followed."""
        self._undecided: dict[str, tuple[int, float]] = {}
        """Path -> (size, time of change) when it was last not recognised."""
        self._groups: tuple[RunGroup, ...] = ()
        self._runs: dict[str, int] = {}
        self._run_names: dict[int, str] = {}
        self._newest: dict[str, Followed] = {}
        """Key of superseding files -> the one that is followed."""
        self._retired: set[int] = set()
        self._told_problems: set[Problem] = set()
        self._remote: dict[str, bool] = {}
        self._closed: set[str] = set()
        self._round = 0

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
        return any(followed.remaining for followed in self._live() if followed.status().state == "reading")

    @property
    def partly_unreadable(self) -> bool:
        return any(f.damaged or f.status().state in ("unreadable", "unsupported") for f in self.followed)

    def progress(self) -> tuple[int, int]:
        """Bytes read and bytes on disk, of all that is followed."""
        live = list(self._live())
        return sum(f.size - f.remaining for f in live), sum(f.size for f in live)

    def require_something(self) -> None:
        """Raises NothingFound unless there is a log."""
        if not self.followed:
            raise nothing_found(self.roots, self.skipped, self.problems)

    # ------------------------------------------------------------------ finding

    def find(self) -> Iterator[Event]:
        """Looks for logs. The first call looks everywhere, later ones where something has changed."""
        self._scan = scan(self.roots, _wanted) if self._scan is None else rescan(self._scan)
        self.problems = self._scan.problems
        fresh: list[tuple[FoundFile, Format]] = []
        for file in self._scan.files:
            if file.path in self._known or file.path in self._databases:
                continue
            log_format = self._format_of(file)
            if log_format is None:
                continue
            decoder = None if log_format.unsupported else log_format.decoder()
            if isinstance(decoder, DatabaseDecoder):
                self._databases[file.path] = Database(file.path, decoder), log_format, file
            else:
                fresh.append((file, log_format))
        fresh += self._new_database_runs()
        if fresh:
            yield from self._begin(fresh)
        for problem in self.problems:
            if problem not in self._told_problems:
                self._told_problems.add(problem)
                yield Notice("warning", f"{clean(problem.path)}: {problem.reason}", problem.hint)

    def _new_database_runs(self) -> Iterator[tuple[FoundFile, Format]]:
        for database, log_format, file in self._databases.values():
            database.poll()
            for path in database.runs:
                if path not in self._known:
                    self._database_runs[path] = database
                    yield replace(file, path=path), log_format

    def _format_of(self, file: FoundFile) -> Format | None:
        """What a file is, None for what is no log, or not one yet."""
        look = (file.size, file.modified)
        try:
            if file.path in self._undecided:  # an empty file, say: a scan does not see it grow
                status = os.stat(file.path)
                look = (status.st_size, status.st_mtime)
                if self._undecided[file.path] == look:
                    return None
            descriptor, status = open_regular(file.path)
            try:
                head = os.pread(descriptor, HEAD, 0)
            finally:
                os.close(descriptor)
            if head.startswith(MAGIC):
                head += schema(file.path)
        except OSError as error:
            self._skip(file, look, explain(error))
            return None
        except FormatError as error:
            self._skip(file, look, error.message)
            return None
        found = recognise(file.path, head)
        if found is None:
            self._skip(file, look, "empty" if status.st_size == 0 else "not a metric log")
        else:
            self._undecided.pop(file.path, None)
            self.skipped = [entry for entry in self.skipped if entry[0] != file.path]
        return found

    def _skip(self, file: FoundFile, look: tuple[int, float], reason: str) -> None:
        if file.path not in self._undecided:
            self.skipped.append((file.path, reason))
        self._undecided[file.path] = look

    def _begin(self, fresh: Iterable[tuple[FoundFile, Format]]) -> Iterator[Event]:
        """Follows new files: their runs are told first, then the streams, in the order of their names."""
        formats = {file.path: (file, log_format) for file, log_format in fresh}
        every = [_grouped(f.path, f.format) for f in self.followed]
        every += [_grouped(path, log_format) for path, (_, log_format) in formats.items()]
        self._groups = group_runs(every, self.roots, self._groups)
        for group in self._groups:
            members = [m for m in group.members if m.path in formats]
            members.sort(key=lambda m: m.path)
            members.sort(key=lambda m: self._age_rank(*formats[m.path]))
            if not members and group.path not in self._runs:
                continue
            yield from self._run(group)
            for member in members:
                file, log_format = formats[member.path]
                if log_format.supersedes is not None and not self._supersede(file, log_format):
                    continue
                stream = len(self.followed)
                found = StreamFound(
                    stream,
                    self._runs[group.path],
                    member.source,
                    member.path,
                    log_format.id,
                    log_format.rank,
                    member.prefix,
                    stream,
                )
                database = self._database_runs.get(member.path)
                followed = Followed(found, log_format, file, self._is_remote(member.path), database)
                self.followed.append(followed)
                self._announcers.append(Announcer(stream))
                self._known[member.path] = followed
                yield found
                if log_format.unsupported and (status := followed.news()):
                    yield status
                if log_format.supersedes is not None:
                    yield from self._retire_older(followed, log_format)

    def _run(self, group: RunGroup) -> Iterator[Event]:
        run = self._runs.setdefault(group.path, len(self._runs))
        if self._run_names.get(run) != group.name:
            self._run_names[run] = group.name
            yield RunFound(run, clean(group.name), group.path)

    def _age_rank(self, file: FoundFile, log_format: Format) -> tuple[int, float, int]:
        """Of the files that repeat one another the newest is begun first, so the others need not be read at all."""
        if log_format.supersedes is None:
            return (0, 0.0, 0)
        return (1, -(file.modified // SAME_SAVE), -file.size)

    def _supersede(self, file: FoundFile, log_format: Format) -> bool:
        """Is this the newest of the files that repeat one another? Written at the same time: the longest is."""
        assert log_format.supersedes is not None
        known = self._newest.get(log_format.supersedes(file.path))
        if known is None:
            return True
        modified = (
            max(known.since.modified, known.modified) if known.modified == known.modified else known.since.modified
        )
        apart = file.modified - modified
        newer = apart > 0 if abs(apart) > SAME_SAVE else file.size > max(known.since.size, known.size)
        if not newer:
            self._skip(file, (file.size, file.modified), f"superseded by {clean(known.path)}")
        return newer

    def _retire_older(self, followed: Followed, log_format: Format) -> Iterator[Event]:
        assert log_format.supersedes is not None
        key = log_format.supersedes(followed.path)
        older = self._newest.get(key)
        self._newest[key] = followed
        if older is not None:
            self._retired.add(older.found.stream)
            self.skipped.append((older.path, f"superseded by {clean(followed.path)}"))
            yield StreamReplaced(older.found.stream)
            message = f"superseded by {clean(followed.found.source)}"
            yield StreamStatus(older.found.stream, "superseded", message, older.size, older.size, older.modified, 0)

    def _is_remote(self, path: str) -> bool:
        directory = os.path.dirname(path)
        if directory not in self._remote:
            self._remote[directory] = filesystem.kind(directory).remote
        return self._remote[directory]

    # ------------------------------------------------------------------ reading

    def hint(self, closed: Iterable[str]) -> None:
        """These files have just been closed or moved by their writers: documents are parsed at once."""
        self._closed.update(closed)

    def read(self, paths: Iterable[str] | None = None) -> Iterator[Event]:
        """A block of each log that has grown, the newest first; of these paths alone when some are given."""
        if paths is None:
            self._round += 1
            chosen = [f for f in self._live() if self._due(f)]
            chosen.sort(key=lambda f: -_known_time(f.modified))
        else:
            changed = [f for path in paths for f in self._at(path)]
            chosen = [f for f in changed if f.found.stream not in self._retired and not f.format.unsupported]
        for followed in chosen:
            closed = followed.path in self._closed
            self._closed.discard(followed.path)
            announcer = self._announcers[followed.found.stream]
            yield from announcer.events(followed.read(BLOCK, closed))
            status = followed.news()
            if status is not None:
                yield status

    def _at(self, path: str) -> Iterable[Followed]:
        """What is followed at a path: a file, or the runs of a database that has changed, or its -wal."""
        database, *_ = self._databases.get(path.removesuffix("-wal"), (None,))
        if database is not None:
            return [self._known[run] for run in database.runs if run in self._known]
        return [self._known[path]] if path in self._known else []

    def flush(self) -> Iterator[Event]:
        """After a pause: a last record without its end is taken for whole where that can be told."""
        for followed in self._live():
            yield from self._announcers[followed.found.stream].events(followed.flush())

    def in_file_order(self) -> Iterator[tuple[str, Item]]:
        """(source, item) of every log from its beginning to its present end, file by file: for exports."""
        for followed in sorted(self._live(), key=lambda f: f.path):
            while True:
                for item in followed.read():
                    yield followed.found.source, item
                if followed.status().state != "reading":
                    break
            for item in followed.flush():
                yield followed.found.source, item

    def _live(self) -> Iterator[Followed]:
        return (f for f in self.followed if f.found.stream not in self._retired and not f.format.unsupported)

    def _due(self, followed: Followed) -> bool:
        """Logs that have been quiet for long are looked at less often: a directory of old runs costs little."""
        quiet = time.time() - followed.modified > QUIET  # NaN: never looked at
        return not quiet or bool(followed.remaining) or self._round % QUIET_EVERY == followed.found.stream % QUIET_EVERY


def _grouped(path: str, log_format: Format) -> GroupedFile:
    source = log_format.source_path(path) if log_format.source_path else ""
    companion = log_format.rank <= COMPANION
    return GroupedFile(path, log_format.id, log_format.directory_is_source, companion=companion, source=source)


def _wanted(path: str) -> bool:
    return any(log_format.wants(path) for log_format in all_formats())


def _known_time(value: float) -> float:
    return value if value == value else float("inf")


def nothing_found(
    roots: Sequence[str], skipped: Sequence[tuple[str, str]] = (), problems: Sequence[Problem] = ()
) -> NothingFound:
    """The error that says what was looked for, and what was met instead."""
    where = ", ".join(clean(root) for root in roots)
    met = "".join(f"\n        {clean(path)}: {reason}" for path, reason in skipped[:5])
    met += "".join(f"\n        {clean(problem.path)}: {problem.reason}" for problem in problems[:5])
    if len(skipped) > 5:
        met += f"\n        … and {len(skipped) - 5} more (tuimon doctor lists them)"
    titles = ", ".join(dict.fromkeys(log_format.title for log_format in all_formats()))
    return NothingFound(
        f"there is no metric log in {where}{met}",
        f"looked for: {titles}. `tuimon --wait PATH` waits for a log to appear",
    )
