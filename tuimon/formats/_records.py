"""TFRecord framing, as event files use it.

    uint64 length | uint32 masked CRC-32C of the length | length bytes of data | uint32 masked CRC-32C of the data

All little-endian (tensorflow/core/lib/io/record_writer.h). A length and its checksum together are what a reader looks
for when it has lost its place.
"""

from __future__ import annotations

import struct

import numpy as np

from tuimon.formats._crc32c import contributions, crc32c, crc32c_many, masked, unmasked

HEADER = 12
"""Bytes before the data."""
FOOTER = 4
"""Bytes after the data."""
MAX_LENGTH = 256 << 20
"""A longer record is damage, however right its checksum: nobody logs that, and waiting for it would take for ever."""

_length_of = struct.Struct("<QI").unpack
_checksum_at = struct.Struct("<I").unpack_from
_FEW = 32
"""Up to so many records a loop checks faster than numpy."""


def record_length(header: bytes) -> int:
    """The length of the data that the 12 bytes announce, -1 if they are no header."""
    length, checksum = _length_of(header)
    return -1 if length > MAX_LENGTH or masked(crc32c(header[:8])) != checksum else int(length)


class Lengths(dict[bytes, int]):
    """Header -> what `record_length` says of it; good headers are remembered."""

    def __missing__(self, header: bytes) -> int:
        length = record_length(header)
        if length >= 0:
            if len(self) >= 4096:
                self.clear()
            self[header] = length
        return length


def find_header(data: bytes, start: int) -> int:
    """The first offset >= start at which 12 valid header bytes stand, -1 if there is none."""
    found, start = _near_header(data, start)
    if found:
        return start
    table = contributions(3)
    base = np.uint32(crc32c(bytes(8)))
    buffer = np.frombuffer(data, np.uint8)
    window = 1 << 10
    while start + HEADER <= len(data):
        count = min(window, len(data) - HEADER + 1 - start)
        words = np.ndarray((count + 8,), "<u4", buffer, start, (1,))
        low = words[:count]
        at = np.flatnonzero((words[4 : count + 4] == 0) & (low <= MAX_LENGTH))
        length = low[at]
        crc = base ^ table[7][length & 255] ^ table[6][length >> 8 & 255]
        crc ^= table[5][length >> 16 & 255] ^ table[4][length >> 24]
        good = at[crc == unmasked(words[8:][at])]
        if len(good):
            return start + int(good[0])
        start += count
        window = min(window * 2, 1 << 18)
    return -1


def _near_header(data: bytes, start: int) -> tuple[bool, int]:
    """(was a header found, where; or else where to go on). It is mostly near: tries a few places one by one."""
    for _ in range(8):
        zeros = data.find(b"\0\0\0\0", start + 4)  # the upper half of a length
        if zeros < 0:
            return False, len(data)
        start = zeros - 4
        if start + HEADER <= len(data) and record_length(data[start : start + HEADER]) >= 0:
            return True, start
        start += 1
    return False, start


def is_intact(data: bytes, start: int, end: int) -> bool:
    """Is the checksum that follows data[start:end] its checksum?"""
    return bool(masked(crc32c(data[start:end])) == _checksum_at(data, end)[0])


def first_damaged(data: bytes, starts: list[int], ends: list[int]) -> int:
    """Index of the first record whose data, data[starts[i]:ends[i]], has a wrong checksum; -1 if there is none."""
    if len(starts) <= _FEW:
        for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if not is_intact(data, start, end):
                return index
        return -1
    buffer = np.frombuffer(data, np.uint8)
    begin, stop = np.array(starts), np.array(ends)
    stored = np.ndarray((len(data) - 3,), "<u4", buffer, 0, (1,))[stop]
    wrong = np.flatnonzero(crc32c_many(buffer, begin, stop - begin) != unmasked(stored))
    return int(wrong[0]) if len(wrong) else -1
