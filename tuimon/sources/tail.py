"""Follow one file that grows.

A writer appends, but it also truncates the file (a restart), replaces it (rsync, write-then-rename, rotation), rewrites
it with a longer header (CSV), or deletes it and starts again. Size and inode do not separate these cases: rsync gives
a new inode to the same log, and a file can shrink and grow past its old size between two looks. So the decision is made
by a fingerprint: the first HEAD bytes and the LEAD bytes before the offset. If both are unchanged it is the same log
and reading continues. Otherwise reading starts again at the beginning, and the first chunk is marked as `restarted`.

Every look opens the path again: on network file systems only open() asks the server (close-to-open consistency), and
a descriptor kept open would follow the old file after a replacement. mmap is never used: access to a mapping of a file
that was truncated would kill the process (SIGBUS).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

from tuimon.sources.files import FileStatus, Signature, fresh, opened, signature

HEAD = 256
"""Bytes from the beginning of the file that are part of its fingerprint."""
LEAD = 64
"""Bytes before the read offset that are part of the fingerprint."""
BLOCK = 4 << 20
"""Maximum number of bytes in one pread()."""
PEEK = 16 << 10
"""Number of bytes in the first pread() after a skip: the next skip is probably near."""
LAST_ALIGNED = 32 << 10
"""Alignment (bytes) of the start of what `Tail.last` returns; that of the blocks of `.wandb` files."""


class Chunk(Struct, frozen=True):
    """Bytes that follow those of the previous chunk, or the first bytes of the file if `restarted`."""

    data: bytes
    """Empty only if `restarted` and the file is now empty."""
    restarted: bool


class Tail(FileStatus):
    """Follow the file at `path`; it need not exist yet. No descriptor is held between two calls."""

    def __init__(self, path: str, remote: bool = False, by_inode: bool = False) -> None:
        """by_inode: a new inode means a new file, even if it begins with the same bytes."""
        super().__init__(path, remote)
        self.offset = 0
        """Bytes read or skipped."""
        self.shrunk_at = float("nan")
        """Time of change (s since the epoch) at which the file was found to be shorter than what had been read."""
        self._was_missing = False
        """Whether the file could not be opened at the last look: it was deleted, and a new one can have its inode."""
        self._by_inode = by_inode
        self._inode: tuple[int, int] | None = None
        self._head = b""
        self._lead: bytes | None = b""
        """The bytes before the offset; None after the offset was moved without reading them."""
        self._descriptor = -1
        """Descriptor of the file, which is valid while it is being read."""
        self._block = BLOCK
        self._settled: Signature | None = None
        """Signature of the file when all of it had been read; None if the content must be read."""

    @property
    def head(self) -> bytes:
        """The first bytes of the file, as they were last read, at most HEAD."""
        return self._head

    @property
    def ends_within_line(self) -> bool:
        """Return whether the bytes before the offset do not end with a line break."""
        lead = self._lead or b"\n"
        return not lead.endswith((b"\n", b"\r"))

    def pending(self) -> bool:
        """Update the status. May the file have changed since all of it was read?"""
        try:
            return signature(self._look()) != self._settled
        except OSError as error:
            self._failed(error)
            return False

    def is_settled(self) -> bool:
        """Is the file unchanged since all of it was read? One stat(); False if that is not enough to know."""
        settled = self._settled
        if settled is None or self._remote or self.state != "current":
            return False
        try:
            status = os.stat(self.path)
        except OSError:
            return False
        # `signature` inlined: this runs for every file every second
        return (status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino) == settled

    def read_new(self, limit: int = 4 * BLOCK) -> Iterator[Chunk]:
        """Yield what was written since the last call, at most `limit` bytes.

        The caller may stop early: the rest comes with the next call."""
        if not self._remote and not self.pending():
            return
        try:
            with opened(self.path) as (self._descriptor, status):
                yield from self._chunks(self._descriptor, status, limit)
        except OSError as error:
            self._failed(error)

    def skip(self, count: int) -> int:
        """Advance by up to `count` bytes without reading them, at most to the end of the file; return the distance.

        To be called between two chunks of `read_new`."""
        hop = max(0, min(count, os.fstat(self._descriptor).st_size - self.offset))
        if hop:
            self.offset += hop
            self.size = max(self.size, self.offset)
            self._lead, self._block = None, PEEK
        return hop

    def hole(self) -> int:
        """Number of bytes at the offset that the file system does not store and that read as zeros; often 0.

        To be called between two chunks of `read_new`."""
        status = os.fstat(self._descriptor)
        if status.st_blocks * 512 >= status.st_size or not hasattr(os, "SEEK_DATA"):
            return 0
        try:
            data = os.lseek(self._descriptor, self.offset, os.SEEK_DATA)
        except OSError as error:  # ENXIO: a hole up to the end
            data = status.st_size if error.errno == errno.ENXIO else 0
        return max(0, data - self.offset)

    def rewind(self) -> None:
        """Start again at the beginning of the file with the next look."""
        self._forget()
        self._settled = None

    def last(self, count: int) -> tuple[bytes, bytes, int] | None:
        """(first 4096 bytes at most, about `count` bytes from the end, file size), independent of the read offset.

        None if the file is shorter than `count` or cannot be read."""
        with suppress(OSError), opened(self.path) as (descriptor, status):
            size = status.st_size
            start = (size - count) // LAST_ALIGNED * LAST_ALIGNED
            if start > 0:
                return os.pread(descriptor, 4096, 0), os.pread(descriptor, size - start, start), size
        return None

    def ends(self, first: int, last: int) -> list[tuple[int, bytes]]:
        """Return (offset, bytes) of the first and of the last bytes that have been read; one part of a short file, none
        if it cannot be read."""
        begin = max(self.offset - last, 0)
        parts = [(0, first), (begin, last)] if begin > first else [(0, self.offset)]
        with suppress(OSError), opened(self.path) as (descriptor, _):
            return [(offset, os.pread(descriptor, count, offset)) for offset, count in parts]
        return []

    def _chunks(self, descriptor: int, status: os.stat_result, limit: int) -> Iterator[Chunk]:
        self._readable(status)
        if signature(status) == self._settled:
            return
        self._settled = None
        inode = status.st_dev, status.st_ino
        restarted = (
            status.st_size < self.offset
            or (self._by_inode and self._inode not in (None, inode))
            or os.pread(descriptor, len(self._head), 0) != self._head
        )
        if status.st_size < self.offset and self._inode == inode and not self._was_missing:
            self.shrunk_at = status.st_mtime
        self._was_missing = False
        self._inode = inode
        if restarted:
            self._forget()
        given = 0
        while given < limit:
            # The bytes before the offset are read again after the new ones: a writer that rewrites the file while it
            # is being read has already overwritten them.
            data = os.pread(descriptor, min(self._block, BLOCK, limit - given), self.offset)
            lead = min(LEAD, self.offset) if self._lead is None else len(self._lead)
            before = os.pread(descriptor, lead, self.offset - lead)
            if len(before) < lead or self._lead not in (None, before):
                self._forget()
                restarted = True
                continue
            self._lead = before
            if not data:
                if not fresh(status):
                    self._settled = signature(status)
                break
            self._advance(data)
            given += len(data)
            self._block = min(BLOCK, 4 * self._block)
            yield Chunk(data, restarted)
            restarted = False
        if self._lead is None:
            start = max(0, self.offset - LEAD)
            self._lead = os.pread(descriptor, self.offset - start, start)
        if restarted:
            yield Chunk(b"", True)

    def _advance(self, data: bytes) -> None:
        if len(self._head) == self.offset:  # not after a skip within the first bytes
            self._head += data[: HEAD - len(self._head)]
        self._lead = data[-LEAD:] if len(data) >= LEAD else ((self._lead or b"") + data)[-LEAD:]
        self.offset += len(data)
        self.size = max(self.size, self.offset)

    def _forget(self) -> None:
        self.offset, self._head, self._lead = 0, b"", b""

    def _failed(self, error: OSError) -> None:
        super()._failed(error)
        self._settled, self._was_missing = None, True
