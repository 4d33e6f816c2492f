"""Opening log files without harm: for reading only, never blocking, regular files only."""

from __future__ import annotations

import errno
import os
import stat
import time

FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
"""O_NONBLOCK: a FIFO that took the place of a log between two looks must not stop the reader."""
FRESH = 2.0
"""Seconds. A file changed this recently may change again without a new time stamp (coarse clocks: 4 ms to 2 s)."""
_GONE = (errno.ENOENT, errno.ENOTDIR)
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

Signature = tuple[int, int, int, int]
"""(size, time of last change in ns, device, inode): equal signatures, equal content, unless the change is fresh."""


class NotRegular(OSError):
    """The path leads to a FIFO, a device, a socket or a directory."""


def signature(status: os.stat_result) -> Signature:
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino


def fresh(status: os.stat_result) -> bool:
    """Was it changed so lately that its signature cannot be trusted to show the next change?"""
    return time.time() - status.st_mtime < FRESH


def kind_name(mode: int) -> str:
    """What a mode that is no regular file stands for: "a FIFO"."""
    return next((name for test, name in _KINDS if test(mode)), "no regular file")


def regular(status: os.stat_result) -> os.stat_result:
    """The status given. Raises NotRegular unless it is that of a regular file."""
    if not stat.S_ISREG(status.st_mode):
        raise NotRegular(errno.EINVAL, f"{kind_name(status.st_mode)}, not a file")
    return status


def open_regular(path: str) -> tuple[int, os.stat_result]:
    """A descriptor for reading and its status. Raises OSError; NotRegular for what is no regular file."""
    regular(os.stat(path))  # opening some devices has effects, so look first
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


def is_gone(error: OSError) -> bool:
    return error.errno in _GONE


def explain(error: OSError) -> str:
    """An OSError as a short phrase without the path: "permission denied"."""
    text = error.strerror or type(error).__name__
    return text if isinstance(error, NotRegular) else text[:1].lower() + text[1:]
