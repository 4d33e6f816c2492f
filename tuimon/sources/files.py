"""Open log files safely: read-only, non-blocking, regular files only."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
"""Flags for os.open. O_NONBLOCK: opening a FIFO that has replaced a log must not block the reader."""
FRESH = 2.0
"""Age (s) below which a file may change again without a new time stamp (clock granularity is 4 ms to 2 s)."""
CHECK_ACCESS = "check its owner and mode"
"""Hint about a file or directory that cannot be opened."""
_GONE = (errno.ENOENT, errno.ENOTDIR)
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

Signature = tuple[int, int, int, int]
"""(size, mtime in ns, device, inode): equal signatures mean equal content, unless the change is fresh."""


class NotRegular(OSError):
    """The path leads to a FIFO, a device, a socket or a directory."""


class FileStatus:
    """Status of a followed file, updated by each look at it. The file need not exist yet."""

    def __init__(self, path: str, remote: bool) -> None:
        """remote: the file is on a network file system, where the result of stat() may be outdated until an open()."""
        self.path = path
        self.state = "current"
        """current | gone | unreadable (retried at every look)."""
        self.message = ""
        """Why the file cannot be read; "" if the state is current."""
        self.hint = CHECK_ACCESS
        """What to do next if the state is unreadable."""
        self.size = 0
        """Bytes on disk."""
        self.modified = float("nan")
        """Time of the last change (s since the epoch); NaN before the first look."""
        self._remote = remote

    def _look(self) -> os.stat_result:
        """Update the status without reading content. Raises OSError, NotRegular."""
        if self._remote:
            with opened(self.path) as (_, status):
                pass
        else:
            status = regular(os.stat(self.path))
        self._readable(status)
        return status

    def _readable(self, status: os.stat_result) -> None:
        self.size, self.modified = status.st_size, status.st_mtime
        self.state, self.message = "current", ""

    def _failed(self, error: OSError) -> None:
        (self.state, self.message), self.hint = failure(error), CHECK_ACCESS


def signature(status: os.stat_result) -> Signature:
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino


def fresh(status: os.stat_result) -> bool:
    """Was the file changed so recently that its next change may leave the signature as it is?"""
    return time.time() - status.st_mtime < FRESH


def kind_name(mode: int) -> str:
    """Kind of file, e.g. "a FIFO", for a mode that is not that of a regular file."""
    return next((name for test, name in _KINDS if test(mode)), "not a regular file")


def regular(status: os.stat_result) -> os.stat_result:
    """Return `status`. Raises NotRegular unless it is the status of a regular file."""
    if not stat.S_ISREG(status.st_mode):
        raise NotRegular(errno.EINVAL, f"{kind_name(status.st_mode)}, not a file")
    return status


def open_regular(path: str) -> tuple[int, os.stat_result]:
    """Open a regular file for reading; return its descriptor and status. Raises OSError, NotRegular."""
    regular(os.stat(path))  # opening some devices has side effects, so check the type first
    try:
        descriptor = os.open(path, FLAGS)
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise
        descriptor = os.open(path, FLAGS)  # NFS: the cached handle was of a file replaced on the server
    try:
        return descriptor, regular(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise


@contextmanager
def opened(path: str) -> Iterator[tuple[int, os.stat_result]]:
    """A context manager with the descriptor and the status of a regular file. Raises OSError, NotRegular."""
    descriptor, status = open_regular(path)
    try:
        yield descriptor, status
    finally:
        os.close(descriptor)


def first_bytes(path: str, count: int) -> bytes:
    """Return at most the first `count` bytes of a regular file. Raises OSError, NotRegular."""
    with opened(path) as (descriptor, _):
        return os.pread(descriptor, count, 0)


def head_of(path: str, count: int) -> bytes:
    """Return at most the first `count` bytes of a regular file; b"" if it cannot be read."""
    try:
        return first_bytes(path, count)
    except OSError:
        return b""


def is_gone(error: OSError) -> bool:
    return error.errno in _GONE


def failure(error: OSError) -> tuple[str, str]:
    """(state, message) of a file that could not be opened: ("gone" or "unreadable", why)."""
    return ("gone", "no such file") if is_gone(error) else ("unreadable", explain(error))


def explain(error: OSError) -> str:
    """An OSError as a short phrase without the path: "permission denied"."""
    text = error.strerror or type(error).__name__
    return text if isinstance(error, NotRegular) else text[:1].lower() + text[1:]
