"""Errors of a mirror: what a host sends cannot be stored, or the local disk is full."""

from __future__ import annotations

import errno

from tuimon.errors import TuimonError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class MirrorError(TuimonError):
    """A host sent something that cannot be stored: a bad name, a gap, a file over a limit."""


class DiskFull(TuimonError):
    """The local disk, or the part of it that mirrors may use, is full."""


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error of a mirror is due to a full disk: of a write, or of a new file or directory."""
    return isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in _FULL)
