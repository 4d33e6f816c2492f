"""Recognise files that were written at once, by a copy, a download or a checkout: their times are not those of a run.

An appended log grows for as long as its run takes, so that its last change comes long after its birth; that of a copy
does not. A rewritten document is as young as its last version, so only its directory counts: a copy creates it just
before.
"""

import os
import struct
import sys

_AT_ONCE = 2.0  # s between birth and last change of an appended file within which it was written at once
_COPY = 5.0  # s within which a copy creates a directory and a document in it
_AT_FDCWD, _STATX_BTIME = -100, 0x800
_STATX_SIZE, _BTIME_OFFSET = 256, 80  # struct statx of statx(2)


def is_copy(path: str, appended: bool, in_checkpoint: bool = False) -> bool:
    """Return whether the file at `path` was written at once. appended: it is a log that grows line by line.
    in_checkpoint: it is a document that a training writes into the new directory of each checkpoint."""
    try:
        status = os.stat(path)
        birth = birth_time(path, status)
        if birth is not None and abs(status.st_mtime - birth) < _AT_ONCE and not in_checkpoint:
            if appended:
                return True
            directory = os.path.dirname(os.path.abspath(path))
            begin = birth_time(directory, os.stat(directory))
            if begin is not None and abs(birth - begin) < _COPY:
                return True
    except OSError:
        return False
    return False


def birth_time(path: str, status: os.stat_result) -> float | None:
    """Return the time at which a file was created (s since the epoch), or None if the file system does not keep it."""
    if sys.platform != "linux":
        return getattr(status, "st_birthtime", None)
    try:
        import ctypes
    except ImportError:  # a Python of a host may lack it
        return None
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return None
    buffer = ctypes.create_string_buffer(_STATX_SIZE)
    if statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, buffer) != 0:
        return None
    (mask,) = struct.unpack_from("=I", buffer)
    if not mask & _STATX_BTIME:
        return None
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, _BTIME_OFFSET)
    return float(seconds + nanoseconds * 1e-9)
