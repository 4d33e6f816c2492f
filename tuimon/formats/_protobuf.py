"""The protobuf wire format, read without a schema (protobuf.dev/programming-guides/encoding).

A message is a row of fields, each a key (number << 3 | wire type) and a value. `fields` tells where the values lie and
decodes nothing, so a reader pays only for what it wants. It never recurses, never reads past the end it is given.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuimon.errors import FormatError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_SIZE = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT = 10


def varint(data: bytes, start: int, end: int) -> tuple[int, int]:
    """(value as an unsigned 64-bit integer, offset after it). FormatError if it does not end before `end`."""
    value = shift = 0
    for offset in range(start, min(end, start + _MAX_VARINT)):
        byte = data[offset]
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFF_FFFF_FFFF_FFFF, offset + 1
        shift += 7
    raise FormatError("a varint without an end")


def signed(value: int) -> int:
    """An int64 (or int32) field from its unsigned form: negative numbers are written as 64 bits."""
    return value - (1 << 64) if value >> 63 else value


def fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(field number, wire type, start, end of the value) for each field of the message data[start:end].

    The value of a VARINT is its bytes, that of BYTES what follows its length. FormatError: no message.
    """
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
            stop = varint(data, start, end)[1]
        elif wire in _SIZE:
            stop = start + _SIZE[wire]
        else:
            raise FormatError("an unknown wire type")
        if stop > end or key < 8:
            raise FormatError("a field that reaches past the end of its message")
        yield key >> 3, wire, start, stop
        start = stop
