"""Small event records that lie between large ones, put together so that they are read as if they followed one another.

A file of images holds a few scalars, an image, a few scalars, an image. Each few alone would be a short walk with a
check of its own; thousands together are read by templates, many times as fast.
"""

from __future__ import annotations

from bisect import bisect_right

from tuimon.formats._large_event import LARGE
from tuimon.formats._records import FOOTER, HEADER, Lengths

ENOUGH = 1 << 20
"""Bytes held at most."""
_FEW = 256
"""With more records in a row there is nothing to be won by holding them."""


class HeldRecords:
    """Whole records whose headers are right, and where in the file they were."""

    def __init__(self) -> None:
        self.size = 0
        self._parts: list[bytes] = []
        self._starts: list[int] = []
        """Where the parts begin among all that is held …"""
        self._offsets: list[int] = []
        """… and in the file."""
        self._lengths = Lengths()

    def hold(self, data: bytes, position: int, offset: int) -> int:
        """Takes the records from data[position:], `offset` in the file, up to a large one; gives where that begins.
        Takes nothing and gives -1 where there is none that soon."""
        size, lengths, at = len(data), self._lengths, position
        for _ in range(_FEW):
            start = at + HEADER
            if start > size:
                return -1
            length = lengths[data[at:start]]
            if length > LARGE:
                break
            at = start + length + FOOTER
            if length < 0 or at > size:
                return -1
        else:
            return -1
        if at > position:
            self._starts.append(self.size)
            self._offsets.append(offset)
            self._parts.append(data[position:at])
            self.size += at - position
        return at

    def take(self) -> tuple[bytes, list[int], list[int]]:
        """(all that is held, where its parts begin, where they do in the file); then nothing is held."""
        taken = b"".join(self._parts), self._starts, self._offsets
        self.size, self._parts, self._starts, self._offsets = 0, [], [], []
        return taken


def file_offset(position: int, starts: list[int], offsets: list[int]) -> int:
    """Where in the file a byte of what was taken was."""
    part = bisect_right(starts, position) - 1
    return offsets[part] + position - starts[part]
