"""Collection of the small records between large ones, so that they are decoded as if they were adjacent.

A file of images alternates between a few scalars and an image. Decoding the few scalars at once would be a short walk
with its own checksum pass; thousands together are decoded by templates, about five times as fast.
"""

from __future__ import annotations

from bisect import bisect_right

from tuimon.formats.tensorboard._large_event import LARGE
from tuimon.formats.tensorboard._records import FOOTER, HEADER, Lengths

MAX_HELD = 1 << 20
"""Bytes held at most."""
_FEW = 256  # longer sequences of small records are decoded at once, as holding them gains nothing


class HeldRecords:
    """Whole records with valid headers, and their positions in the file."""

    def __init__(self) -> None:
        self.size = 0
        self._parts: list[bytes] = []
        self._starts: list[int] = []  # start of each part in the joined data
        self._offsets: list[int] = []  # start of each part in the file
        self._lengths = Lengths()

    def hold(self, data: bytes, position: int, offset: int) -> int:
        """Take the records at data[position:], which has the file offset `offset`, up to a large one. Return the
        position of the large record. Take nothing and return -1 if none follows soon."""
        size, lengths, end = len(data), self._lengths, position
        for _ in range(_FEW):
            start = end + HEADER
            if start > size:
                return -1
            length = lengths[data[end:start]]
            if length > LARGE:
                break
            end = start + length + FOOTER
            if length < 0 or end > size:
                return -1
        else:
            return -1
        if end > position:
            self._starts.append(self.size)
            self._offsets.append(offset)
            self._parts.append(data[position:end])
            self.size += end - position
        return end

    def take(self) -> tuple[bytes, list[int], list[int]]:
        """Return (joined data, start of each part in it, start of each part in the file), and hold nothing
        afterwards."""
        parts = b"".join(self._parts), self._starts, self._offsets
        self.size, self._parts, self._starts, self._offsets = 0, [], [], []
        return parts


def file_offset(position: int, starts: list[int], offsets: list[int]) -> int:
    """Return the file offset of a position in the joined data."""
    part = bisect_right(starts, position) - 1
    return offsets[part] + position - starts[part]
