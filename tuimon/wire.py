"""Frames between the reader process and whoever listens: encode, decode, validate.

    frame    u32 header length, u32 payload length (both little-endian), header, payload
    header   one JSON object: {"kind": "columns", ...}; padded with blanks to a multiple of 8 bytes
    payload  columns and preview frames alone: metric u32[k], counts u32[k], steps i64[n], values f64[n],
             wall_times f64[n], little-endian, one after the other

Sans-I/O: bytes in, events out. The other end may be another machine, so nothing in a frame is trusted: lengths
have limits, fields are checked, and a frame that is not well formed raises WireError.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import orjson

from tuimon.errors import WireError
from tuimon.model import events
from tuimon.model.events import Columns, Event, FactFound, MachineSeen, Preview
from tuimon.model.machine import machine_of
from tuimon.model.points import Fact

_LENGTHS = struct.Struct("<II")
MAX_HEADER = 64 << 20
MAX_PAYLOAD = 512 << 20

_KINDS: dict[str, type[Any]] = {
    "run": events.RunFound,
    "checkpoints": events.CheckpointsFound,
    "stream": events.StreamFound,
    "metrics": events.MetricsFound,
    "columns": events.Columns,
    "preview": events.Preview,
    "segment": events.SegmentStarted,
    "replaced": events.StreamReplaced,
    "fact": events.FactFound,
    "status": events.StreamStatus,
    "progress": events.Progress,
    "watching": events.Watching,
    "notice": events.Notice,
    "machine": events.MachineSeen,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_FIELDS = {name: kind.__struct_fields__ for name, kind in _KINDS.items()}
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "int": lambda v: type(v) is int,
    "int | None": lambda v: v is None or type(v) is int,
    "float": lambda v: type(v) in (int, float),
    "bool": lambda v: type(v) is bool,
    "str": lambda v: type(v) is str,
    "tuple[str, ...]": lambda v: type(v) is list and all(type(x) is str for x in v),
    "tuple[int, ...]": lambda v: type(v) is list and all(type(x) is int for x in v),
}
_TYPES: dict[str, dict[str, str]] = {name: kind.__annotations__ for name, kind in _KINDS.items()}


def encode(event: Event) -> bytes:
    """One event as one frame."""
    kind = _NAMES[type(event)]
    header: dict[str, Any] = {"kind": kind}
    payload = b""
    if isinstance(event, Columns | Preview):
        columns = event.columns if isinstance(event, Preview) else event
        header |= {"stream": columns.stream, "metrics": len(columns.metric), "points": len(columns.steps)}
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
    elif isinstance(event, FactFound):
        fact = event.fact
        header |= {"stream": event.stream, "topic": fact.topic, "value": fact.value}
        header |= {"step": fact.step, "wall_time": fact.wall_time}
    elif isinstance(event, MachineSeen):
        header["machine"] = None if event.machine is None else msgspec.to_builtins(event.machine)
    else:
        header |= {name: getattr(event, name) for name in _FIELDS[kind]}
    text = _dump(header)
    text += b" " * (-(len(text) + _LENGTHS.size) % 8)  # columns start aligned
    return _LENGTHS.pack(len(text), len(payload)) + text + payload


def _dump(header: dict[str, Any]) -> bytes:
    # A fact may hold NaN, and a path may hold bytes that are not UTF-8: orjson would turn the one into null and
    # refuse the other. Both are rare, so the slower writer takes them.
    if header["kind"] in ("fact", "status"):
        return json.dumps(header, default=str).encode()
    try:
        return orjson.dumps(header)
    except TypeError:
        return json.dumps(header, default=str).encode()


class FrameDecoder:
    """Bytes of a pipe, cut anywhere, to events."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def pending(self) -> int:
        """Bytes of a frame that is not whole yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Event]:
        """The events of all frames that are now whole. Raises WireError; the stream cannot be read on after that."""
        self._buffer += data
        found: list[Event] = []
        start = 0
        while len(self._buffer) - start >= _LENGTHS.size:
            header, payload = _LENGTHS.unpack_from(self._buffer, start)
            if header > MAX_HEADER or payload > MAX_PAYLOAD:
                raise WireError(f"a frame of {header} + {payload} bytes is over the limit")
            body = start + _LENGTHS.size
            end = body + header + payload
            if len(self._buffer) < end:
                break
            found.append(decode(bytes(self._buffer[body : body + header]), bytes(self._buffer[body + header : end])))
            start = end
        del self._buffer[:start]
        return found


def decode(header: bytes, payload: bytes) -> Event:
    """One frame's header and payload as its event. Raises WireError."""
    values = _load(header)
    kind = values.pop("kind", None)
    if kind not in _KINDS:
        raise WireError(f"a frame of unknown kind {str(kind)[:40]!r}")
    try:
        if kind == "columns":
            return _columns(values, payload)
        if kind == "preview":
            return _preview(values, payload)
        if payload:
            raise WireError(f"a {kind} frame with a payload")
        if kind == "fact":
            return _fact(values)
        if kind == "machine":
            return MachineSeen(None if values["machine"] is None else machine_of(values["machine"]))
        for name, type_name in _TYPES[kind].items():
            if not _CHECKS[type_name](values[name]):
                raise WireError(f"a {kind} frame whose {name} is not {type_name}")
        values = {name: tuple(value) if type(value) is list else value for name, value in values.items()}
        event: Event = _KINDS[kind](**values)
    except (KeyError, TypeError, ValueError) as error:
        raise WireError(f"a {kind} frame lacks a field or has one too many: {error}") from error
    return event


def _load(header: bytes) -> dict[str, Any]:
    try:
        values = orjson.loads(header)
    except orjson.JSONDecodeError:
        try:
            values = json.loads(header)
        except ValueError as error:
            raise WireError("a frame whose header is not JSON") from error
    if type(values) is not dict:
        raise WireError("a frame whose header is not an object")
    return values


def _fact(values: dict[str, Any]) -> FactFound:
    topic, value, step, wall_time = values["topic"], values["value"], values["step"], values["wall_time"]
    good = type(topic) is str and type(value) is dict and type(values["stream"]) is int
    good = good and _CHECKS["int | None"](step) and (wall_time is None or type(wall_time) in (int, float))
    if not good:
        raise WireError("a fact frame with a field of a wrong type")
    return FactFound(values["stream"], Fact(topic, value, step, wall_time))


def _preview(values: dict[str, Any], payload: bytes) -> Preview:
    names, columns = values["names"], _columns(values, payload)
    if not _CHECKS["tuple[str, ...]"](names) or (len(columns.metric) and int(columns.metric.max()) >= len(names)):
        raise WireError("a preview frame without its names")
    return Preview(columns, tuple(names))


def _columns(values: dict[str, Any], payload: bytes) -> Columns:
    stream, metrics, points = values["stream"], values["metrics"], values["points"]
    if not all(type(v) is int and v >= 0 for v in (stream, metrics, points)):
        raise WireError("a columns frame whose counts are not counts")
    if len(payload) != 8 * metrics + 24 * points:
        raise WireError(f"a columns frame of {len(payload)} bytes for {metrics} metrics and {points} points")
    ids = np.frombuffer(payload, "<u4", metrics)
    counts = np.frombuffer(payload, "<u4", metrics, 4 * metrics)
    if int(counts.sum(dtype=np.int64)) != points:
        raise WireError("a columns frame whose counts do not add up")
    at = 8 * metrics
    return Columns(
        stream,
        ids,
        counts,
        np.frombuffer(payload, "<i8", points, at),
        np.frombuffer(payload, "<f8", points, at + 8 * points),
        np.frombuffer(payload, "<f8", points, at + 16 * points),
    )
