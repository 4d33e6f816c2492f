"""Frames between the reader process and its listener: encode, decode, validate.

    frame    u32 header length, u32 payload length (both little-endian), header, payload
    header   one JSON object: {"kind": "columns", ...}; padded with blanks to a multiple of 8 bytes
    payload  only in columns and preview frames: metric u32[k], counts u32[k], steps i64[n], values f64[n],
             wall_times f64[n], little-endian, one after the other

Sans-I/O: bytes in, events out. The other end may be another machine, so nothing in a frame is trusted: lengths
have limits, fields are checked, and a frame that is not well formed raises WireError.
"""

from __future__ import annotations

import json
import struct
from typing import Annotated, Any, TypeAlias, cast

import msgspec
import numpy as np
import orjson
from msgspec import Meta, Struct

from tuimon.errors import WireError
from tuimon.model import events
from tuimon.model.events import Columns, Event, Preview

_LENGTHS = struct.Struct("<II")
MAX_HEADER = 64 << 20
MAX_PAYLOAD = 512 << 20

_KINDS: dict[str, type[Struct]] = {
    "run": events.RunFound,
    "checkpoints": events.CheckpointsFound,
    "ranks": events.RanksSeen,
    "stream": events.StreamFound,
    "metrics": events.MetricsFound,
    "columns": events.Columns,
    "preview": events.Preview,
    "segment": events.SegmentStarted,
    "attempt": events.AttemptStarted,
    "replaced": events.StreamReplaced,
    "fact": events.FactFound,
    "status": events.StreamStatus,
    "progress": events.Progress,
    "watching": events.Watching,
    "notice": events.Notice,
    "machine": events.MachineSeen,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_MAY_HOLD_NAN = frozenset({"fact", "status"})
"""Kinds whose headers may hold NaN, which orjson would write as null."""
_Count: TypeAlias = Annotated[int, Meta(ge=0)]


class _ColumnsHeader(Struct):
    stream: _Count
    metrics: _Count
    points: _Count


class _PreviewHeader(_ColumnsHeader):
    names: tuple[str, ...]


def encode(event: Event) -> bytes:
    """Return one event as one frame."""
    payload = b""
    if isinstance(event, Columns | Preview):
        columns = event.columns if isinstance(event, Preview) else event
        header: dict[str, Any] = {
            "stream": columns.stream,
            "metrics": len(columns.metric),
            "points": len(columns.steps),
        }
        if isinstance(event, Preview):
            header["names"] = event.names
        payload = b"".join(
            (
                columns.metric.astype("<u4", copy=False).tobytes(),
                columns.counts.astype("<u4", copy=False).tobytes(),
                columns.steps.astype("<i8", copy=False).tobytes(),
                columns.values.astype("<f8", copy=False).tobytes(),
                columns.wall_times.astype("<f8", copy=False).tobytes(),
            )
        )
    else:
        header = msgspec.structs.asdict(event)
    text = _dump({"kind": _NAMES[type(event)], **header})
    text += b" " * (-(len(text) + _LENGTHS.size) % 8)  # aligns the columns
    return _LENGTHS.pack(len(text), len(payload)) + text + payload


def _dump(header: dict[str, Any]) -> bytes:
    if header["kind"] not in _MAY_HOLD_NAN:
        try:
            return orjson.dumps(header, default=_plain_value)
        except TypeError:  # a path with bytes that are not UTF-8
            pass
    return json.dumps(header, default=_plain_value).encode()


def _plain_value(value: object) -> object:
    return msgspec.structs.asdict(value) if isinstance(value, Struct) else str(value)


class FrameDecoder:
    """Decode the bytes of a pipe, split anywhere, to events."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def pending(self) -> int:
        """Number of bytes of an incomplete frame."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Event]:
        """Return the events of all frames completed by `data`. Raises WireError, after which no more can be decoded."""
        self._buffer += data
        result: list[Event] = []
        start = 0
        while len(self._buffer) - start >= _LENGTHS.size:
            header, payload = _LENGTHS.unpack_from(self._buffer, start)
            if header > MAX_HEADER or payload > MAX_PAYLOAD:
                raise WireError(f"a frame of {header} + {payload} bytes is over the limit")
            body = start + _LENGTHS.size
            end = body + header + payload
            if len(self._buffer) < end:
                break
            result.append(decode(bytes(self._buffer[body : body + header]), bytes(self._buffer[body + header : end])))
            start = end
        del self._buffer[:start]
        return result


def decode(header: bytes, payload: bytes) -> Event:
    """Return the event of one frame, given its header and payload. Raises WireError if they are not well formed."""
    values = _load_header(header)
    kind = values.pop("kind", None)
    if kind not in _KINDS:
        raise WireError(f"unknown kind of frame: {str(kind)[:40]!r}")
    try:
        if kind == "columns":
            return _decoded_columns(msgspec.convert(values, _ColumnsHeader), payload)
        if kind == "preview":
            return _preview(msgspec.convert(values, _PreviewHeader), payload)
        if payload:
            raise WireError(f"invalid {kind} frame: unexpected payload")
        if unknown := values.keys() - _KINDS[kind].__struct_fields__:
            raise WireError(f"invalid {kind} frame: unknown field {min(unknown)[:40]!r}")
        return cast(Event, msgspec.convert(values, _KINDS[kind]))
    except msgspec.ValidationError as error:
        raise WireError(f"invalid {kind} frame: {error}") from error


def _load_header(header: bytes) -> dict[str, Any]:
    try:
        values = orjson.loads(header)
    except orjson.JSONDecodeError:
        try:
            values = json.loads(header)
        except ValueError as error:
            raise WireError("the header of a frame is not JSON") from error
    if type(values) is not dict:
        raise WireError("the header of a frame is not a JSON object")
    return values


def _preview(header: _PreviewHeader, payload: bytes) -> Preview:
    columns = _decoded_columns(header, payload)
    if len(columns.metric) and int(columns.metric.max()) >= len(header.names):
        raise WireError("invalid preview frame: a metric has no name")
    return Preview(columns, header.names)


def _decoded_columns(header: _ColumnsHeader, payload: bytes) -> Columns:
    metrics, points = header.metrics, header.points
    if len(payload) != 8 * metrics + 24 * points:
        raise WireError(f"a columns frame of {len(payload)} bytes for {metrics} metrics and {points} points")
    ids = np.frombuffer(payload, "<u4", metrics)
    counts = np.frombuffer(payload, "<u4", metrics, 4 * metrics)
    if int(counts.sum(dtype=np.int64)) != points:
        raise WireError("a columns frame whose counts do not add up")
    start = 8 * metrics
    return Columns(
        header.stream,
        ids,
        counts,
        np.frombuffer(payload, "<i8", points, start),
        np.frombuffer(payload, "<f8", points, start + 8 * points),
        np.frombuffer(payload, "<f8", points, start + 16 * points),
    )
