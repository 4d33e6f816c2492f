"""Following one file that grows.

A writer appends, but it also truncates (a restart), replaces the file (rsync, write-then-rename, rotation), rewrites
it with a longer header (CSV), deletes it and begins again. Size and inode alone tell these apart wrongly: rsync gives
a new inode to the same log, and a file can shrink and grow past the old size between two looks. So a fingerprint
decides: the first HEAD bytes and the LEAD bytes before the offset. Both equal: the same log, reading goes on.
Otherwise it starts again at the beginning and the first chunk says so.

Every look opens the path anew: on network file systems only open() asks the server (close-to-open consistency),
and a kept descriptor would follow the old file after a replacement. Never mmap: a truncated file would kill us.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec import Struct

from tuimon.sources.files import Signature, explain, fresh, is_gone, open_regular, regular, signature

HEAD = 256
LEAD = 64
BLOCK = 4 << 20
"""Bytes asked of the kernel at once …"""
PEEK = 16 << 10
"""… and after a skip: the next one is likely to be near."""
LAST_ALIGNED = 32 << 10
"""What `Tail.last` gives begins at a multiple of this: the blocks of `.wandb` files do."""


class Chunk(Struct, frozen=True):
    """Bytes that follow those of the chunk before; after `restarted` they are the file's first."""

    data: bytes
    """Empty only when restarted: the file is now empty."""
    restarted: bool


class TailState(Struct, frozen=True):
    """How a followed file stood when it was last looked at."""

    state: str
    """current | gone | unreadable (tried again at every look)."""
    message: str
    """Why, when not current."""
    size: int
    """Bytes on disk."""
    offset: int
    """Bytes read or skipped."""
    modified: float
    """Time of the last change, seconds since the epoch; NaN before the first look."""
    pending: bool
    """Something may have changed since everything was read."""


class Tail:
    """Follows the file at `path`; it need not exist yet. No descriptor is held between two calls.

    remote: on a network file system a stat() may be old, so each look opens the file.
    by_inode: another inode is another file, even where it begins with the same bytes.
    """

    def __init__(self, path: str, remote: bool = False, by_inode: bool = False) -> None:
        self.path = path
        self.state = "current"
        self.message = ""
        self.size = 0
        self.offset = 0
        self.modified = float("nan")
        self._remote = remote
        self._by_inode = by_inode
        self._inode: tuple[int, int] | None = None
        self._head = b""
        self._lead: bytes | None = b""
        """None: not known, as the offset has been moved."""
        self._descriptor = -1
        """Of the file while it is being read."""
        self._block = BLOCK
        self._settled: Signature | None = None
        """The signature under which everything was read; None: look into the file."""

    def poll(self) -> TailState:
        """Look, without reading content."""
        pending = False
        try:
            if self._remote:
                descriptor, status = open_regular(self.path)
                os.close(descriptor)
            else:
                status = regular(os.stat(self.path))
            self._seen(status)
            pending = signature(status) != self._settled
        except OSError as error:
            self._lost(error)
        return TailState(self.state, self.message, self.size, self.offset, self.modified, pending)

    def is_settled(self) -> bool:
        """Is the file as it was when all of it had been read? One stat(); False where that cannot be told so."""
        settled = self._settled
        if settled is None or self._remote or self.state != "current":
            return False
        try:
            status = os.stat(self.path)
        except OSError:
            return False
        # `signature`, written out: asked of every file every second, mostly for nothing
        return (status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino) == settled

    def read_new(self, limit: int = 4 * BLOCK) -> Iterator[Chunk]:
        """What was written since the last call, at most `limit` bytes. May be left early: the rest comes next time."""
        if not self._remote and not self.poll().pending:
            return
        try:
            descriptor, status = open_regular(self.path)
        except OSError as error:
            self._lost(error)
            return
        self._descriptor = descriptor
        try:
            yield from self._chunks(descriptor, status, limit)
        except OSError as error:
            self._lost(error)
        finally:
            self._descriptor = -1
            os.close(descriptor)

    def skip(self, count: int) -> int:
        """Between two chunks of `read_new`: moves on by up to `count` bytes without giving them, never past the end of
        the file. Returns how many."""
        hop = max(0, min(count, os.fstat(self._descriptor).st_size - self.offset))
        if hop:
            self.offset += hop
            self.size = max(self.size, self.offset)
            self._lead, self._block = None, PEEK
        return hop

    def rewind(self) -> None:
        """The next look begins at the file's beginning again."""
        self._forget()
        self._settled = None

    def last(self, count: int) -> tuple[bytes, bytes, int] | None:
        """(up to 4096 bytes from the file's beginning, about `count` from its end, its size), wherever reading stands;
        None where the file is shorter or cannot be read."""
        try:
            descriptor, status = open_regular(self.path)
        except OSError:
            return None
        try:
            start = (status.st_size - count) // LAST_ALIGNED * LAST_ALIGNED
            if start <= 0:
                return None
            return os.pread(descriptor, 4096, 0), os.pread(descriptor, status.st_size - start, start), status.st_size
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _chunks(self, descriptor: int, status: os.stat_result, limit: int) -> Iterator[Chunk]:
        self._seen(status)
        if signature(status) == self._settled:
            return
        self._settled = None
        inode = status.st_dev, status.st_ino
        restarted = (
            status.st_size < self.offset
            or (self._by_inode and self._inode not in (None, inode))
            or os.pread(descriptor, len(self._head), 0) != self._head
        )
        self._inode = inode
        if restarted:
            self._forget()
        given = 0
        while given < limit:
            # The bytes before the offset are read again, and after the new ones: whoever rewrites the file while it is
            # being read has come by them before.
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
        if len(self._head) == self.offset:  # never so after a skip within the first bytes
            self._head += data[: HEAD - len(self._head)]
        self._lead = data[-LEAD:] if len(data) >= LEAD else ((self._lead or b"") + data)[-LEAD:]
        self.offset += len(data)
        self.size = max(self.size, self.offset)

    def _forget(self) -> None:
        self.offset, self._head, self._lead = 0, b"", b""

    def _seen(self, status: os.stat_result) -> None:
        self.size, self.modified = status.st_size, status.st_mtime
        self.state, self.message = "current", ""

    def _lost(self, error: OSError) -> None:
        self.state = "gone" if is_gone(error) else "unreadable"
        self.message = "no such file" if is_gone(error) else explain(error)
        self._settled = None
