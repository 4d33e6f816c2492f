"""An Event of more than 64 KiB, read in small pieces, its payloads passed over unread.

Images, histograms, audio, graphs: what makes an event large is of no use here, and a reader that can seek hops over it.
What is left, the tags, metadata and small values, makes a much smaller Event with the same scalars.
"""

from __future__ import annotations

from collections.abc import Generator

from tuimon.errors import FormatError
from tuimon.formats._protobuf import BYTES, FIXED32, FIXED64, VARINT
from tuimon.formats._records import FOOTER

LARGE = 64 << 10
"""An event of more bytes is read this way."""
_PAYLOAD = 4 << 10
"""A field of more bytes is passed over; no scalar is that big."""
_KEPT = 16 << 20
"""Bytes kept of one event at most."""

_SUMMARY = 5 << 3 | BYTES
_VALUE = 1 << 3 | BYTES

Script = Generator[int, bytes, bytes]
"""Yields how many bytes it wants next, or, negative, how many it will not look at; returns what it made."""


class LargeEvent:
    """Give it `wanted` bytes after the header by `take`, or pass over -`wanted` bytes, until `reduced` is there."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.left = length + FOOTER
        """Bytes of the record that are still to come, its checksum included."""
        self.reduced: bytes | None = None
        """The event without its payloads, once it is read."""
        self.raw = b""
        """All of the event's bytes and the checksum, if nothing of it was passed over; else empty."""
        self._kept = bytearray()
        self._whole = True
        self._script = _reduce(length)
        self.wanted = next(self._script)

    def take(self, data: bytes) -> None:
        """The next `wanted` bytes; nothing when -`wanted` bytes have been passed over. FormatError: not an event."""
        if self.wanted < 0:
            self._whole = False
            self._kept.clear()
        self.left -= abs(self.wanted)
        if self._whole:
            self._kept += data
            if len(self._kept) > _KEPT:
                raise FormatError("too many small fields in one event")
        try:
            self.wanted = self._script.send(data)
        except StopIteration as done:
            self.reduced = done.value
            self.raw = bytes(self._kept)


def _reduce(length: int) -> Script:
    """The Event of `length` bytes and its checksum, without the fields of more than 4 KiB."""
    event = bytearray()
    while length:
        key, size, head = yield from _field(length)
        length -= len(head) + size
        if key == _SUMMARY:
            summary = bytearray()
            while size:
                inner, inner_size, inner_head = yield from _field(size)
                size -= len(inner_head) + inner_size
                if inner == _VALUE:
                    value = yield from _without_payloads(inner_size)
                    summary += _delimited(_VALUE, value)
                elif inner_size:
                    yield -inner_size
            event += _delimited(_SUMMARY, summary)
        elif size > _PAYLOAD:
            yield -size
        else:
            event += head + ((yield size) if size else b"")
        _check(len(event))
    yield FOOTER
    return bytes(event)


def _without_payloads(length: int) -> Script:
    kept = bytearray()
    while length:
        _, size, head = yield from _field(length)
        length -= len(head) + size
        if size > _PAYLOAD:
            yield -size
        else:
            kept += head + ((yield size) if size else b"")
        _check(len(kept))
    return bytes(kept)


def _check(size: int) -> None:
    if size > _KEPT:
        raise FormatError("too many small fields in one event")


def _field(limit: int) -> Generator[int, bytes, tuple[int, int, bytes]]:
    """(key, size of the value, bytes before the value) of the next field of a message that has `limit` bytes left."""
    key, head = yield from _varint()
    wire = key & 7
    if wire == BYTES:
        size, more = yield from _varint()
        head += more
    elif wire == VARINT:
        size, more = 0, (yield from _varint())[1]
        head += more
    elif wire in (FIXED32, FIXED64):
        size = 4 if wire == FIXED32 else 8
    else:
        raise FormatError("an unknown wire type")
    if len(head) + size > limit:
        raise FormatError("a field that reaches past the end of its message")
    return key, size, head


def _varint() -> Generator[int, bytes, tuple[int, bytes]]:
    value = 0
    read = b""
    for shift in range(0, 70, 7):
        byte = yield 1
        read += byte
        value |= (byte[0] & 127) << shift
        if byte[0] < 128:
            return value, read
    raise FormatError("a varint without an end")


def _delimited(key: int, content: bytes | bytearray) -> bytes:
    """A field of wire type 2 with its key and length."""
    size = len(content)
    length = bytearray()
    while size >= 128:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return bytes([key, *length]) + content
