"""Incremental decoding of an Event of more than LARGE bytes that skips its payloads.

Images, histograms, audio and graphs make an event large; they are not used here, and a reader that can seek skips them.
The remaining tags, metadata and small values form a much smaller Event with the same scalars.
"""

from __future__ import annotations

from tuimon.errors import FormatError
from tuimon.formats._shared.protobuf import BYTES, fields
from tuimon.formats.tensorboard._records import FOOTER, is_intact

_PAYLOAD = 4 << 10  # size (bytes) above which a field is skipped; scalars are smaller
_KEPT = 16 << 20  # maximum number of bytes kept of one event
_MESSAGES = (5, 1)
"""Field numbers of the summary in an event and of a value in a summary."""


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
        self._raw: bytearray | None = bytearray()
        """All bytes of the event and its checksum; None if some were skipped."""
        self._opened = [(length, bytearray())]
        """(bytes that follow, kept fields) of the event, the summary and the value that are being read."""

    @property
    def left(self) -> int:
        """Bytes of the record that follow, including its checksum."""
        return sum(left for left, _ in self._opened) + FOOTER

    @property
    def is_intact(self) -> bool:
        """Whether the checksum is right, or unknown because bytes were skipped."""
        return self._raw is None or is_intact(bytes(self._raw), 0, self.length)

    def read(self, data: bytes, position: int) -> int:
        """Read data[position:] as far as possible and return the position of the first unread byte. Afterwards there
        are bytes to `skip`, more bytes are needed, the event is `broken`, or `reduced` is set."""
        start = position
        try:
            while self.reduced is None and not self.skip and (after := self._step(data, position)) is not None:
                position = after
        except FormatError:
            self.broken = True
        if self._raw is not None:
            self._raw += data[start:position]
        if self.skip:
            self._raw = None
        return position

    def _step(self, data: bytes, position: int) -> int | None:
        """Read a field, the head of one, or the checksum, and return the position after it; None if it is incomplete.

        Raises FormatError if the bytes are not a field.
        """
        left, kept = self._opened[-1]
        if left:
            return self._field(data, position, left, kept)
        if len(self._opened) > 1:
            self._opened.pop()
            self._opened[-1][1].extend(_delimited(_MESSAGES[len(self._opened) - 1], kept))
            return position
        if len(data) - position < FOOTER:
            return None
        self.reduced = bytes(kept)
        return position + FOOTER

    def _field(self, data: bytes, position: int, left: int, kept: bytearray) -> int | None:
        try:
            number, wire, first, stop = next(fields(data, position, position + left))
        except IndexError:  # beyond the end of the data
            return None
        after = left - (stop - position), kept
        depth = len(self._opened) - 1
        if wire == BYTES and _MESSAGES[depth : depth + 1] == (number,):
            self._opened[-1:] = after, (stop - first, bytearray())
            return first
        if stop - first > _PAYLOAD:
            self._opened[-1], self.skip = after, stop - first
            return first
        if stop > len(data):
            return None
        if len(kept) > _KEPT:
            raise FormatError("too many small fields in one event")
        self._opened[-1] = after
        kept += data[position:stop]
        return stop


def _delimited(number: int, content: bytes | bytearray) -> bytes:
    """Encode a field of wire type 2 with its key and length."""
    size = len(content)
    length = bytearray()
    while size >= 128:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | BYTES, *length, size]) + content
