"""TFRecord framing, as used by event files.

    uint64 length | uint32 masked CRC-32C of the length | length bytes of data | uint32 masked CRC-32C of the data

All little-endian (tensorflow/core/lib/io/record_writer.h). After damage a reader searches for a length that is followed
by its checksum.
"""

from __future__ import annotations

import struct

import numpy as np

from tuimon.formats._shared.crc32c import contributions, crc32c, crc32c_many, masked, unmasked

HEADER = 12
"""Bytes before the data."""
FOOTER = 4
"""Bytes after the data."""
MAX_LENGTH = 256 << 20
"""Longer records are treated as damage even if the checksum matches: no logger writes them, and waiting for their end
would block the file."""

_length_of = struct.Struct("<QI").unpack
_checksum_at = struct.Struct("<I").unpack_from
_FEW = 32  # up to this many records a loop checks faster than numpy


def record_length(header: bytes) -> int:
    """Return the data length in the 12 bytes of `header`, or -1 if they are not a valid header."""
    length, checksum = _length_of(header)
    return -1 if length > MAX_LENGTH or masked(crc32c(header[:8])) != checksum else int(length)


class Lengths(dict[bytes, int]):
    """Cache of `record_length` for valid headers."""

    def __missing__(self, header: bytes) -> int:
        length = record_length(header)
        if length >= 0:
            if len(self) >= 4096:
                self.clear()
            self[header] = length
        return length


def find_header(data: bytes, start: int) -> int:
    """Return the first offset >= start with a valid header, or -1."""
    table = contributions(3)
    base = np.uint32(crc32c(bytes(8)))
    buffer = np.frombuffer(data, np.uint8)
    window = 1 << 10
    while start + HEADER <= len(data):
        count = min(window, len(data) - HEADER + 1 - start)
        words = np.ndarray((count + 8,), "<u4", buffer, start, (1,))
        low = words[:count]
        candidates = np.flatnonzero((words[4 : count + 4] == 0) & (low <= MAX_LENGTH))
        length = low[candidates]
        crc = base ^ table[7][length & 255] ^ table[6][length >> 8 & 255]
        crc ^= table[5][length >> 16 & 255] ^ table[4][length >> 24]
        good = candidates[crc == unmasked(words[8:][candidates])]
        if len(good):
            return start + int(good[0])
        start += count
        window = min(window * 2, 1 << 18)
    return -1


def is_intact(data: bytes, start: int, end: int) -> bool:
    """Return whether the four bytes after data[start:end] are its checksum."""
    return bool(masked(crc32c(data[start:end])) == _checksum_at(data, end)[0])


def first_damaged(data: bytes, starts: list[int], ends: list[int]) -> int:
    """Return the index of the first record with a wrong checksum of data[starts[i]:ends[i]], or -1."""
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
