"""A protobuf message by field number, for records that are few: every field is decoded. Hot paths use _protobuf.

proto3 leaves out a field that has its default value (0, 0.0, ""), so an absent field is that value.
"""

from __future__ import annotations

import struct

from tuimon.formats._protobuf import VARINT, fields, signed, varint

_DOUBLE = struct.Struct("<d")


class Message:
    """A field that is absent, or of another wire type, reads as its default; of a repeated one the last counts."""

    __slots__ = ("_values",)

    def __init__(self, data: bytes) -> None:
        """Raises FormatError where the bytes are no message."""
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

    def message(self, number: int) -> Message:
        return Message(self.data(number))

    def timestamp(self, number: int) -> float | None:
        """A google.protobuf.Timestamp (seconds 1, nanos 2) as seconds since the epoch; None if absent."""
        if number not in self._values:
            return None
        time = self.message(number)
        return time.integer(1) + time.integer(2) / 1e9
