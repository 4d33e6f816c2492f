"""Follow one log file: its items, its status for the screen, and a preview of its end."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from tuimon.formats import Format, kind
from tuimon.model.events import StreamFound, StreamStatus
from tuimon.model.log_names import log_name
from tuimon.model.points import Damage, Fact, Item, Points, Replaced
from tuimon.reader.database import Database
from tuimon.reader.events import EventEncoder
from tuimon.reader.item_sources import (
    BLOCK,
    CompressedSource,
    DatabaseSource,
    DocumentSource,
    ItemSource,
    StreamSource,
    UnsupportedSource,
)
from tuimon.reader.naming import SwanLabNames, metric_name
from tuimon.registry import FORMATS, note_failure
from tuimon.sources.scan import FoundFile
from tuimon.sources.writers import Writer
from tuimon.text import clean

LARGE = 16 << 20
"""Size (bytes) above which the end of a log is previewed. A smaller log is read before the first screen is shown."""
PREVIEW_BYTES = 192 << 10
"""Bytes at the end of a log that are read for a preview; enough points for several screens."""
MAX_DAMAGE = 20
"""Maximum number of Damage items that are kept for `tuimon doctor`."""


class Followed:
    """A log that is read as it grows."""

    def __init__(
        self,
        found: StreamFound,
        log_format: Format,
        since: FoundFile,
        names: SwanLabNames,
        own_source: str | None = None,
        remote: bool = False,
        database: Database | None = None,
    ) -> None:
        """names: metric names in SwanLab databases, shared by all files. own_source: source in exports by source, if
        `found.source` is that of several files.

        database: the database that the run at `found.path` is in; None for a file."""
        self.found = found
        """The stream; its id is -1 if the items are not reported."""
        self.since = since
        """The file when it was found."""
        self.format = log_format
        self.file = database.path if database is not None else found.path
        """Path of the file that is read."""
        self.own_source = found.source if own_source is None else own_source
        """Name of the file's source in exports by source."""
        self.encoder = EventEncoder(found.stream, log_format.shown_names(found.path))
        self.retired = False
        """Another stream has replaced this one."""
        self._damage: list[Damage] = []
        self._damaged = 0
        self.preview_end = 0
        """Byte offset at which the full read has caught up with the preview; 0 if no preview is active."""
        self.remote = remote
        """The file is on a network file system."""
        self._writer: tuple[float, Writer, bool] = (0.0, Writer(), False)
        """Time of change of the file when its writer was looked for, the writer, and whether the file is a copy."""
        self._reported: StreamStatus | None = None
        self._database = database
        self._name = metric_name(found.path, log_format, names)
        self._names: list[str] = []
        """Name table of a file that holds one metric."""
        self._source = self._open()

    def _open(self) -> ItemSource:
        """A source that starts at the beginning of the file."""
        path, log_format = self.found.path, self.format
        if self._database is not None:
            return DatabaseSource(self._database, path)
        if log_format.unsupported:
            return UnsupportedSource(self.since, log_format.unsupported)
        if kind(log_format.id) == "stream":
            if log_name(path).compressed:
                return CompressedSource(path, log_format, self.remote)
            return StreamSource(path, log_format, self.remote)
        return DocumentSource(path, log_format, self.remote)

    def moved(self, stream: int, run: int) -> Followed:
        """Continue the file as another stream of another run, from the current read position."""
        other = copy.copy(self)
        other.found = replace(self.found, stream=stream, run=run, order=stream)
        other.encoder = EventEncoder(stream, self.format.shown_names(self.found.path))
        other.retired, other._reported = False, None
        return other

    @property
    def damage(self) -> list[Damage]:
        """The first MAX_DAMAGE damages."""
        return [*self._damage, *self._source.damage][:MAX_DAMAGE]

    @property
    def damaged(self) -> int:
        """Number of records lost to damage."""
        return self._damaged + sum(damage.records for damage in self._source.damage)

    @property
    def path(self) -> str:
        return self.found.path

    @property
    def remaining(self) -> int:
        """Bytes known to be on disk that have not been read."""
        return max(0, self._source.file.size - self._source.read)

    @property
    def in_database(self) -> bool:
        """Is it a run in a database? Who holds that open, perhaps a server, says nothing about one run."""
        return self._database is not None

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
        return self.format.tail(head, data)

    @property
    def preview_over(self) -> bool:
        """Is a preview active whose bytes have all been read?"""
        return bool(self.preview_end) and (self._source.read >= self.preview_end or self._source.state != "reading")

    def read(self, limit: int = BLOCK, closed: bool = False) -> Iterator[Item]:
        """Yield new items, from at most `limit` bytes of a stream. closed: the writer has just closed or moved it."""
        yield from self._update_name()
        if self._is_named:
            yield from self._prepared(self._source.read_new(limit, closed))

    def flush(self) -> Iterator[Item]:
        """Yield the items of a last record without its end, once no more bytes are expected for now."""
        if not self._is_named:
            yield from self._update_name(hurry=True)
            yield from self._prepared(self._source.read_new(BLOCK, False))
        yield from self._prepared(self._source.flush())

    @property
    def _is_named(self) -> bool:
        return self._name is None or self._name.taken is not None

    def _update_name(self, hurry: bool = False) -> Iterator[Item]:
        """Look for the name of the metric; start again at the beginning if the file was read under another name."""
        if self._name is None:
            return
        if self._name.look(hurry):
            self._source = self._open()
            yield Replaced()
        if self._name.taken is not None and self._names != [self._name.taken]:
            self._names = [self._name.taken]

    def _prepared(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items of `_named`. A decoder of an installed package that raises ends the reading of this file only."""
        try:
            yield from self._named(items)
        except Exception as error:  # noqa: BLE001  raised again unless it is that of a plug-in
            reason = note_failure(FORMATS, self.format, error)
            self._source = UnsupportedSource(self.since, reason, state="unreadable")

    def _named(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items without Damage, which is counted; points and settings without a name get that of the file."""
        for item in items:
            if isinstance(item, Replaced):
                self._damaged = 0
                self._damage.clear()
                yield item
            elif isinstance(item, Damage):
                self._damaged += item.records
                if len(self._damage) < MAX_DAMAGE:
                    self._damage.append(item)
            elif self._name is not None and isinstance(item, Points) and self._is_unnamed(item):
                yield replace(item, names=self._names)
            elif self._name is not None and isinstance(item, Fact) and "" in item.value:
                yield replace(item, value={self._names[0]: item.value[""]})
            else:
                yield item

    def _is_unnamed(self, points: Points) -> bool:
        """Return True unless the file names its metrics itself."""
        names = list(points.names[:2])
        return names == [""] or (len(names) < 2 and not isinstance(self._source, DocumentSource))

    def status(self) -> StreamStatus:
        source, size, modified = self._source, self.size, self.modified
        writer, copied, message = self.writer, self.copied, source.message
        if not message and self.damage and not self.encoder.metric_count:
            message = clean(self.damage[0].reason)  # why it has no point
        return StreamStatus(
            self.found.stream,
            source.state,
            message,
            size,
            source.read,
            modified,
            self.damaged,
            writer.state,
            writer.process,
            copied,
        )

    @property
    def writer(self) -> Writer:
        """Whether a process holds the file open; unknown again once the file has changed."""
        seen, writer, _ = self._writer
        return writer if seen == self.modified else Writer()

    @property
    def copied(self) -> bool:
        """Whether the file was written at once, as by a copy; False again once it has changed."""
        seen, _, copied = self._writer
        return copied and seen == self.modified

    def set_writer(self, writer: Writer, copied: bool) -> None:
        """Note the writer of the file as it is now."""
        self._writer = self.modified, writer, copied

    def changed_status(self) -> StreamStatus | None:
        """The status if it differs from the result of the last call, else None."""
        status = self.status()
        if status == self._reported:
            return None
        self._reported = status
        return status
