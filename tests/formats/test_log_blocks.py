"""The framing of `.wandb` and `.swanlab` files, split and damaged in every way."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.log_writer import BLOCK, WANDB, chunk, damage, framed, is_subsequence

from tuimon.formats._shared import log_blocks as _log_blocks
from tuimon.formats._shared.log_blocks import LogBlocks, Record
from tuimon.model.points import Damage


def read(data: bytes, size: int = 1 << 20) -> list[Record | Damage]:
    blocks = LogBlocks(WANDB)
    out: list[Record | Damage] = []
    for start in range(0, len(data), size):
        out += blocks.feed(data[start : start + size])
    return [*out, *blocks.flush()]


def payloads(actual: list[Record | Damage]) -> list[bytes]:
    return [data[start:end] for _, data, start, end in (single for single in actual if not isinstance(single, Damage))]


def numbered(count: int, size: int) -> list[bytes]:
    """Distinct records, none of which looks like a chunk."""
    source = random.Random(count)
    return [b"%d:" % index + source.randbytes(size) for index in range(count)]


@given(
    st.lists(st.one_of(st.integers(0, 40), st.integers(32700, 32800), st.integers(0, 100_000)), max_size=12),
    st.sampled_from([0, 7]),
    st.sampled_from([1000, 4096, 32761, 32768, 40_000, 1 << 20]),
)
def test_records_round_trip_for_any_length_and_split(sizes: list[int], phase: int, piece: int) -> None:
    records = [bytes([index]) * size for index, size in enumerate(sizes)]
    data = framed(WANDB, records, phase)
    actual = read(data, piece)
    assert payloads(actual) == records
    assert not damage(actual)
    position = 7
    for record in actual:
        assert not isinstance(record, Damage)
        offset, _, start, end = record
        assert offset >= position
        assert data[offset + 6] in (1, 2)  # the kinds that begin a record
        position = offset + 7 + end - start


def test_an_incomplete_tail_waits_and_is_not_damage() -> None:
    records = numbered(6, 12)
    data = framed(WANDB, records)
    starts = [0, *(len(framed(WANDB, records[:count])) for count in range(len(records) + 1))]
    for end in range(len(data) + 1):
        blocks = LogBlocks(WANDB)
        before = [*blocks.feed(data[:end]), *blocks.flush()]
        assert not damage(before)
        assert blocks.incomplete_at == (None if end in starts else max(start for start in starts if start < end))
        assert payloads([*before, *blocks.feed(data[end:]), *blocks.flush()]) == records


@pytest.mark.parametrize("flip", [0xFF, 0x01, 0x80])
def test_a_flipped_byte_costs_one_record_and_no_neighbour(flip: int) -> None:
    records = numbered(8, 11)
    data = framed(WANDB, records)
    for place in range(len(data)):
        bad = bytearray(data)
        bad[place] ^= flip
        actual = read(bytes(bad))
        kept = payloads(actual)
        assert is_subsequence(kept, records)
        assert len(kept) >= len(records) - (place >= 7)
        # a last chunk that claims to be longer than the file looks like one that is still being written
        reported = [item.records for item in damage(actual)]
        assert reported == [int(place >= 7)] or (place >= len(data) - len(chunk(1, records[-1])) and not reported)


def test_a_flipped_byte_in_a_record_of_many_chunks() -> None:
    records = [*numbered(40, 900), b"long" * 25_000, *numbered(30, 700)]
    data = framed(WANDB, records)
    for place in range(7, len(data), 1009):
        bad = bytearray(data)
        bad[place] ^= 0x55
        actual = read(bytes(bad), 8192)
        kept = payloads(actual)
        assert is_subsequence(kept, records), place
        assert len(kept) >= len(records) - 1, place
        assert sum(item.records for item in damage(actual)) == 1, place


@pytest.mark.parametrize("size", [1, 13, 400, 5000, 40_000])
@pytest.mark.parametrize("kind", ["zeros", "deleted", "inserted", "noise"])
def test_records_around_a_hole_survive(kind: str, size: int) -> None:
    records = numbered(600, 190)
    data = framed(WANDB, records)
    position = 45_000
    filling = {
        "zeros": bytes(size),
        "deleted": b"",
        "inserted": b"\x02" * size,
        "noise": random.Random(1).randbytes(size),
    }
    after = position if kind == "inserted" else position + size
    actual = read(data[:position] + filling[kind] + data[after:], 10_000)
    kept = payloads(actual)
    assert is_subsequence(kept, records)
    assert len(kept) >= len(records) - 2 - (size if kind != "inserted" else 0) // 197
    assert 1 <= len(damage(actual)) <= 2


def test_damage_has_offset_and_length() -> None:
    data = framed(WANDB, [b"one", b"two", b"three"])
    bad = bytearray(data)
    bad[18] ^= 1  # in the header of "two"
    actual = read(bytes(bad))
    assert payloads(actual) == [b"one", b"three"]
    assert damage(actual) == [Damage(17, 10, "chunk damaged")]


def test_parts_without_a_whole() -> None:
    data = WANDB + chunk(4, b"end of nothing") + chunk(1, b"a") + chunk(2, b"begun, never ended") + chunk(1, b"b")
    data += chunk(2, b"c") + chunk(3, b"d") + chunk(4, b"e")
    actual = read(data)
    assert payloads(actual) == [b"a", b"b", b"cde"]
    assert [item.reason for item in damage(actual)] == ["record without its beginning", "record without its end"]


def test_a_record_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_log_blocks, "MAX_RECORD", 200_000)
    endless = WANDB + chunk(2, b"x" * 32_000) + chunk(3, b"x" * 32_000) * 100 + chunk(4, b"x") + chunk(1, b"next")
    actual = read(endless)
    assert payloads(actual) == [b"next"]
    assert [item.reason for item in damage(actual)] == ["record too long"]


def test_a_wrong_head_is_reported_and_the_records_are_read() -> None:
    actual = read(b":W&B\x00\x00\x09" + chunk(1, b"one"))
    assert payloads(actual) == [b"one"]
    assert damage(actual) == [Damage(0, 7, "file header wrong", records=0)]


@given(st.binary(max_size=3000), st.integers(1, 3000))
def test_noise_has_no_records_and_raises_nothing(noise: bytes, piece: int) -> None:
    actual = read(WANDB + noise, piece)
    assert not [record for record in payloads(actual) if len(record) > len(noise)]


@pytest.mark.parametrize("pattern", [b"\x01", b"\x00\x00\x00\x00\x00\x7f\x01", b"\x01\x00\x00\x00\x01\x00\x01"])
def test_hostile_bytes_take_bounded_memory(pattern: bytes) -> None:
    piece = (pattern * (1 << 16))[: 1 << 16]
    blocks = LogBlocks(WANDB)
    blocks.feed(WANDB)
    blocks.feed(piece)
    tracemalloc.start()
    try:
        actual = [item for _ in range(4) for item in blocks.feed(piece)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not payloads(actual)
    assert peak < 40 * BLOCK * 8
    assert payloads([*blocks.feed(framed(b"", [b"x" * BLOCK, b"found again"])), *blocks.flush()])[-1] == b"found again"
