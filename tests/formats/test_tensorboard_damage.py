"""Event files split at any byte, cut short, damaged, or with records too large to hold."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.event_points import (
    WALL,
    curves,
    decode,
    event,
    file_of,
    image,
    others,
    records,
    same,
    scalar,
    tensor,
    text,
    version,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from tuimon.formats.tensorboard.event_file import EventFileDecoder
from tuimon.model.points import Damage

# ---- any cutting ---------------------------------------------------------------------------------------------------


SAMPLE = [
    version(),
    event(1, scalar("loss", 0.5)),
    event(1, tensor("acc", TensorProto(dtype=1, float_val=[0.25]))),
    event(2, scalar("loss", 0.25), scalar("lr", 1e-4), wall=WALL + 1),
    event(2, text("note", "some words")),
    event(3, image("i", 60)),
    event(3, scalar("loss", 0.125), wall=WALL + 2),
    event(4, scalar("loss", 0.0625), wall=WALL + 3),
]


def test_truncated_at_every_byte() -> None:
    framed = records(SAMPLE)
    data = b"".join(framed)
    ends = np.cumsum([len(record) for record in framed])
    for size in range(len(data) + 1):
        whole = b"".join(framed[: int(np.searchsorted(ends, size, "right"))])
        decoder = EventFileDecoder()
        first = decoder.feed(data[:size])
        assert curves(first) == curves(decode(whole))
        assert not [item for item in [*first, *decoder.flush()] if isinstance(item, Damage)]
        assert decoder.incomplete_at == (None if size == len(whole) else len(whole))
        assert curves([*first, *decoder.feed(data[size:])]) == curves(decode(data))


# ---- damage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_byte_damaged(flip: int) -> None:
    framed = records(SAMPLE)
    data = bytearray(b"".join(framed))
    position = 0
    for index, record in enumerate(framed):
        expected = curves(decode(b"".join(framed[:index] + framed[index + 1 :])))
        for _ in record:
            data[position] ^= flip
            decoder = EventFileDecoder()
            items = [*decoder.feed(bytes(data)), *decoder.flush()]
            assert curves(items) == expected, (index, position)
            (damage,) = [item for item in items if isinstance(item, Damage)]
            assert damage.offset <= position < damage.offset + damage.length
            data[position] ^= flip
            position += 1


def test_bytes_missing_inside_a_record_cost_only_that_record() -> None:
    framed = records(event(step, scalar("a", step)) for step in range(20))
    data = b"".join(framed[:7]) + framed[7][:25] + b"".join(framed[8:])
    items = decode(data)
    assert [step for step, _, _ in curves(items)["a"]] == [*range(7), *range(8, 20)]
    assert [(item.offset, item.length, item.reason) for item in items if isinstance(item, Damage)] == [
        (sum(map(len, framed[:7])), 25, "data checksum wrong")
    ]


def test_records_after_garbage_are_read() -> None:
    first, second = file_of(event(1, scalar("a", 1))), records([event(2, scalar("a", 2))])[0]
    for garbage in (bytes(70_000), random.Random(1).randbytes(70_000), b"\xff"):
        for cuts in ((), range(1000, 70_000, 1000)):
            items = decode(first + garbage + second, cuts if len(garbage) > 1 else ())
            assert curves(items) == {"a": [(1, 1.0, WALL), (2, 2.0, WALL)]}
            (damage,) = others(items)
            assert damage == Damage(len(first), len(garbage), "no record header")


@pytest.mark.parametrize("length", [(256 << 20) + 1, 1 << 33, 1 << 63])
def test_a_giant_length_is_damage_not_a_wait(length: int) -> None:
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    packed = struct.pack("<Q", length)
    giant = packed + struct.pack("<I", masked_crc32c(packed)) + b"some data"
    items = decode(file_of(event(1, scalar("a", 1))) + giant + file_of(event(2, scalar("a", 2))))
    assert len(curves(items)["a"]) == 2
    assert [item.length for item in items if isinstance(item, Damage)] == [len(giant)]


def test_damage_without_an_end_is_reported_once_by_flush() -> None:
    decoder = EventFileDecoder()
    good = file_of(event(1, scalar("a", 1)))
    decoder.feed(good + b"\xff" * 500)
    assert decoder.flush() == [Damage(len(good), 500, "no record header")]
    assert decoder.flush() == []
    assert decoder.feed(b"\xff" * 100) == []
    assert decoder.flush() == [Damage(len(good) + 500, 100, "no record header", 0)]
    assert curves(decoder.feed(good))["a"] == [(1, 1.0, WALL)]


def test_a_record_that_is_not_an_event_is_reported() -> None:
    items = decode(file_of(b"\x0b\x0c", event(1, scalar("a", 1))))
    assert curves(items) == {"a": [(1, 1.0, WALL)]}
    (damage,) = others(items)
    assert (damage.reason, damage.length) == ("not an event", 18)


@given(st.binary(max_size=120))
def test_random_bytes_in_a_valid_frame(message: bytes) -> None:
    good = event(1, scalar("a", 1))
    assert curves(decode(b"".join(records([message, good]))))["a"][-1] == (1, 1.0, WALL)


# ---- large records -------------------------------------------------------------------------------------------------


def hop(data: bytes, block: int) -> tuple[list[Any], int]:
    """Decode the data with a reader that skips where allowed; return (items, bytes that were fed)."""
    decoder = EventFileDecoder()
    items: list[Any] = []
    position = fed = 0
    while position < len(data):
        items += decoder.feed(data[position : position + block])
        fed += min(block, len(data) - position)
        position += block
        count = min(decoder.skippable, max(0, len(data) - position))
        decoder.advance(count)
        position += count
    return items, fed


@pytest.fixture(scope="module")
def large() -> bytes:
    """Large records. TensorBoard takes 0.5 s for their checksums."""
    return file_of(
        event(1, scalar("a", 1)),
        event(1, image("i", 500_000)),
        event(2, scalar("a", 2), image("i", 300_000), scalar("b", 3), image("j", 100_000)),
        event(2, graph_def=b"\x0a" * 200_000),
        event(3, tensor("t", TensorProto(dtype=1, float_val=[0.0] * 50_000), None), scalar("a", 4)),
        event(4, *(scalar(f"many {i}", i) for i in range(5000))),
        event(5, scalar("a", 5)),
    )


@pytest.mark.parametrize("block", [1000, 65_536, 10_000_000])
def test_large_records_are_skipped_but_their_scalars_are_read(large: bytes, block: int) -> None:
    items, fed = hop(large, block)
    actual = curves(items)
    assert [step for step, _, _ in actual["a"]] == [1, 2, 3, 5]
    assert actual["b"] == [(2, 3.0, WALL)]
    assert len([name for name in actual if name.startswith("many")]) == 5000
    assert not others(items)
    if block == 1000:
        assert fed < 200_000
    assert same(actual, curves(decode(large, range(777, len(large), 77_777))))


@pytest.mark.parametrize("at", [40, 100_000])
def test_a_damaged_large_record_without_payloads(at: int) -> None:
    framed = records([event(4, *(scalar(f"many {i}", i) for i in range(8000))), event(5, scalar("a", 5))])
    data = bytearray(b"".join(framed))
    data[at] ^= 0x10
    for cuts in ((), range(1000, len(data), 1000)):
        items = decode(bytes(data), cuts)
        assert curves(items) == {"a": [(5, 5.0, WALL)]}
        assert [(item.offset, item.length) for item in others(items)] == [(0, len(framed[0]))]


def test_a_large_record_is_not_held_in_memory() -> None:
    decoder = EventFileDecoder()
    start = records([event(1, image("i", 1 << 20))])[0][:4096]
    decoder.feed(start)
    assert decoder.skippable > 1_040_000
