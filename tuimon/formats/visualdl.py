"""VisualDL records (PaddlePaddle), `vdlrecords.<time>.log`.

    file     records: 8 bytes length (little endian), then a Record message; no checksum
    Record   1 repeated Value
    Value    1 int64 step | 2 string tag | 3 int64 time in ms | 4 float value | 13 HParam | 5 to 12 images and others
    HParam   1 repeated { 1 int32 | 2 double | 3 string | 4 string name }

An absent step is 0. Records of more than 64 KiB hold images and are skipped. After damage the next bytes
that are a whole record of at most 64 KiB are searched for.
Source: visualdl/proto/record.proto and visualdl/writer/record_writer.py of VisualDL 2.5.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats import Format, StreamDecoder
from tuimon.formats._shared.protobuf import BYTES, FIXED32, VARINT, Message, fields, signed, varint
from tuimon.model.points import Damage, Fact, Item, PointsBuilder, Topic

_LENGTH = struct.Struct("<Q")
_FLOAT = struct.Struct("<f")
_LARGE = 64 << 10
_LARGEST = 1 << 32
"""Bytes above which a length is damage."""
_MIN = 2
_VALUE = 1 << 3 | BYTES
"""First byte of a record."""
_HEAD = _LENGTH.size + 1
_LIKELY = bytes(4) + bytes((_VALUE,))
"""Upper half of the length, then the first byte of a record."""
_OWN_TAG = b"meta_data_tag"
_MAX_METRICS = 1 << 16
_MAX_FACTS = 100


class VisualDLDecoder(StreamDecoder):
    """A StreamDecoder of one file."""

    def __init__(self) -> None:
        self._points = PointsBuilder()
        self._rest = b""
        self._offset = 0
        self._skip = 0
        """Bytes of a large record that follow."""
        self._lost = False
        """Whether the next record is being searched for, after damage."""
        self._facts = 0

    @property
    def skippable(self) -> int:
        return self._skip

    def advance(self, count: int) -> None:
        self._skip -= count
        self._offset += count

    def feed(self, data: bytes) -> list[Item]:
        count = min(self._skip, len(data))
        self.advance(count)
        data = self._rest + data[count:]
        others: list[Item] = []
        position, end = 0, len(data)
        while position + _HEAD <= end:
            (length,) = _LENGTH.unpack_from(data, position)
            start = position + _LENGTH.size
            stop = start + length
            if _MIN <= length <= _LARGEST and data[start] == _VALUE and not (self._lost and length > _LARGE):
                if length > _LARGE:
                    position = min(end, stop)
                    self._skip = stop - position
                    continue
                if stop > end:
                    break
                if self._read(data, start, stop, others):
                    position, self._lost = stop, False
                    continue
            if not self._lost:
                others.append(Damage(self._offset + position, _LENGTH.size, "not a record"))
            self._lost = True
            found = data.find(_LIKELY, position + 5)
            position = found - 4 if found >= 0 else max(position + 1, end - _HEAD + 1)
        self._rest = data[position:]
        self._offset += position
        return [*self._points.take(), *others]

    def flush(self) -> list[Item]:
        return []

    @property
    def incomplete_at(self) -> int | None:
        return self._offset if (self._rest or self._skip) and not self._lost else None

    def _read(self, data: bytes, start: int, end: int, others: list[Item]) -> bool:
        """Read a record, and return whether it is one."""
        values: list[tuple[int, int]] = []
        try:
            for number, wire, first, stop in fields(data, start, end):
                if number != 1 or wire != BYTES:
                    return False
                values.append((first, stop))
            for first, stop in values:
                self._read_value(data, first, stop, others)
        except FormatError:
            return False
        return True

    def _read_value(self, data: bytes, start: int, end: int, others: list[Item]) -> None:
        step, tag, wall_time, value = 0, b"", math.nan, None
        hparams: dict[str, Any] = {}
        for number, wire, first, stop in fields(data, start, end):
            if number == 1 and wire == VARINT:
                step = signed(varint(data, first, stop)[0])
            elif number == 2 and wire == BYTES:
                tag = data[first:stop]
            elif number == 3 and wire == VARINT:
                wall_time = signed(varint(data, first, stop)[0]) / 1000
            elif number == 4 and wire == FIXED32:
                (value,) = _FLOAT.unpack_from(data, first)
            elif number == 13 and wire == BYTES:
                hparams = _hparams(data, first, stop)
        if value is not None and tag != _OWN_TAG:
            name = tag.decode("utf-8", "replace")
            if len(self._points.names) < _MAX_METRICS or self._points.has(name):
                self._points.add(name, step, value, wall_time)
        if hparams and self._facts < _MAX_FACTS:
            self._facts += 1
            others.append(Fact(Topic.HPARAMS, hparams, wall_time=None if math.isnan(wall_time) else wall_time))


def _hparams(data: bytes, start: int, end: int) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for encoded in Message(data[start:end]).all_bytes(1):
        setting = Message(encoded)
        kind = next((kind for kind in (3, 2) if kind in setting), 1)
        value = {1: setting.integer, 2: setting.double, 3: setting.text}[kind](kind)
        settings[setting.text(4)] = value
    return settings


def matches(name: str, head: bytes) -> bool:
    """Return whether the file begins with a record."""
    if len(head) < _LENGTH.size + 2:
        return False
    (length,) = _LENGTH.unpack_from(head)
    return 2 < length < _LARGEST and head[_LENGTH.size] == (1 << 3 | BYTES)


FORMAT = Format(
    id="visualdl",
    title="VisualDL records",
    writers="VisualDL 2.5 (PaddlePaddle)",
    rank=40,
    matches=matches,
    decoder=VisualDLDecoder,
    directory_is_source=True,
    wants_name=lambda name: "vdlrecords" in name,
)
