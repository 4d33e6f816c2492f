"""TFRecord framing, as used by event files.

    uint64 length | uint32 masked CRC-32C of the length | length bytes of data | uint32 masked CRC-32C of the data

All little-endian (tensorflow/core/lib/io/record_writer.h). After damage a reader searches for a length that is followed
by its checksum.
"""

from __future__ import annotations

import struct
from enum import Enum, auto
from functools import cache, lru_cache

import numpy as np

from tuimon.formats._shared.crc32c import Offsets, Words, contributions, crc32c, masked, unmasked

HEADER = 12
"""Bytes before the data."""
FOOTER = 4
"""Bytes after the data."""
LARGE = 64 << 10
"""Size (bytes) above which a record is not read at once."""
MAX_LENGTH = 256 << 20
"""Longer records are treated as damage even if the checksum matches: no logger writes them, and waiting for their end
would block the file."""


class Stop(Enum):
    """What follows the last of the records that were found."""

    END = auto()
    """An incomplete record, or nothing."""
    NO_HEADER = auto()
    LARGE = auto()
    """A record of more than LARGE bytes."""
    LIMIT = auto()
    """More records than wanted."""


_length_of = struct.Struct("<QI").unpack
_checksum_at = struct.Struct("<I").unpack_from
_ONE_BY_ONE = 64  # records that are found by a loop before headers are searched for with numpy
_FIRST_WINDOW, _LAST_WINDOW = 8 << 10, 4 << 20


@lru_cache(maxsize=4096)
def record_length(header: bytes) -> int:
    """Return the data length in the 12 bytes of `header`, or -1 if they are not a valid header."""
    length, checksum = _length_of(header)
    return -1 if length > MAX_LENGTH or masked(crc32c(header[:8])) != checksum else int(length)


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


class Frames:
    """Finds the records of one file: few by a loop, many with numpy."""

    def __init__(self) -> None:
        self._window = 0
        """Bytes in which headers are searched for at once, doubled as long as every header follows a record."""

    def find(self, data: bytes, position: int, limit: int) -> tuple[Offsets, Offsets, Stop]:
        """Return (starts, ends) of the data of at most `limit` adjacent records, and what follows them."""
        if self._window and limit >= _ONE_BY_ONE:
            starts, ends, whole = _chain(data, position, position + self._window)
            self._window = min(2 * self._window, _LAST_WINDOW) if whole else 0
            if len(starts):
                return starts, ends, Stop.LIMIT
        spans: list[tuple[int, int]] = []
        stop = _next(data, position)
        while isinstance(stop, int) and len(spans) < min(limit, _ONE_BY_ONE):
            spans.append((position + HEADER, stop))
            position = stop + FOOTER
            stop = _next(data, position)
        if len(spans) == _ONE_BY_ONE:
            self._window = _FIRST_WINDOW
        columns = np.array(spans, np.int64).reshape(-1, 2)
        return columns[:, 0], columns[:, 1], Stop.LIMIT if isinstance(stop, int) else stop


def _next(data: bytes, position: int) -> int | Stop:
    """Return the end of the data of the record at `position`, or why there is none."""
    start = position + HEADER
    if start > len(data):
        return Stop.END
    length = record_length(data[position:start])
    if length < 0:
        return Stop.NO_HEADER
    if length > LARGE:
        return Stop.LARGE
    return start + length if start + length + FOOTER <= len(data) else Stop.END


def _chain(data: bytes, position: int, end: int) -> tuple[Offsets, Offsets, bool]:
    """Return (starts, ends) of the data of the records from `position` on whose headers lie before `end`, and whether
    these are all headers there. Only the first in a row of records below 64 KiB are found."""
    count = min(end, len(data)) - position - HEADER
    none = np.zeros(0, np.int64)
    if count <= 0:
        return none, none, False
    buffer = np.frombuffer(data, np.uint8, count + HEADER, position)
    zero = buffer == 0
    two = zero[:-1] & zero[1:]
    six = two[2:-8] & two[4:-6] & two[6:-4]  # the upper bytes of a length
    headers = np.flatnonzero(six)
    low = np.ndarray((count + HEADER - 1,), "<u2", buffer, 0, (1,))[headers]
    stored = np.ndarray((count + HEADER - 3,), "<u4", buffer, 0, (1,))[headers + 8]
    right = _length_checksums()[low] == unmasked(stored)
    headers, lengths = headers[right], low[right].astype(np.int64)
    after = headers + (HEADER + FOOTER) + lengths
    breaks = np.flatnonzero(after[:-1] != headers[1:])
    records = int(breaks[0]) + 1 if len(breaks) else len(headers)
    if not records or headers[0] != 0:
        return none, none, False
    starts = headers[:records] + (position + HEADER)
    whole = records == len(headers)
    if position + int(after[records - 1]) > len(data):
        starts, lengths = starts[:-1], lengths[: records - 1]
    return starts, starts + lengths[: len(starts)], whole


@cache
def _length_checksums() -> Words:
    """Return the checksum of each length below 64 KiB."""
    table = contributions(3)
    length = np.arange(LARGE)
    checksums: Words = np.uint32(crc32c(bytes(8))) ^ table[7][length & 255] ^ table[6][length >> 8]
    return checksums
