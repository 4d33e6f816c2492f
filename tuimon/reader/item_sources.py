"""Items of one log as it grows: a file or database run together with its decoder.

StreamSource       Tail and StreamDecoder
DocumentSource     DocumentFile and DocumentDecoder, or any decoder if the file is compressed by gzip
DatabaseSource     one run of a Database
UnsupportedSource  a log of a format that is recognised but not read
FailedSource       a log whose decoder has raised
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DocumentDecoder, Format, StreamDecoder
from tuimon.model.log_names import log_name
from tuimon.model.points import Damage, Item, Lines, Points, Replaced, SegmentStart
from tuimon.reader.compression import CompressedText, decompressed_head, unpacked
from tuimon.reader.database import RunsFile
from tuimon.reader.encoding import UTF8Stream, utf8
from tuimon.sources.document import DocumentFile
from tuimon.sources.files import FileStatus, head_of
from tuimon.sources.filesystem import is_mirrored
from tuimon.sources.mirror_notes import note_of
from tuimon.sources.scan import FoundFile
from tuimon.sources.tail import Tail
from tuimon.text import clean, local_time

BLOCK = 4 << 20
"""Bytes read at a time: large enough for vectorised decoding, small enough for other logs to get their turn."""

ENDED_AFTER = 60.0
"""Seconds without a change after which a last line without its newline is read as if it were complete, unless a process
holds the file open: it may have written a part of a line."""
_PIECE = 64
"""Bytes that a decoder which has raised is fed at a time, so that it returns what is before its failure."""
_PAGE = 4096
"""Bytes. A log with a whole number of them was probably cut when its writer was killed: output is buffered so."""

_HEAD, _LAST_LINES = 4096, 1 << 18
"""Bytes of the beginning and of the end of a text that are read again for their lines."""
_LEAST_HEAD = 16
"""Bytes. Fewer equal ones at the beginning of two files say nothing."""
_LONGEST_LINE = 1 << 20
"""Bytes of a line that is waited for."""

MAX_DOCUMENT = 256 << 20
"""Bytes of a document that is decompressed."""


WRITTEN_WITHIN = 30.0
"""Seconds after the last change of a document in which it may still be being written, and so is not damaged."""


class ItemSource:
    """Base class: the state and message of a log are those of its file, unless overridden."""

    def __init__(self, file: FileStatus) -> None:
        self.file = file

    @property
    def read(self) -> int:
        """Bytes read or skipped."""
        return 0

    @property
    def decoded(self) -> int:
        """Bytes whose items were returned, where the decoder has raised."""
        return self.read

    @property
    def content(self) -> int:
        """A number that changes when new content has been read."""
        return self.read

    @property
    def state(self) -> str:
        """State as in StreamStatus."""
        return self.file.state

    @property
    def message(self) -> str:
        """Explanation of the state, or ""."""
        return clean(self.file.message)

    @property
    def problem(self) -> tuple[str, str] | None:
        """Why the file cannot be opened, or is not read to its end, and what to do next; None if there is no reason."""
        return (clean(self.file.message), self.file.hint) if self.file.state == "unreadable" else None

    @property
    def proposed_patterns(self) -> tuple[str, ...]:
        """Values of console_patterns that would read the log."""
        return ()

    @property
    def damage(self) -> list[Damage]:
        """Damage of a log that is read whole each time; that of others is an item."""
        return []

    @property
    def cut_short(self) -> Damage | None:
        """The last record, if all bytes of the file have been read and its end is missing; it may yet be written."""
        return None

    def read_new(self, limit: int) -> Iterator[Item]:
        """Yield new items, from at most `limit` bytes of a stream."""
        return iter(())

    def flush(self) -> Iterator[Item]:
        """Yield the items of a last record without its end, once no more bytes are expected for now."""
        return iter(())

    def end_lines(self) -> Iterator[Lines]:
        """Yield the first and the last lines of a text, as Followed.end_lines does."""
        return iter(())


class StreamSource(ItemSource):
    """Items of a log that grows at its end: its bytes are read once."""

    def __init__(
        self,
        path: str,
        log_format: Format,
        remote: bool,
        is_written: Callable[[], bool] = lambda: False,
        with_lines: bool = False,
    ) -> None:
        """is_written: return whether a process holds the file open for writing. with_lines: also yield Lines."""
        self._tail = Tail(path, remote, by_inode=log_format.rewritten_whole)
        super().__init__(self._tail)
        self._format = log_format
        self._text = UTF8Stream()
        self._lines = _LineCutter() if with_lines else None
        self._is_written = is_written
        self.is_settled = self._tail.is_settled
        self.last = self._tail.last
        self._decoder = self._new_decoder()
        self._ended = False
        """Whether a last line without its newline has been read."""
        self._decoded = 0
        self._is_careful = False
        """Whether the decoder has raised in the first block, which is fed to it in small pieces now."""
        self._keeps_lost = False
        """Whether points are kept of bytes that a truncation or a replacement removed: no older file has them."""
        self._rewritten: tuple[bytes, bool, int, list[Item]] | None = None
        """(first bytes of a file before it was rewritten, whether that was in place, its size, its new items) until it
        has that size again."""

    @property
    def read(self) -> int:
        return self._tail.offset

    @property
    def decoded(self) -> int:
        return self._decoded

    @property
    def message(self) -> str:
        if not self._tail.message and math.isfinite(self._tail.shrunk_at):
            when = local_time(self._tail.shrunk_at) or "an invalid time"
            return f"truncated at {when}, then read again from its beginning"
        return clean(self._tail.message or self._decoder.remark)

    @property
    def proposed_patterns(self) -> tuple[str, ...]:
        return tuple(self._decoder.proposed_patterns)

    @property
    def state(self) -> str:
        if self._tail.state != "current":
            return self._tail.state
        if self._tail.size == 0:
            return "waiting"
        return "current" if self._tail.offset >= self._tail.size else "reading"

    @property
    def cut_short(self) -> Damage | None:
        start, end = self._decoder.incomplete_at, self._tail.offset
        if start is None or self._tail.state != "current" or end != self._tail.size:
            return None
        return Damage(start, end - start, "ends within a record")

    @property
    def unread(self) -> str:
        """Examples of numbers that gave no point, as StreamDecoder.unread; cleaned."""
        return clean(self._decoder.unread)

    def read_new(self, limit: int) -> Iterator[Item]:
        head, path, size = self._tail.head, self._tail.path, self._tail.offset
        for chunk in self._tail.read_new(limit):
            if self._ended:
                yield self.reread()
                continue
            if chunk.restarted and self._decoder.held_back:
                yield from self._decoder.feed(b"")
            if chunk.restarted:
                self._text = UTF8Stream()
            if self._lines is not None:
                yield from self._lines.cut(chunk.data, max(self._tail.size - self._tail.offset, 0), chunk.restarted)
            if chunk.restarted and not self._keeps_lost and _was_rotated(path, head):
                self._decoder = self._new_decoder()
                yield Replaced()  # the points will be those of the older file
            elif chunk.restarted:
                # The file was replaced or rewritten: the state of the decoder belongs to the old bytes.
                self._decoder = self._new_decoder()
                if self._format.is_rewritten:
                    self._rewritten = head, self._tail.size >= size, size, []
                elif self._format.rewritten_whole or (is_mirrored(path) and note_of(path).renewed):
                    yield Replaced()
                else:
                    yield self._continued()
            items = self._items(chunk.data)
            if self._decoder.must_reread:
                yield self.reread()
                continue
            if self._rewritten is None:
                yield from items
            else:
                self._rewritten[3].extend(items)
                if self._tail.offset >= self._rewritten[2]:
                    yield from self._release()
            size = self._tail.offset
            if self._decoder.skippable:
                self._decoder.advance(self._tail.skip(self._decoder.skippable))
            if self._decoder.skips_zeros and (hole := self._tail.hole()):
                self._decoder.advance(self._tail.skip(hole))
        if self._decoder.skippable or (self._decoder.held_back and self._tail.offset >= self._tail.size):
            yield from self._decoder.feed(b"")

    def _items(self, data: bytes) -> Iterable[Item]:
        """Decode the bytes in front of the offset."""
        if self._is_careful and not self._decoded:
            return self._up_to_failure(data)
        items = self._decoder.feed(self._text.feed(data))
        self._decoded = self._tail.offset
        return items

    def may_be_careful(self) -> bool:
        """Return whether to read what the decoder has raised in again: the first block, for the first time."""
        was_careful, self._is_careful = self._is_careful, not self._decoded
        return self._is_careful and not was_careful

    def _up_to_failure(self, data: bytes) -> Iterator[Item]:
        for begin in range(0, len(data), _PIECE):
            piece = data[begin : begin + _PIECE]
            yield from self._decoder.feed(self._text.feed(piece))
            self._decoded += len(piece)

    def _continued(self) -> SegmentStart:
        """Keep the points of the bytes that are gone: other bytes follow them."""
        self._keeps_lost = True
        return SegmentStart(None, purge=False)

    def _release(self) -> Iterator[Item]:
        """Yield the items of a file that was rewritten, once it is known what it is."""
        if self._rewritten is not None:
            (head, in_place, _, items), self._rewritten = self._rewritten, None
            has_more = self._format.is_rewritten is not None and self._format.is_rewritten(head, self._tail.head)
            yield Replaced() if in_place or has_more else self._continued()
            yield from items

    def flush(self) -> Iterator[Item]:
        yield from self._release()
        items = self._last_line() or self._decoder.flush()
        if self._decoder.must_reread:
            yield self.reread()
            while self._tail.offset < self._tail.size and self._tail.state == "current":
                yield from self.read_new(BLOCK)
            items = self._last_line() or self._decoder.flush()
        yield from items
        if self._lines is not None:
            yield from self._lines.rest()

    def end_lines(self) -> Iterator[Lines]:
        if self._lines is not None:
            yield from self._lines.again(self._tail.ends(_HEAD, _LAST_LINES))

    def _last_line(self) -> Sequence[Item]:
        """Return the items that only the end of the log shows, if it has ended."""
        tail = self._tail
        whole = tail.state == "current" and tail.offset >= tail.size
        if self._ended or not whole or time.time() - tail.modified < ENDED_AFTER:
            return ()
        may_end = tail.size % _PAGE if tail.ends_within_line else self._decoder.awaits_end
        if not may_end or self._is_written():
            return ()
        items = [item for item in self._decoder.end() if not isinstance(item, Damage)]
        self._ended = bool(items)
        return items

    def reread(self) -> Replaced:
        """Start again at the beginning of the file: what was read of it is void."""
        self._decoded = 0
        self._tail.rewind()
        self._ended = False
        self._text, self._decoder = UTF8Stream(), self._new_decoder()
        if self._lines is not None:
            self._lines = _LineCutter()
        return Replaced()

    def _new_decoder(self) -> StreamDecoder:
        return cast(StreamDecoder, self._format.decoder())


class _LineCutter:
    """Cuts a text into Lines, wherever its blocks end."""

    def __init__(self) -> None:
        self._rest = b""
        """Beginning of the next line."""
        self._offset, self._number = 0, 1
        """Of the next line."""

    def cut(self, data: bytes, left: int, restarted: bool) -> Iterator[Lines]:
        """Yield the lines that the next bytes complete. left: bytes of the file after them."""
        if restarted:
            self._rest, self._offset, self._number = b"", 0, 1
        data = self._rest + data if self._rest else data
        end = data.rfind(b"\n") + 1
        if not end and len(data) > _LONGEST_LINE:
            end = len(data)
        if end or restarted:
            yield self._taken(data[:end], left, restarted)
        self._rest = data[end:]

    def rest(self) -> Iterator[Lines]:
        """Yield the last line without its end."""
        data, self._rest = self._rest, b""
        if data:
            yield self._taken(data, 0, False)

    def again(self, parts: Sequence[tuple[int, bytes]]) -> Iterator[Lines]:
        """Yield the lines of parts of what has been cut. parts: (offset, bytes)."""
        for offset, data in parts:
            data = data[: max(self._offset - offset, 0)]
            begin, end = (data.find(b"\n") + 1 if offset else 0), data.rfind(b"\n") + 1 or len(data)
            is_last = offset + len(data) == self._offset
            number = 1 if not offset else self._number - data.count(b"\n", begin) if is_last else 0
            end = len(data) if is_last else end
            yield Lines(data[begin:end], offset + begin, number)

    def _taken(self, data: bytes, left: int, restarted: bool) -> Lines:
        lines = Lines(data, self._offset, self._number, left, restarted)
        self._offset += len(data)
        self._number += data.count(b"\n")
        return lines


class DocumentSource(ItemSource):
    """Items of a log that is rewritten as a whole."""

    def __init__(self, path: str, log_format: Format, remote: bool) -> None:
        self._document = DocumentFile(path, remote, log_format.max_size)
        super().__init__(self._document)
        decoder = log_format.decoder()
        self._unpacks = log_name(path).compressed and isinstance(decoder, DocumentDecoder)
        new_decoder = cast(Callable[[], StreamDecoder], log_format.decoder)
        self._decoder = decoder if isinstance(decoder, DocumentDecoder) else CompressedText(new_decoder)
        self._limit = min(log_format.max_size, MAX_DOCUMENT)
        self._problem = ""
        self._damage: list[Damage] = []
        """Damage of the present document, if no process is writing it any more."""
        self._salvaged = False
        """Whether any points were read."""
        self._refused = False
        """Whether the present document cannot become readable by growing."""
        self._loaded = 0
        """Size (bytes) of the document that was decoded last."""
        self._loads = 0

    @property
    def read(self) -> int:
        return self._loaded

    @property
    def content(self) -> int:
        return self._loads

    @property
    def state(self) -> str:
        if self._document.state != "current":
            return self._document.state
        if self._refused:
            return "unreadable"
        if self._problem and not self.damage:
            return "writing" if self._loaded or self._document.size else "waiting"
        if self.damage:
            return "current" if self._salvaged else "unreadable"
        return "current" if self._loaded else "waiting"

    @property
    def message(self) -> str:
        if self.damage:
            first = self.damage[0]
            return clean(f"{first.reason} at byte {first.offset}")
        return clean(self._problem or self._document.message)

    @property
    def damage(self) -> list[Damage]:
        return self._damage if time.time() - self._document.modified > WRITTEN_WITHIN else []

    def read_new(self, limit: int) -> Iterator[Item]:
        data = self._document.poll()
        if data is None:
            return
        self._refused = False
        try:
            text = b"".join(unpacked(data, self._limit)) if self._unpacks else data
            items = self._decoder.load(utf8(text))
            self._problem, self._damage = "", []
        except Unfinished as error:
            self._problem, self._damage = error.message, list(error.damage)
            self._document.failed()
            for item in error.items:
                self._salvaged = self._salvaged or isinstance(item, Points)
                yield item
            return
        except FormatError as error:
            self._problem, self._refused = error.message, True
            items = (Damage(0, len(data), error.message),)
        self._loaded, self._salvaged = len(data), True
        self._loads += 1
        self._document.loaded()
        yield from items


class DatabaseSource(ItemSource):
    """Items of one run of a database."""

    def __init__(self, database: RunsFile, path: str) -> None:
        super().__init__(database)
        self._database = database
        self._path = path

    @property
    def read(self) -> int:
        return 0 if self._database.has_items(self._path) else self._database.read

    @property
    def state(self) -> str:
        return "reading" if self._database.has_items(self._path) else self._database.state

    def read_new(self, limit: int) -> Iterator[Item]:
        self._database.poll()
        yield from self._database.take(self._path)


class UnsupportedSource(ItemSource):
    """A log that is not read; its message says what the user can do instead."""

    def __init__(self, file: FoundFile, reason: str) -> None:
        status = FileStatus(file.path, remote=False)
        status.state, status.message = "unsupported", reason
        status.size, status.modified = file.size, file.modified
        super().__init__(status)


class FailedSource(ItemSource):
    """A log whose decoder has raised: it is looked at, but not read further."""

    def __init__(self, path: str, remote: bool, read: int, failure: Sequence[str]) -> None:
        """read: bytes whose points are shown. failure: what failed, and what to do next."""
        self._tail = Tail(path, remote)
        super().__init__(self._tail)
        self._read, self._failure = read, failure
        self._tail.pending()

    @property
    def read(self) -> int:
        return self._read

    @property
    def content(self) -> int:
        return self._tail.size

    @property
    def state(self) -> str:
        return "unreadable" if self._tail.state == "current" else self._tail.state

    @property
    def message(self) -> str:
        return self._failure[0]

    @property
    def problem(self) -> tuple[str, str] | None:
        reason, hint = self._failure
        return reason, f"what was read before is shown; {hint}" if self._read else hint

    def read_new(self, limit: int) -> Iterator[Item]:
        self._tail.pending()
        return iter(())


def _was_rotated(path: str, head: bytes) -> bool:
    """Return whether another file of the same rotated log (train.log.1, train.log.2.gz) begins with `head`, the first
    bytes that the file at `path` had before it began anew."""
    if len(head) < _LEAST_HEAD:
        return False
    directory = os.path.dirname(path)
    live = log_name(path).live
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    others = [os.path.join(directory, name) for name in names if name != os.path.basename(path)]
    return any(log_name(other).live == live and _begins_with(other, head) for other in others)


def _begins_with(path: str, head: bytes) -> bool:
    data = head_of(path, _HEAD)
    if log_name(path).compressed:
        data = decompressed_head(data, len(head))
    return data.startswith(head)
