"""Decoding of an Event message (tensorflow/core/util/event.proto, framework/summary.proto).

    Event       1 double wall_time | 2 int64 step | 3 string file_version | 5 Summary | 7 SessionLog | 10 SourceMetadata
    Summary     1 repeated Value
    Value       1 string tag | 2 float simple_value | 8 TensorProto | 9 SummaryMetadata | 3 to 6 images and others
    Metadata    1 PluginData { 1 string plugin_name | 2 bytes content }
    SessionLog  1 Status (1 START)

proto3 omits a field that has its default value, so an absent step is 0. An absent wall time is NaN here, as the writer
did not set it.
"""

from __future__ import annotations

import math
import struct

from msgspec import Struct, field

from tuimon.errors import FormatError
from tuimon.formats._shared.protobuf import BYTES, FIXED32, FIXED64, VARINT, Message, fields, signed, varint

MAX_VALUES = 1 << 16
"""Values of one Summary; a message with more is malformed."""
SESSION_START = 1

_double = struct.Struct("<d").unpack_from
_float = struct.Struct("<f").unpack_from


class Value(Struct):
    """A value of a Summary. Spans are (start, end) in the input."""

    tag: bytes = b""
    simple: float | None = None
    simple_offset: int = -1
    tensor: tuple[int, int] | None = None
    plugin: str = ""
    """Plugin name in the metadata; "" without metadata."""
    content: bytes = b""
    """Data of the plugin."""


class Event(Struct):
    """An Event. Offsets are the positions of field values in the input, -1 if the field is absent."""

    wall_time: float = math.nan
    wall_offset: int = -1
    step: int = 0
    step_offset: int = -1
    step_size: int = 0
    values: list[Value] = field(default_factory=list)
    session_status: int = 0
    writer: str = ""
    file_version: str = ""


def read_event(data: bytes, start: int, end: int) -> Event:
    """Decode the Event message data[start:end]. Raises FormatError if it is malformed."""
    event = Event()
    for number, wire, first, stop in fields(data, start, end):
        if number == 1 and wire == FIXED64:
            event.wall_time, event.wall_offset = _double(data, first)[0], first
        elif number == 2 and wire == VARINT:
            event.step = signed(varint(data, first, stop)[0])
            event.step_offset, event.step_size = first, stop - first
        elif number == 5 and wire == BYTES:
            for inner, inner_wire, begin, until in fields(data, first, stop):
                if inner == 1 and inner_wire == BYTES:
                    event.values.append(_value(data, begin, until))
                    if len(event.values) > MAX_VALUES:
                        raise FormatError("too many values in one event")
        elif number == 3 and wire == BYTES:
            event.file_version = _text(data[first:stop], 256)
        elif number == 7 and wire == BYTES:
            event.session_status = Message(data[first:stop]).integer(1)
        elif number == 10 and wire == BYTES:
            event.writer = _text(Message(data[first:stop]).data(1), 256)
    return event


def _value(data: bytes, start: int, end: int) -> Value:
    value = Value()
    for number, wire, first, stop in fields(data, start, end):
        if number == 1 and wire == BYTES:
            value.tag = data[first:stop]
        elif number == 2 and wire == FIXED32:
            value.simple, value.simple_offset = _float(data, first)[0], first
        elif number == 8 and wire == BYTES:
            value.tensor = (first, stop)
        elif number == 9 and wire == BYTES:
            plugin = Message(data[first:stop]).message(1)
            value.plugin, value.content = _text(plugin.data(1), 256), plugin.data(2)
    return value


def read_texts(data: bytes, start: int, end: int, limit: int) -> list[str]:
    """Decode the strings of a string tensor data[start:end], at most `limit` bytes in all."""
    texts = []
    for number, wire, first, stop in fields(data, start, end):
        if number == 8 and wire == BYTES and limit > 0:
            texts.append(data[first : min(stop, first + limit)].decode("utf-8", "replace"))
            limit -= stop - first
    return texts


def read_hparams(data: bytes, limit: int) -> dict[str, float | str | bool | None]:
    """Decode at most `limit` hyper-parameters of a HParamsPluginData message
    (tensorboard/plugins/hparams/plugin_data.proto).

        3 session_start_info { 1 repeated entry { 1 string key | 2 google.protobuf.Value } }
    """
    hparams: dict[str, float | str | bool | None] = {}
    for session in Message(data).all_bytes(3):
        for encoded in Message(session).all_bytes(1)[: limit - len(hparams)]:
            entry = Message(encoded)
            hparams[_text(entry.data(1), 1024)] = _any_value(entry.message(2))
    return hparams


def _any_value(value: Message) -> float | str | bool | None:
    """Return what a google.protobuf.Value holds: 2 number | 3 string | 4 bool. None for lists and structs."""
    if 2 in value:
        return value.double(2)
    if 3 in value:
        return _text(value.data(3), 4096)
    return value.integer(4) != 0 if 4 in value else None


def _text(data: bytes, limit: int) -> str:
    return data[:limit].decode("utf-8", "replace")
