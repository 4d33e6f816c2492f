"""Memory that was freed goes back to the machine.

The arrays that a column has outgrown, and the blocks that a file was read in, stay with the C library's allocator until
it is told to give them back (malloc_trim(3) of glibc; other C libraries do so by themselves, or cannot be told).
"""

from __future__ import annotations

import ctypes
import sys

WORTH = 1 << 20
"""Bytes of logs read, after which it is worth while."""


class Heap:
    """Gives back what is free when much has been read since the last time."""

    def __init__(self) -> None:
        self._read = 0

    def has_read(self, total: int) -> None:
        """total: bytes of logs read so far, once all there is has been read. Takes some milliseconds at most."""
        if total - self._read < WORTH:
            return
        self._read = total
        if sys.platform == "linux":
            trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
            if trim is not None:
                trim(0)
