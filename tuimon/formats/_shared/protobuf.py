"""The protobuf wire format, read without a schema (protobuf.dev/programming-guides/encoding).

A message is a sequence of fields, each a key (number << 3 | wire type) and a value. `fields` yields the positions of
the values without decoding them, for hot paths; `Message` decodes all fields, for records that are rare. Neither
recurses or reads past the given end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tuimon.errors import FormatError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_SIZE = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT = 10
_DOUBLE = struct.Struct("<d")


def varint(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return (value as an unsigned 64-bit integer, offset after it). Raises FormatError if it does not end by `end`."""
    value = shift = 0
    for offset in range(start, min(end, start + _MAX_VARINT)):
        byte = data[offset]
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFF_FFFF_FFFF_FFFF, offset + 1
        shift += 7
    raise FormatError("a varint without an end")


def signed(value: int) -> int:
    """Convert an int64 (or int32) field from its unsigned form: negative numbers are written as 64 bits."""
    return value - (1 << 64) if value >> 63 else value


def fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (field number, wire type, start, end of the value) for each field of the message data[start:end]. The value
    of a VARINT field is its bytes, that of a BYTES field what follows its length. Raises FormatError if the bytes are
    not a message."""
    while start < end:
        key = data[start]
        start += 1
        if key >= 128:
            key, start = varint(data, start - 1, end)
        wire = key & 7
        if wire == BYTES:
            if start < end and data[start] < 128:
                size = data[start]
                start += 1
            else:
                size, start = varint(data, start, end)
            stop = start + size
        elif wire == VARINT:
            stop = start + 1 if start < end and data[start] < 128 else varint(data, start, end)[1]
        elif wire in _SIZE:
            stop = start + _SIZE[wire]
        else:
            raise FormatError("an unknown wire type")
        if stop > end or key < 8:
            raise FormatError("a field that reaches past the end of its message")
        yield key >> 3, wire, start, stop
        start = stop


def timestamp(data: bytes, start: int, end: int) -> float:
    """Return the google.protobuf.Timestamp (seconds 1, nanos 2) data[start:end] as seconds since the epoch."""
    parts = {1: 0, 2: 0}
    for number, wire, first, stop in fields(data, start, end):
        if wire == VARINT and number in parts:
            parts[number] = signed(varint(data, first, stop)[0])
    return parts[1] + parts[2] / 1e9


class Message:
    """A decoded message. A field that is absent or has another wire type reads as its default value (0, 0.0, ""), which
    proto3 does not write. Of a repeated field the last value is returned, unless the method returns a list."""

    __slots__ = ("_values",)

    def __init__(self, data: bytes) -> None:
        """Decode `data`. Raises FormatError if it is not a message."""
        self._values: dict[int, list[int | bytes]] = {}
        for number, wire, start, end in fields(data, 0, len(data)):
            value = varint(data, start, end)[0] if wire == VARINT else data[start:end]
            self._values.setdefault(number, []).append(value)

    def __contains__(self, number: int) -> bool:
        return number in self._values

    def integer(self, number: int) -> int:
        value = self._values.get(number, (0,))[-1]
        return signed(value) if isinstance(value, int) else 0

    def double(self, number: int) -> float:
        value = self._values.get(number, (b"",))[-1]
        return float(_DOUBLE.unpack(value)[0]) if isinstance(value, bytes) and len(value) == 8 else 0.0

    def all_bytes(self, number: int) -> list[bytes]:
        return [value for value in self._values.get(number, ()) if isinstance(value, bytes)]

    def data(self, number: int) -> bytes:
        return (self.all_bytes(number) or [b""])[-1]

    def text(self, number: int) -> str:
        return self.data(number).decode("utf-8", "replace")

    def texts(self, number: int) -> list[str]:
        return [value.decode("utf-8", "replace") for value in self.all_bytes(number)]

    def named_texts(self, names: dict[int, str]) -> dict[str, str]:
        """Return the texts that are not empty, by the name that `names` gives their field numbers."""
        return {name: text for number, name in names.items() if (text := self.text(number))}

    def message(self, number: int) -> Message:
        return Message(self.data(number))

    def timestamp(self, number: int) -> float | None:
        """Return a google.protobuf.Timestamp as seconds since the epoch; None if it is absent."""
        if number not in self._values:
            return None
        data = self.data(number)
        return timestamp(data, 0, len(data))
