"""Decoding of many scalar records of SwanLab's run file, version 2, at once: one cursor per record, moved together.

The SDK writes a scalar's fields in order (see run_file), so each begins where the previous one ends:

    08 number | 12 size {08 seconds, 10 nanos} | 6A size {0A size key, 10 step, 18 type, 22 size {08 seconds, 10 nanos},
    2A size {09 double}}        step, type, nanos and the value may be absent

A record that differs in any way is left to the reader of single records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tuimon.model.points import Floats, Ids, Steps

_Mask = npt.NDArray[np.bool_]
_Ints = npt.NDArray[np.int64]
_PADDING = bytes(1024)  # more than a cursor can move past the end of a record before the record is rejected
_VARINT = 10


class Scalars(NamedTuple):
    """Columns with one element per record; meaningless where `usual` is False."""

    usual: _Mask
    metric: Ids
    steps: Steps
    values: Floats
    wall_times: Floats


class _Cursors:
    """Position of the next field of each record."""

    def __init__(self, records: Sequence[bytes]) -> None:
        self.data = np.frombuffer(b"".join([*records, _PADDING]), np.uint8)
        lengths = np.fromiter(map(len, records), np.int64, len(records))
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths
        self.position = self.starts.copy()
        self.good = np.ones(len(records), np.bool_)

    def expect(self, byte: int) -> None:
        self.good &= self.data[self.position] == byte
        self.position += 1

    def has(self, byte: int) -> _Mask:
        """Return which records have this byte next, and move their cursors past it."""
        matches: _Mask = self.data[self.position] == byte
        self.position += matches
        return matches

    def varint(self, where: _Mask | bool = True) -> _Ints:
        """Read a varint of the records selected by `where`; return 0 for the others."""
        value = np.zeros(len(self.position), np.uint64)
        going = np.ones(len(self.position), np.bool_) & where
        for number in range(_VARINT):
            byte = self.data[self.position]
            value |= np.where(going, byte & 127, 0).astype(np.uint64) << np.uint64(7 * number)
            self.position += going
            going &= byte > 127
            if not going.any():
                break
        self.good &= ~going
        return value.view(np.int64)

    def skip(self, count: npt.NDArray[np.integer] | _Mask) -> None:
        self.position += count

    def size(self) -> _Ints:
        """Read a length of one byte."""
        size = self.data[self.position].astype(np.int64)
        self.good &= size < 128
        self.position += 1
        bounded: _Ints = np.minimum(size, 127)
        return bounded


def read_scalars(records: Sequence[bytes], metric_id: Callable[[bytes], int]) -> Scalars:
    """Decode the records. `metric_id` returns the id of a metric by its key."""
    cursors = _Cursors(records)
    cursors.expect(0x08)
    cursors.varint()
    cursors.expect(0x12)
    cursors.skip(cursors.size())
    cursors.expect(0x6A)
    cursors.varint()
    cursors.expect(0x0A)
    key_size = cursors.size()
    key_start = cursors.position - cursors.starts
    cursors.good &= key_size > 0
    cursors.skip(key_size)
    steps = cursors.varint(cursors.has(0x10))
    cursors.skip(cursors.has(0x18))
    cursors.expect(0x22)
    time_size = cursors.size()
    time_end = cursors.position + time_size
    cursors.expect(0x08)
    seconds = cursors.varint()
    nanos = cursors.varint(cursors.has(0x10))
    cursors.good &= cursors.position == time_end
    valued = cursors.has(0x2A)
    value_size = np.where(valued, cursors.data[cursors.position], 0)
    cursors.skip(valued)
    full = value_size == 9
    cursors.good &= full | (value_size == 0)
    cursors.good &= ~full | (cursors.data[cursors.position] == 0x09)
    eight = cursors.data[cursors.position[:, None] + np.arange(1, 9)]
    values = np.where(full, eight.view("<f8")[:, 0], 0.0)
    cursors.skip(np.where(full, 9, 0))
    usual = cursors.good & (cursors.position == cursors.ends)
    metric = np.zeros(len(records), np.uint32)
    keys = [
        record[start:end]
        for record, start, end, good in zip(
            records, key_start.tolist(), (key_start + key_size).tolist(), usual.tolist(), strict=True
        )
        if good
    ]
    ids = {key: metric_id(key) for key in dict.fromkeys(keys)}
    metric[usual] = np.fromiter(map(ids.__getitem__, keys), np.uint32, len(keys))
    return Scalars(usual, metric, steps, values, seconds + nanos / 1e9)
