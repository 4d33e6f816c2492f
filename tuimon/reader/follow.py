"""Follow one log file: its items, its status for the screen, and a preview of its end."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tuimon.formats import Format, kind
from tuimon.model.events import StreamFound, StreamStatus
from tuimon.model.log_names import log_name
from tuimon.model.points import Damage, Fact, Item, Lines, Points, Replaced, Topic
from tuimon.reader.damage_log import MAX_DAMAGE, DamageLog
from tuimon.reader.database import RunsFile
from tuimon.reader.events import EventEncoder
from tuimon.reader.item_sources import (
    BLOCK,
    DatabaseSource,
    DocumentSource,
    FailedSource,
    ItemSource,
    StreamSource,
    UnsupportedSource,
)
from tuimon.reader.naming import SwanLabNames, metric_name
from tuimon.reader.rank_paths import has_rank_lines
from tuimon.registry import FORMATS, Caught
from tuimon.sources.files import head_of
from tuimon.sources.filesystem import is_mirrored
from tuimon.sources.scan import FoundFile, Problem
from tuimon.sources.writers import CLOSED, OPEN, Writer, writers
from tuimon.text import clean

LARGE = 16 << 20
"""Size (bytes) above which the end of a log is previewed. A smaller log is read before the first screen is shown."""
PREVIEW_BYTES = 192 << 10
"""Bytes at the end of a log that are read for a preview; enough points for several screens."""

_COPIED_WITHIN = 5.0
"""Time (s) after a file was read for the first time in which a copy may still write it."""
_CLOSED_FOR = 600.0
"""Time (s) without a change after which a record without its end is damage if no process holds the file open. It may be
a copy that is renewed every few minutes."""
_SILENT_FOR = 86400.0
"""Time (s) without a change after which a record without its end is damage if the writer is unknown: W&B before 0.31
writes 32 KiB at once, for which a slow run may take hours."""
_NEARBY = 16 << 10
"""Bytes that are read of a file in the directory above."""


class WriterCheck(Struct, frozen=True):
    """Result of a search for the process that writes a file."""

    modified: float = math.nan
    """Time of change of the file at that time."""
    writer: Writer = Writer()
    copied: bool = False
    """Whether the file was written at once, as by a copy."""
    closed: float = math.nan
    """When the process that held the file open was found to have closed it (s since the epoch); NaN if none was."""


class Followed:
    """A log that is read as it grows."""

    def __init__(
        self,
        found: StreamFound,
        log_format: Format,
        since: FoundFile,
        names: SwanLabNames,
        own_source: str,
        remote: bool,
        database: RunsFile | None,
    ) -> None:
        """names: metric names in SwanLab databases, shared by all files. own_source: source in exports by source, which
        is not `found.source` if that is of several files.

        database: the database that the run at `found.path` is in; None for a file."""
        self.found = found
        self.since = since
        """The file when it was found."""
        self.format = log_format
        self.file = database.path if database is not None else found.path
        """Path of the file that is read."""
        self.own_source = own_source
        """Name of the file's source in exports by source."""
        self.encoder = EventEncoder(found.stream, log_format.shown_names(found.path))
        self.retired = False
        """Another stream has replaced this one."""
        self._damage = DamageLog()
        self.preview_end = 0
        """Byte offset at which the full read has caught up with the preview; 0 if no preview is active."""
        self.remote = remote
        """The file is on a network file system, or in a mirror."""
        self.mirrored = is_mirrored(found.path)
        """The file is in a mirror of another machine."""
        self._check = WriterCheck()
        self._found_at: float | None = None
        """Time at which all of the file had been read for the first time; None before."""
        self._checked_at = 0.0
        self._content = 0
        self._grown = math.nan
        self._reopened = False
        self._reported: StreamStatus | None = None
        self._database = database
        self._name = metric_name(found.path, log_format, names)
        self._names: list[str] = []
        """Name table of a file that holds one metric."""
        self._run_name = ""
        """Name of the run as it was emitted; "" before."""
        self._source = self._open()

    def _open(self) -> ItemSource:
        """A source that starts at the beginning of the file."""
        path, log_format = self.found.path, self.format
        if self._database is not None:
            return DatabaseSource(self._database, path)
        if log_format.unsupported:
            return UnsupportedSource(self.since, log_format.unsupported)
        if kind(log_format.id) == "stream" and not log_name(path).compressed:
            with_lines = log_format.of_machine or has_rank_lines(path)
            return StreamSource(path, log_format, self.remote, self._is_written, with_lines)
        return DocumentSource(path, log_format, self.remote)

    def _is_written(self) -> bool:
        """Return whether a process holds the file open for writing; that of a local file is searched for if unknown."""
        check = self.writer_check
        if math.isfinite(check.modified) or self.remote:
            return check.writer.state == OPEN
        return writers([self.file]).get(self.file, Writer()).state == OPEN

    @property
    def damage(self) -> list[Damage]:
        """The first MAX_DAMAGE damaged parts."""
        return [*self._damage.parts, *self._last_damage][:MAX_DAMAGE]

    @property
    def _last_damage(self) -> list[Damage]:
        """Damage that more bytes may repair, once nobody writes the file any more."""
        writer, damage = self.writer_check.writer.state, list(self._source.damage)
        patience = {OPEN: math.inf, CLOSED: _CLOSED_FOR}.get(writer, _SILENT_FOR)
        if (last := self._source.cut_short) is not None and time.time() - self.modified > patience:
            damage.append(last)
        return damage

    @property
    def unread(self) -> str:
        """Examples of numbers that gave no point; "" for none."""
        return self._source.unread if isinstance(self._source, StreamSource) else ""

    @property
    def damaged(self) -> int:
        """Number of damaged parts."""
        return self._damage.count + len(self._last_damage)

    @property
    def path(self) -> str:
        return self.found.path

    @property
    def remaining(self) -> int:
        """Bytes known to be on disk that have not been read."""
        return max(0, self._source.file.size - self._source.read)

    @property
    def in_database(self) -> bool:
        """Is it a run in a database?"""
        return self._database is not None

    @property
    def problem(self) -> Problem | None:
        """Why the file cannot be opened, or is not read to its end; None if it can be, or if it was deleted."""
        problem = self._source.problem
        return Problem(self.file, *problem) if problem is not None else None

    @property
    def size(self) -> int:
        return self._source.file.size

    @property
    def modified(self) -> float:
        return self._source.file.modified

    @property
    def behind(self) -> bool:
        """Are there bytes that can be read at once?"""
        return self._source.state == "reading" and self.remaining > 0

    @property
    def settled(self) -> bool:
        """Is there nothing to read and nothing to report? Costs one stat(); False if that is not enough to know."""
        if self._reported is None or self._name is not None or not isinstance(self._source, StreamSource):
            return False
        if self._source.cut_short is not None and not self._reported.cut_short:
            return False  # it may become damage by the time alone
        return self._source.is_settled()

    @property
    def can_preview(self) -> bool:
        """Is the log so long that its end should be shown first, and has none of it been read?"""
        return self.format.tail is not None and self.since.size > LARGE and self._source.read == 0

    def preview(self) -> Sequence[Item]:
        """The points at the end of the log that can be decoded without the preceding bytes; `read` yields them again.

        Sets `preview_end`."""
        last = self._source.last(PREVIEW_BYTES) if isinstance(self._source, StreamSource) else None
        if last is None or self.format.tail is None:
            return ()
        head, data, self.preview_end = last
        with Caught(FORMATS, self.format, lambda reason, hint: None):
            return self.format.tail(head, data)
        return ()

    @property
    def preview_over(self) -> bool:
        """Is a preview active whose bytes have all been read?"""
        return bool(self.preview_end) and (self._source.read >= self.preview_end or self._source.state != "reading")

    def read(self, limit: int = BLOCK) -> Iterator[Item]:
        """Yield new items, from at most `limit` bytes of a stream."""
        yield from self._update_name()
        source = self._source
        with self._alone():
            yield from self._named(source.read_new(limit))
        if isinstance(self._source, FailedSource) and isinstance(source, StreamSource) and source.may_be_careful():
            self._source = source
            yield from self._named([source.reread()])

    def flush(self) -> Iterator[Item]:
        """Yield the items of a last record without its end, once no more bytes are expected for now."""
        with self._alone():
            yield from self._named(self._source.flush())

    def end_lines(self) -> Iterator[Lines]:
        """Yield the first and the last lines again that have been read of a text."""
        return self._source.end_lines()

    def _update_name(self) -> Iterator[Item]:
        """Look for the names of the metric and of the run; start again at the beginning if the file was read under
        another name of the metric."""
        if self._name is None:
            return
        if self._name.look():
            self._source = self._open()
            self._run_name = ""
            yield Replaced()
        if self._run_name != self._name.run_name:
            self._run_name = self._name.run_name
            yield Fact(Topic.WRITER, {"name": "swanlab", "run_name": self._run_name})
        if self._names != [self._name.taken]:
            self._names = [self._name.taken]

    def _alone(self) -> Caught:
        """Read this log, and no other one, no further if its decoder raises."""

        def end(*failure: str) -> None:
            self._source = FailedSource(self.file, self.remote, self._source.decoded, failure)

        return Caught(FORMATS, self.format, end)

    def _named(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items without Damage, which is counted; points and settings without a name get that of the file."""
        for item in items:
            if isinstance(item, Replaced):
                self._damage = DamageLog()
                yield item
            elif isinstance(item, Damage):
                self._damage.add(item)
            elif self._name is not None and isinstance(item, Fact) and "" in item.value:
                yield replace(item, value={self._names[0]: item.value[""]})
            elif isinstance(item, Fact) and item.topic == Topic.WRITER:
                yield replace(item, value={**_nearby_facts(self.file, self.format), **item.value})
            elif self._name is not None and isinstance(item, Points) and self._is_unnamed(item):
                yield replace(item, names=self._names)
            else:
                yield item

    def _is_unnamed(self, points: Points) -> bool:
        """Return True unless the file names its metrics itself."""
        names = list(points.names[:2])
        return names == [""] or (len(names) < 2 and not isinstance(self._source, DocumentSource))

    def status(self) -> StreamStatus:
        """Return what is known of the file, and of how far it was read."""
        with self._alone():
            return self._status()
        return self._status()

    def _status(self) -> StreamStatus:
        source, size, modified = self._source, self.size, self.modified
        check, message, last_damage = self.writer_check, source.message, self._last_damage
        if not message and self.damage and not self.encoder.point_count:
            message = clean(self.damage[0].reason)  # why it has no point
        return StreamStatus(
            self.found.stream,
            source.state,
            message,
            size,
            source.read,
            modified,
            self._damage.count + len(last_damage),
            check.writer.state,
            check.writer.process,
            check.copied,
            self._grown,
            self._damage.size + sum(damage.length for damage in last_damage),
            check.closed,
            self.unread,
            source.cut_short in last_damage,
            self._reopened,
            source.proposed_patterns,
        )

    @property
    def writer_check(self) -> WriterCheck:
        """Result of the last search for the writer; empty once the file has changed, unless a process holds it open."""
        check = self._check
        if check.modified == self.modified:
            return check
        return WriterCheck(writer=check.writer) if check.writer.state == OPEN else WriterCheck()

    def set_writer(self, writer: Writer, copied: bool, closed: float = math.nan) -> None:
        """Note the writer of the file as it is now. closed: as in StreamStatus."""
        self._check = WriterCheck(self.modified, writer, copied, closed)

    def note_growth(self, now: float) -> None:
        """Note whether the file has grown since the last call. now: seconds since the epoch.

        Growth just after the file was found does not count, as a file may be found while it is copied. The time of
        growth is that of the file if it lies between the two calls; else a clock is wrong, or the file was touched.
        """
        if self.behind or self.in_database or self.mirrored:
            return
        content = self._source.content
        if self._found_at is None:
            self._found_at = now
        elif content != self._content and now - self._found_at >= _COPIED_WITHIN:
            grown = self.modified if self._checked_at <= self.modified <= now else now
            self._grown = grown
            self._reopened |= self._check.writer.state == CLOSED
        self._content, self._checked_at = content, now

    def changed_status(self) -> StreamStatus | None:
        """The status if it differs from the result of the last call, else None."""
        status = self.status()
        if status == self._reported:
            return None
        self._reported = status
        return status


def _nearby_facts(path: str, log_format: Format) -> Mapping[str, Any]:
    """Return the facts of Format.path_facts and Format.facts_above for the file at `path`."""
    facts = dict(log_format.path_facts(path)) if log_format.path_facts is not None else {}
    if log_format.facts_above is not None:
        directory, name = os.path.split(path)
        facts |= log_format.facts_above(head_of(os.path.join(os.path.dirname(directory), name), _NEARBY))
    return facts
