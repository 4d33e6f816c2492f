"""An Event of more than 64 KiB, read in small pieces, its payloads passed over unread.

Images, histograms, audio, graphs: what makes an event large is of no use here, and a reader that can seek hops over it.
What is left, the tags, metadata and small values, makes a much smaller Event with the same scalars.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from tuimon.errors import FormatError
from tuimon.formats._protobuf import BYTES, FIXED32, FIXED64, VARINT
from tuimon.formats._records import FOOTER

LARGE = 64 << 10
"""An event of more bytes is read this way."""
_PAYLOAD = 4 << 10
"""A field of more bytes is passed over; no scalar is that big."""
_KEPT = 16 << 20
"""Bytes kept of one event at most."""
_VARINT_SIZE = 10
"""Bytes of a varint at most."""
_SUMMARY = 5 << 3 | BYTES
_VALUE = 1 << 3 | BYTES


class LargeEvent:
    """Give it what follows the header by `read`, pass over what it leaves out, until `reduced` is there."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.skip = 0
        """So many bytes it will not look at, after those that it has read."""
        self.broken = False
        """It is no event."""
        self.reduced: bytes | None = None
        """The event without its payloads, once it is read."""
        self.raw = bytearray()
        """All of the event's bytes and the checksum, if nothing of it was passed over; else empty."""
        self._whole = True
        self._ahead = length + FOOTER
        """Bytes of the record from data[begun] on that are not passed over."""
        self._data = b""
        self._begun = self._at = 0
        self._script = self._reduce(length)

    @property
    def left(self) -> int:
        """Bytes of the record that are still to come, its checksum included."""
        return self._ahead - (self._at - self._begun)

    def read(self, data: bytes, position: int) -> int:
        """Reads data[position:] as far as it can; where the first byte is that it has not read. Then there are bytes to
        `skip`, more have to come, it is `broken`, or it is `reduced`."""
        self._data, self._begun, self._at = data, position, position
        try:
            next(self._script)
        except StopIteration as done:
            self.reduced = done.value
        except FormatError:
            self.broken = True
        self._ahead, self._begun = self.left, self._at
        if self._whole:
            self.raw += data[position : self._at]
            if self.skip:
                self._whole = False
                self.raw.clear()
        self._data = b""
        return self._at

    def _reduce(self, length: int) -> Generator[None, None, bytes]:
        """The Event of `length` bytes, without the fields of more than 4 KiB. Yields when it needs further bytes, or
        has some to skip."""
        event = bytearray()
        while length:
            while (field := self._field(length)) is None:
                yield
            key, size, head = field
            length -= len(head) + size
            if key == _SUMMARY:
                summary = bytearray()
                while size:
                    while (field := self._field(size)) is None:
                        yield
                    inner, inner_size, head = field
                    size -= len(head) + inner_size
                    if inner == _VALUE:
                        value = bytearray()
                        yield from self._fields(value, inner_size)
                        summary += _delimited(_VALUE, value)
                    elif inner_size:
                        self._pass_over(inner_size)
                        yield
                event += _delimited(_SUMMARY, summary)
            elif size > _PAYLOAD:
                self._pass_over(size)
                yield
            else:
                while self._short_of(size):
                    yield
                event += head + self._take(size)
            _check(len(event))
        while self._short_of(self.left):
            yield
        self._take(self.left)
        return bytes(event)

    def _fields(self, kept: bytearray, length: int) -> Iterator[None]:
        """Appends the fields of a message but its payloads."""
        while length:
            while (field := self._field(length)) is None:
                yield
            _, size, head = field
            length -= len(head) + size
            if size > _PAYLOAD:
                self._pass_over(size)
                yield
            else:
                while self._short_of(size):
                    yield
                kept += head + self._take(size)
            _check(len(kept))

    def _short_of(self, size: int) -> bool:
        return len(self._data) - self._at < size

    def _take(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def _pass_over(self, size: int) -> None:
        """`size` bytes, and the checksum where nothing is left before it: it cannot be checked any more."""
        self._ahead -= size
        if self.left == FOOTER:
            size, self._ahead = size + FOOTER, self._ahead - FOOTER
        self.skip = size

    def _field(self, limit: int) -> tuple[int, int, bytes] | None:
        """(key, size of the value, bytes before the value) of the next field of a message that has `limit` bytes left;
        None where that is not all there yet."""
        data, begun = self._data, self._at
        key, at = _varint(data, begun)
        size = 0
        if at:
            wire = key & 7
            if wire == BYTES:
                size, at = _varint(data, at)
            elif wire == VARINT:
                at = _varint(data, at)[1]
            elif wire in (FIXED32, FIXED64):
                size = 4 if wire == FIXED32 else 8
            else:
                raise FormatError("an unknown wire type")
        if not at:
            return None
        if at - begun + size > limit:
            raise FormatError("a field that reaches past the end of its message")
        self._at = at
        return key, size, data[begun:at]


def _check(size: int) -> None:
    if size > _KEPT:
        raise FormatError("too many small fields in one event")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, offset of what follows it) of the varint at data[at:]; that offset is 0 where its end is not there."""
    if at < len(data) and data[at] < 128:
        return data[at], at + 1
    end = min(len(data), at + _VARINT_SIZE)
    value = shift = 0
    for place in range(at, end):
        byte = data[place]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place + 1
        shift += 7
    if end - at == _VARINT_SIZE:
        raise FormatError("a varint without an end")
    return 0, 0


def _delimited(key: int, content: bytes | bytearray) -> bytes:
    """A field of wire type 2 with its key and length."""
    size = len(content)
    length = bytearray()
    while size >= 128:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return bytes([key, *length]) + content
