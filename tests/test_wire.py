"""Frames: events survive encoding however the pipe splits them; anything else raises WireError only."""

from __future__ import annotations

import math
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.errors import WireError
from tuimon.model.events import (
    CheckpointsFound,
    Columns,
    Event,
    FactFound,
    MetricsFound,
    Notice,
    Preview,
    Progress,
    RunFound,
    SegmentStarted,
    StreamFound,
    StreamReplaced,
    StreamStatus,
    Watching,
)
from tuimon.model.points import Fact
from tuimon.wire import FrameDecoder, decode, encode


def columns() -> Columns:
    return Columns(
        3,
        np.array([0, 7], np.uint32),
        np.array([2, 1], np.uint32),
        np.array([-5, 2**62, 1], np.int64),
        np.array([math.nan, -math.inf, 5e-324]),
        np.array([math.nan, 1.8e9, 0.1 + 0.2]),
    )


EVENTS: list[Event] = [
    RunFound(0, "grpo-1.5b", "/logs/grpo-1.5b"),
    RunFound(1, "名前 😀", "/logs/bytes-\udcff"),
    CheckpointsFound(1, (40, 80)),
    StreamFound(0, 0, "tensorboard", "/logs/a", "tensorboard", 40, "train/", 2),
    StreamFound(1, 0, "gpu.csv", "/logs/gpu.csv", "nvidia-smi", 11, "", 1, True),
    MetricsFound(0, 12, ("train/loss", "a//b///c ", "准确率 x", "")),
    columns(),
    Preview(columns(), ("a", *"bcdefg", "train/loss")),
    SegmentStarted(0, 80, True),
    SegmentStarted(0, None, False),
    StreamReplaced(4),
    FactFound(0, Fact("config", {"lr": 1e-5, "nested": {"a": [1, None, True]}, "bad": math.inf}, 3, 1.5)),
    StreamStatus(0, "gone", "no such file", 10, 5, math.nan, 2),
    Progress(1, 2, False),
    Watching("poll", "poll every 2 s (nfs4)"),
    Notice("warning", "a", "b", proposed_patterns=("zzz {step}", "{a}")),
]


def same(event: Event, other: Event) -> bool:
    if isinstance(event, Preview) and isinstance(other, Preview):
        return event.names == other.names and same(event.columns, other.columns)
    if isinstance(event, Columns) and isinstance(other, Columns):
        names = ("metric", "counts", "steps", "values", "wall_times")
        return event.stream == other.stream and all(
            getattr(event, name).tobytes() == getattr(other, name).tobytes() for name in names
        )
    return repr(event) == repr(other)  # NaN is equal to NaN here


@given(st.lists(st.sampled_from(EVENTS), max_size=8), st.data())
def test_any_split_of_the_pipe_gives_the_same_events(events: list[Event], data: st.DataObject) -> None:
    stream = b"".join(encode(event) for event in events)
    decoder = FrameDecoder()
    got: list[Event] = []
    start = 0
    while start < len(stream):
        size = data.draw(st.integers(1, len(stream)))
        got += decoder.feed(stream[start : start + size])
        start += size
    assert len(got) == len(events)
    assert all(same(a, b) for a, b in zip(got, events, strict=True))
    assert decoder.pending == 0


@given(st.binary(max_size=300))
def test_garbage_raises_wire_error_or_waits(garbage: bytes) -> None:
    with suppress(WireError):
        FrameDecoder().feed(garbage)


@given(st.sampled_from(EVENTS), st.data())
def test_a_changed_byte_never_raises_anything_but_wire_error(event: Event, data: st.DataObject) -> None:
    frame = bytearray(encode(event))
    frame[data.draw(st.integers(8, len(frame) - 1))] ^= data.draw(st.integers(1, 255))
    with suppress(WireError):
        FrameDecoder().feed(bytes(frame))


@pytest.mark.parametrize(
    ("header", "payload"),
    [
        (b'{"kind": "columns", "stream": 0, "metrics": 1, "points": 5}', b""),
        (b'{"kind": "columns", "stream": 0, "metrics": 1, "points": -1}', b""),
        (b'{"kind": "columns", "stream": 0, "metrics": 1, "points": 1}', struct.pack("<IIqdd", 0, 9, 0, 0, 0)),
        (b'{"kind": "run", "run": "0", "name": "a", "path": "b"}', b""),
        (b'{"kind": "run", "run": true, "name": "a", "path": "b"}', b""),
        (b'{"kind": "run", "run": 0, "name": "a"}', b""),
        (b'{"kind": "run", "run": 0, "name": "a", "path": "b", "more": 1}', b""),
        (b'{"kind": "run", "run": 0, "name": "a", "path": "b"}', b"payload"),
        (b'{"kind": "fact", "stream": 0, "topic": "t", "value": [], "step": null, "wall_time": null}', b""),
        (b'{"kind": "eval", "code": "x"}', b""),
        (b"[]", b""),
        (b"\xff", b""),
    ],
)
def test_malformed_frames_raise_wire_error(header: bytes, payload: bytes) -> None:
    with pytest.raises(WireError):
        decode(header, payload)


def test_an_excessive_length_raises_at_once() -> None:
    with pytest.raises(WireError, match="over the limit"):
        FrameDecoder().feed(struct.pack("<II", 0xFFFFFFFF, 0))
