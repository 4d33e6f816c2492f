"""Scalar records of SwanLab's run file, version 2, many at once: one cursor a record, all moved together.

The SDK writes a scalar's fields in their order (see swanlab_store), so each is where the one before it ends:

    08 number | 12 size {08 seconds, 10 nanos} | 6A size {0A size key, 10 step, 18 type, 22 size {08 seconds, 10 nanos},
    2A size {09 double}}        step, type, nanos and the value may be absent

A record that differs in anything is left to the reader of single records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tuimon.model.points import Floats, Ids, Steps

_Mask = npt.NDArray[np.bool_]
_Ints = npt.NDArray[np.int64]
_PADDING = bytes(1024)
"""More than a cursor can run past the end of a record before it is found to be another kind."""
_VARINT = 10


class Scalars(NamedTuple):
    """Columns of one length, that of the records; where `usual` is not set, the others mean nothing."""

    usual: _Mask
    metric: Ids
    steps: Steps
    values: Floats
    wall_times: Floats


class _Cursors:
    """Where the next field of each record begins."""

    def __init__(self, records: Sequence[bytes]) -> None:
        self.data = np.frombuffer(b"".join([*records, _PADDING]), np.uint8)
        lengths = np.fromiter(map(len, records), np.int64, len(records))
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths
        self.at = self.starts.copy()
        self.good = np.ones(len(records), np.bool_)

    def expect(self, byte: int) -> None:
        self.good &= self.data[self.at] == byte
        self.at += 1

    def has(self, byte: int) -> _Mask:
        """Which records have this byte next; only their cursors move past it."""
        there: _Mask = self.data[self.at] == byte
        self.at += there
        return there

    def varint(self, there: _Mask | bool = True) -> _Ints:
        """Of the records where one is `there`; 0 for the others."""
        value = np.zeros(len(self.at), np.uint64)
        going = np.ones(len(self.at), np.bool_) & there
        for number in range(_VARINT):
            byte = self.data[self.at]
            value |= np.where(going, byte & 127, 0).astype(np.uint64) << np.uint64(7 * number)
            self.at += going
            going &= byte > 127
            if not going.any():
                break
        self.good &= ~going
        return value.view(np.int64)

    def skip(self, count: npt.NDArray[np.integer] | _Mask) -> None:
        self.at += count

    def size(self) -> _Ints:
        """Of one byte."""
        found = self.data[self.at].astype(np.int64)
        self.good &= found < 128
        self.at += 1
        bounded: _Ints = np.minimum(found, 127)
        return bounded


def read_scalars(records: Sequence[bytes], metric_id: Callable[[bytes], int]) -> Scalars:
    """metric_id: id of a metric by its key."""
    cursors = _Cursors(records)
    cursors.expect(0x08)
    cursors.varint()
    cursors.expect(0x12)
    cursors.skip(cursors.size())
    cursors.expect(0x6A)
    cursors.varint()
    cursors.expect(0x0A)
    key_size = cursors.size()
    key_at = cursors.at - cursors.starts
    cursors.good &= key_size > 0
    cursors.skip(key_size)
    steps = cursors.varint(cursors.has(0x10))
    cursors.skip(cursors.has(0x18))
    cursors.expect(0x22)
    time_size = cursors.size()
    time_end = cursors.at + time_size
    cursors.expect(0x08)
    seconds = cursors.varint()
    nanos = cursors.varint(cursors.has(0x10))
    cursors.good &= cursors.at == time_end
    valued = cursors.has(0x2A)
    value_size = np.where(valued, cursors.data[cursors.at], 0)
    cursors.skip(valued)
    full = value_size == 9
    cursors.good &= full | (value_size == 0)
    cursors.good &= ~full | (cursors.data[cursors.at] == 0x09)
    eight = cursors.data[cursors.at[:, None] + np.arange(1, 9)]
    values = np.where(full, eight.view("<f8")[:, 0], 0.0)
    cursors.skip(np.where(full, 9, 0))
    usual = cursors.good & (cursors.at == cursors.ends)
    metric = np.zeros(len(records), np.uint32)
    keys = [
        record[start:end]
        for record, start, end, good in zip(
            records, key_at.tolist(), (key_at + key_size).tolist(), usual.tolist(), strict=True
        )
        if good
    ]
    ids = {key: metric_id(key) for key in dict.fromkeys(keys)}
    metric[usual] = np.fromiter(map(ids.__getitem__, keys), np.uint32, len(keys))
    return Scalars(usual, metric, steps, values, seconds + nanos / 1e9)
