"""Writers of the binary logs that tests damage, split and grow: the framing of `.wandb` and `.swanlab`, and
protobuf."""

from __future__ import annotations

import math
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence

from support.json_points import feed
from tuimon.formats import StreamDecoder
from tuimon.model.points import Damage, Item, Points

BLOCK = 32768
WANDB = b":W&B\xe1\xbe\x00"
SWANLAB = b":SWL\xd6\xe1"


def chunk(kind: int, payload: bytes) -> bytes:
    return struct.pack("<IHB", zlib.crc32(bytes([kind]) + payload), len(payload), kind) + payload


def framed(head: bytes, records: Iterable[bytes], counted_from: int = 0) -> bytes:
    """A file of the records, with blocks counted from byte `counted_from` (wandb-core up to 0.17.5: 7)."""
    out = bytearray(head)
    for record in records:
        append(out, record, counted_from)
    return bytes(out)


def append(out: bytearray, record: bytes, counted_from: int = 0) -> None:
    """Append a record to a file."""
    first, rest = True, record
    while first or rest:
        room = BLOCK - (len(out) - counted_from) % BLOCK
        if room < 7:
            out += bytes(room)
            room = BLOCK
        part, rest = rest[: room - 7], rest[room - 7 :]
        kind = (2 if rest else 1) if first else (3 if rest else 4)
        out += chunk(kind, part)
        first = False


def varint(value: int) -> bytes:
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | float | bytes | str) -> bytes:
    """A protobuf field; zeros are written too."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def history(number: int, items: dict[str | tuple[str, ...], str], step: int | None) -> bytes:
    """A W&B history record: key or nested keys -> JSON text."""
    body = b"".join(
        field(
            1, (field(1, key) if isinstance(key, str) else b"".join(field(2, part) for part in key)) + field(16, text)
        )
        for key, text in items.items()
    )
    if step is not None:
        body += field(2, field(1, step) if step else b"")
    return field(1, number) + field(2, body)


def decode(decoder: StreamDecoder, data: bytes, cuts: Sequence[int] = ()) -> list[Item]:
    """Return all items of a log that is fed in pieces ending at `cuts`, modulo its length."""
    return feed(decoder, data, [cut % (len(data) + 1) for cut in cuts])


def wall_times(items: Iterable[Item]) -> dict[str, list[float]]:
    result: dict[str, list[float]] = defaultdict(list)
    for item in items:
        if isinstance(item, Points):
            for metric, time in zip(item.metric.tolist(), item.wall_times.tolist(), strict=True):
                result[item.names[metric]].append(time)
    return dict(result)


def damage(items: Iterable[object]) -> list[Damage]:
    return [item for item in items if isinstance(item, Damage)]


def is_subsequence(part: Sequence[object], whole: Sequence[object]) -> bool:
    remaining = iter(whole)
    return all(any(item == other for other in remaining) for item in part)


def number(value: object) -> float:
    """A number of a truth file, in which non-finite numbers are strings."""
    assert isinstance(value, int | float | str)
    return math.nan if value == "NaN" else float(value)
