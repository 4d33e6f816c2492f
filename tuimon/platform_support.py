"""Work-arounds for Python and the system: optional imports, free memory, temporary directories.

Imported by the first lines of both processes, so it imports nothing heavy.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TRIM_AFTER = 1 << 20
"""Bytes of logs that must be read before the heap is trimmed again."""


@contextmanager
def hidden_modules(*names: str) -> Iterator[None]:
    """Make importing `names` raise ImportError inside the context: optional imports cost nothing.

    Modules that are already loaded are not hidden. After the context they can be imported as usual. Use it at start-up,
    before other threads import.
    """
    hidden = [name for name in names if name not in sys.modules]
    blocked: Any = None  # None in sys.modules makes the import fail (Python reference, 5.3.1)
    sys.modules.update(dict.fromkeys(hidden, blocked))
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def ignore_overflow() -> None:
    """Hide numpy's warnings about values that overflow: infinity is the result that is wanted then. For processes of
    tuimon only, as it holds for the whole interpreter."""
    warnings.filterwarnings("ignore", r".* encountered in ", RuntimeWarning)


class HeapTrimmer:
    """Return freed heap memory to the OS with malloc_trim(3).

    glibc keeps outgrown arrays and the blocks a file was read in; other C libraries return them by themselves.
    """

    def __init__(self) -> None:
        self._trimmed_at = 0

    def trim(self, bytes_read: int) -> bool:
        """Trim if at least TRIM_AFTER bytes were read since the last time; return True if so. Takes some milliseconds.

        bytes_read: the total number of log bytes read. Call this when the reader has caught up.
        """
        if bytes_read - self._trimmed_at < TRIM_AFTER:
            return False
        self._trimmed_at = bytes_read
        if sys.platform == "linux":
            import ctypes

            trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
            if trim is not None:
                trim(0)
        return True


def temp_dir() -> str:
    """Return the first writable directory of $TMPDIR, $TEMP, $TMP, /tmp, /var/tmp, /usr/tmp; raise OSError if none is.

    Unlike `tempfile`, never fall back to the current directory, which may be the directory of a run.
    """
    for name in (*filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp", "/var/tmp", "/usr/tmp"):
        if os.path.isdir(name) and os.access(name, os.W_OK | os.X_OK):  # noqa: PTH112  pathlib costs start-up time
            return os.path.abspath(name)
    raise OSError(errno.EACCES, "no writable directory for temporary files; set TMPDIR")


def mirror_directory() -> str:
    """Return the directory of mirrors: $TUIMON_MIRROR, or tuimon/mirror in the cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    cache = cache if os.path.isabs(cache) else os.path.expanduser("~/.cache")  # noqa: PTH111, PTH117  start-up time
    return os.path.abspath(os.environ.get("TUIMON_MIRROR") or f"{cache}/tuimon/mirror")
