"""One followed file: its bytes go through its decoder, its standing is kept for the status."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from msgspec.structs import replace

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DocumentDecoder, Format, RestartableDecoder, StreamDecoder, kind
from tuimon.model.events import StreamFound, StreamStatus
from tuimon.model.points import Damage, Fact, Item, Points, Replaced, SegmentStart
from tuimon.reader.database import Database
from tuimon.reader.naming import metric_name
from tuimon.sources.document import DocumentFile
from tuimon.sources.scan import FoundFile
from tuimon.sources.swanlab_names import SwanLabNames
from tuimon.sources.tail import Tail
from tuimon.text import clean

BLOCK = 4 << 20
"""Bytes read at once: large enough for vectorised decoding, small enough to give others a turn."""
LARGE = 16 << 20
"""Bytes; the end of a longer log is shown before its history is read. A shorter one is read in less than the time in
which a screen comes up."""
LAST = 192 << 10
"""Bytes of its end that are read for that: some screenfuls of curve."""


class Followed:
    """A file that is read as it grows. `read` gives what is new; `status` says how it stands.

    names: what is known of the names of metrics that files do not tell, shared by all files.
    database: the one that it is a run of; the stream's path is then that of the run in it.
    """

    def __init__(
        self,
        found: StreamFound,
        log_format: Format,
        since: FoundFile,
        names: SwanLabNames,
        remote: bool = False,
        database: Database | None = None,
    ) -> None:
        self.found = found
        self.since = since
        """The file as it was when it was found."""
        self.format = log_format
        self.file = database.path if database is not None else found.path
        """The file that is read."""
        self.damage: list[Damage] = []
        """The first damages, for a person; `damaged` counts all."""
        self.damaged = 0
        self.preview_end = 0
        """Once so many bytes have been read, the preview that was given is history; 0: none stands."""
        self._told: StreamStatus | None = None
        self._remote = remote
        self._database = database
        self._name = metric_name(found.path, log_format, names)
        self._names: list[str] = []
        """The table of names of a file that holds one metric."""
        self._way = self._begin()

    def _begin(self) -> _StreamWay | _DocumentWay | _DatabaseWay | _NoWay:
        """The way of the bytes, from the file's beginning."""
        path, log_format = self.found.path, self.format
        if self._database is not None:
            return _DatabaseWay(self._database, path)
        if log_format.unsupported:
            return _NoWay(self.since, log_format.unsupported)
        if kind(log_format.id) == "stream":
            return _StreamWay(path, log_format, self._remote)
        return _DocumentWay(path, log_format, self._remote)

    def moved(self, stream: int, run: int) -> Followed:
        """The same file from here on as another stream, of another run."""
        other = copy.copy(self)
        other.found = replace(self.found, stream=stream, run=run, order=stream)
        other._told = None
        return other

    @property
    def path(self) -> str:
        return self.found.path

    @property
    def remaining(self) -> int:
        """Bytes known to be on disk that have not been read."""
        return max(0, self._way.size - self._way.read)

    @property
    def size(self) -> int:
        return self._way.size

    @property
    def modified(self) -> float:
        return self._way.modified

    @property
    def behind(self) -> bool:
        """Is there more of it that can be read at once?"""
        return self._way.state == "reading" and self.remaining > 0

    @property
    def settled(self) -> bool:
        """Nothing to read and nothing to tell, by one look at the file. False where it takes more to say so."""
        if self._told is None or self._name is not None or not isinstance(self._way, _StreamWay):
            return False
        return self._way.is_settled()

    @property
    def can_preview(self) -> bool:
        """Is it so long that its end is worth reading first, and nothing read of it yet?"""
        return self.format.tail is not None and self.since.size > LARGE and self._way.read == 0

    def preview(self) -> Sequence[Item]:
        """The points at the end of a log that can be told without what lies before them; `read` gives them again."""
        last = self._way.last(LAST) if isinstance(self._way, _StreamWay) else None
        if last is None or self.format.tail is None:
            return ()
        head, data, self.preview_end = last
        return self.format.tail(head, data)

    @property
    def preview_over(self) -> bool:
        """Has all been read that the preview told of?"""
        return bool(self.preview_end) and (self._way.read >= self.preview_end or self._way.state != "reading")

    def read(self, limit: int = BLOCK, closed: bool = False) -> Iterator[Item]:
        """What is new, from at most `limit` bytes of a stream. closed: its writer has just closed or moved it."""
        yield from self._renamed()
        if self._named:
            yield from self._known(self._way.read_new(limit, closed))

    def flush(self) -> Iterator[Item]:
        """What a last record without its end gives, once no more bytes are expected for now."""
        if not self._named:
            yield from self._renamed(hurry=True)
            yield from self._known(self._way.read_new(BLOCK, False))
        yield from self._known(self._way.flush())

    @property
    def _named(self) -> bool:
        return self._name is None or self._name.taken is not None

    def _renamed(self, hurry: bool = False) -> Iterator[Item]:
        """Looks for the name of the metric. All is read again when it was read under another."""
        if self._name is None:
            return
        if self._name.look(hurry):
            self._way = self._begin()
            yield Replaced()
        if self._name.taken is not None and self._names != [self._name.taken]:
            self._names = [self._name.taken]

    def _known(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, damage counted, points and settings under the name that is known of them."""
        for item in items:
            if isinstance(item, Replaced):
                self.damaged = 0
                self.damage.clear()
                yield item
            elif isinstance(item, Damage):
                self.damaged += item.records
                if len(self.damage) < 20:
                    self.damage.append(item)
            elif self._name is not None and isinstance(item, Points):
                yield replace(item, names=self._names)
            elif self._name is not None and isinstance(item, Fact) and "" in item.value:
                yield replace(item, value={self._names[0]: item.value[""]})
            else:
                yield item

    def status(self) -> StreamStatus:
        """How the stream stands now."""
        way = self._way
        return StreamStatus(self.found.stream, way.state, way.message, way.size, way.read, way.modified, self.damaged)

    def news(self) -> StreamStatus | None:
        """The status if it is not the one given last."""
        status = self.status()
        if status == self._told:
            return None
        self._told = status
        return status


class _StreamWay:
    """Tail to StreamDecoder."""

    def __init__(self, path: str, log_format: Format, remote: bool) -> None:
        self._tail = Tail(path, remote, by_inode=log_format.rewritten_whole)
        self.is_settled = self._tail.is_settled
        self._format = log_format
        self._decoder = self._new_decoder()

    @property
    def size(self) -> int:
        return self._tail.size

    @property
    def read(self) -> int:
        return self._tail.offset

    @property
    def modified(self) -> float:
        return self._tail.modified

    @property
    def state(self) -> str:
        if self._tail.state != "current":
            return self._tail.state
        if self._tail.size == 0:
            return "waiting"
        return "current" if self._tail.offset >= self._tail.size else "reading"

    @property
    def message(self) -> str:
        return clean(self._tail.message)

    def last(self, count: int) -> tuple[bytes, bytes, int] | None:
        """See Tail.last."""
        return self._tail.last(count)

    def read_new(self, limit: int, closed: bool) -> Iterator[Item]:
        for chunk in self._tail.read_new(limit):
            if chunk.restarted and self._decoder.withheld:
                yield from self._decoder.feed(b"")
            if chunk.restarted and isinstance(self._decoder, RestartableDecoder):
                self._decoder.restart()
            elif chunk.restarted:
                # Another file now, or the same one begun again: a decoder's state belongs to the old bytes.
                self._decoder = self._new_decoder()
                yield Replaced() if self._format.rewritten_whole else SegmentStart(None, purge=False)
            items = self._decoder.feed(chunk.data)
            if self._decoder.disproved:
                yield self._begin_again()
                continue
            yield from items
            if self._decoder.skippable:
                self._decoder.skipped(self._tail.skip(self._decoder.skippable))
        if self._decoder.skippable or (self._decoder.withheld and self._tail.offset >= self._tail.size):
            yield from self._decoder.feed(b"")

    def flush(self) -> Iterator[Item]:
        items = self._decoder.flush()
        if self._decoder.disproved:
            yield self._begin_again()
            while self._tail.offset < self._tail.size and self._tail.state == "current":
                yield from self.read_new(BLOCK, False)
            items = self._decoder.flush()
        yield from items

    def _begin_again(self) -> Replaced:
        """From the file's beginning, as a flush was mistaken."""
        self._tail.rewind()
        self._decoder = self._new_decoder()
        return Replaced()

    def _new_decoder(self) -> StreamDecoder:
        return cast(StreamDecoder, self._format.decoder())


class _DocumentWay:
    """DocumentFile to DocumentDecoder."""

    def __init__(self, path: str, log_format: Format, remote: bool) -> None:
        self._file = DocumentFile(path, remote, log_format.largest)
        self._decoder = cast(DocumentDecoder, log_format.decoder())
        self._problem = ""
        self._loaded = 0

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def read(self) -> int:
        return self._loaded

    @property
    def modified(self) -> float:
        return self._file.modified

    @property
    def state(self) -> str:
        if self._file.state != "current":
            return self._file.state
        if self._problem:
            return "writing" if self._loaded or self._file.size else "waiting"
        return "current" if self._loaded else "waiting"

    @property
    def message(self) -> str:
        return clean(self._problem or self._file.message)

    def read_new(self, limit: int, closed: bool) -> Iterator[Item]:
        data = self._file.poll(closed)
        if data is None:
            return
        try:
            items = self._decoder.load(data)
        except Unfinished as error:
            self._problem = error.message
            self._file.failed()
            return
        except FormatError as error:
            self._problem = error.message
            self._loaded = len(data)
            self._file.loaded()
            yield Damage(0, len(data), error.message)
            return
        self._problem = ""
        self._loaded = len(data)
        self._file.loaded()
        yield from items

    def flush(self) -> Iterator[Item]:
        return iter(())


class _DatabaseWay:
    """One run of a Database."""

    def __init__(self, database: Database, path: str) -> None:
        self._database = database
        self._path = path

    @property
    def size(self) -> int:
        return self._database.size

    @property
    def read(self) -> int:
        return 0 if self._database.has_news(self._path) else self._database.read

    @property
    def modified(self) -> float:
        return self._database.modified

    @property
    def state(self) -> str:
        return "reading" if self._database.has_news(self._path) else self._database.state

    @property
    def message(self) -> str:
        return clean(self._database.message)

    def read_new(self, limit: int, closed: bool) -> Iterator[Item]:
        self._database.poll()
        yield from self._database.take(self._path)

    def flush(self) -> Iterator[Item]:
        return iter(())


class _NoWay:
    """A log of a format that is recognised but not read."""

    read = 0
    state = "unsupported"

    def __init__(self, since: FoundFile, reason: str) -> None:
        self.size = since.size
        self.modified = since.modified
        self.message = reason

    def read_new(self, limit: int, closed: bool) -> Iterator[Item]:
        return iter(())

    def flush(self) -> Iterator[Item]:
        return iter(())
