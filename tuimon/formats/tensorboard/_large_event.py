"""Incremental decoding of an Event of more than LARGE bytes that skips its payloads.

Images, histograms, audio and graphs make an event large; they are not used here, and a reader that can seek skips them.
The remaining tags, metadata and small values form a much smaller Event with the same scalars.
"""

from __future__ import annotations

from collections.abc import Generator

from tuimon.errors import FormatError
from tuimon.formats._shared.protobuf import BYTES, FIXED32, FIXED64, VARINT
from tuimon.formats.tensorboard._records import FOOTER

_PAYLOAD = 4 << 10  # size (bytes) above which a field is skipped; scalars are smaller
_KEPT = 16 << 20  # maximum number of bytes kept of one event
_VARINT_SIZE = 10  # maximum number of bytes of a varint
_MESSAGES = (5 << 3 | BYTES, 1 << 3 | BYTES)
"""Keys of the summary in an event and of a value in a summary."""


class LargeEvent:
    """Reads the bytes after the record header. Call `read`, skip `skip` bytes, and repeat until `reduced` is set."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.skip = 0
        """Bytes to skip after those that have been read."""
        self.broken = False
        """Whether the bytes are not an Event."""
        self.reduced: bytes | None = None
        """The event without its payloads, once it is complete."""
        self.raw = bytearray()
        """All bytes of the event and its checksum if nothing has been skipped, else empty."""
        self._whole = True
        self._ahead = length + FOOTER  # bytes of the record from data[start] on that are not skipped
        self._data = b""
        self._start = self._position = 0
        self._steps = self._reduce(length)

    @property
    def left(self) -> int:
        """Bytes of the record that follow, including its checksum."""
        return self._ahead - (self._position - self._start)

    def read(self, data: bytes, position: int) -> int:
        """Read data[position:] as far as possible and return the position of the first unread byte. Afterwards there
        are bytes to `skip`, more bytes are needed, the event is `broken`, or `reduced` is set."""
        self._data, self._start, self._position = data, position, position
        try:
            next(self._steps)
        except StopIteration as done:
            self.reduced = done.value
        except FormatError:
            self.broken = True
        self._ahead, self._start = self.left, self._position
        if self._whole:
            self.raw += data[position : self._position]
            if self.skip:
                self._whole = False
                self.raw.clear()
        self._data = b""
        return self._position

    def _reduce(self, length: int) -> Generator[None, None, bytes]:
        """Build the Event of `length` bytes without fields of more than 4 KiB. Yields when more bytes are needed or to
        be skipped."""
        opened: list[tuple[int, bytearray]] = []
        """(bytes that follow, kept fields) of the event and the summary around the message that is being read."""
        left, kept = length, bytearray()
        while True:
            while not left:
                _check(len(kept))
                if not opened:
                    while self._short_of(self.left):
                        yield
                    self._take(self.left)
                    return bytes(kept)
                field = _delimited(_MESSAGES[len(opened) - 1], kept)
                left, kept = opened.pop()
                kept += field
            while (found := self._field(left)) is None:
                yield
            key, size, head = found
            left -= len(head) + size
            if len(opened) < len(_MESSAGES) and key == _MESSAGES[len(opened)]:
                opened.append((left, kept))
                left, kept = size, bytearray()
            elif size > _PAYLOAD:
                self._skip(size)
                yield
            else:
                while self._short_of(size):
                    yield
                kept += head + self._take(size)
                _check(len(kept))

    def _short_of(self, size: int) -> bool:
        return len(self._data) - self._position < size

    def _take(self, size: int) -> bytes:
        self._position += size
        return self._data[self._position - size : self._position]

    def _skip(self, size: int) -> None:
        """Skip `size` bytes, and also the checksum if it follows directly, as it can no longer be verified."""
        self._ahead -= size
        if self.left == FOOTER:
            size, self._ahead = size + FOOTER, self._ahead - FOOTER
        self.skip = size

    def _field(self, limit: int) -> tuple[int, int, bytes] | None:
        """Return (key, size of the value, bytes before the value) of the next field of a message with `limit` bytes
        left.

        Return None if these bytes are not all there yet.
        """
        data, start = self._data, self._position
        key, position = _varint(data, start)
        size = 0
        if position:
            wire = key & 7
            if wire == BYTES:
                size, position = _varint(data, position)
            elif wire == VARINT:
                position = _varint(data, position)[1]
            elif wire in (FIXED32, FIXED64):
                size = 4 if wire == FIXED32 else 8
            else:
                raise FormatError("an unknown wire type")
        if not position:
            return None
        if position - start + size > limit:
            raise FormatError("a field that reaches past the end of its message")
        self._position = position
        return key, size, data[start:position]


def _check(size: int) -> None:
    if size > _KEPT:
        raise FormatError("too many small fields in one event")


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return (value, position after it) of the varint at data[start:]; the position is 0 if its end is missing."""
    if start < len(data) and data[start] < 128:
        return data[start], start + 1
    end = min(len(data), start + _VARINT_SIZE)
    value = shift = 0
    for position in range(start, end):
        byte = data[position]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position + 1
        shift += 7
    if end - start == _VARINT_SIZE:
        raise FormatError("a varint without an end")
    return 0, 0


def _delimited(key: int, content: bytes | bytearray) -> bytes:
    """Encode a field of wire type 2 with its key and length."""
    size = len(content)
    length = bytearray()
    while size >= 128:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return bytes([key, *length]) + content
