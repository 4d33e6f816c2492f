"""Find the processes that hold log files open for writing; see open_files.py.

A trainer that has ended holds no file open, and one that hangs still does: this distinguishes a finished run from a
stalled one where the log itself does not. The result is "unknown" where it would be a guess: without /proc, on a
network file system, for files of another user, and if no other process or a Python process could not be inspected.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from msgspec import Struct

from tuimon.sources.open_files import HELD, PROC, UNHELD, UNSEEN, holders, is_held

OPEN, CLOSED, UNKNOWN = HELD, UNHELD, UNSEEN


class Writer(Struct, frozen=True):
    """Whether a process holds a file open for writing."""

    state: str = UNKNOWN
    """open | closed | unknown."""
    process: str = ""
    """Name and id of the process, as "python (pid 4711)"; "" unless the state is open."""
    descriptor: str = ""
    """Path of the descriptor that is open, as "/proc/4711/fd/3"; "" unless it is one of this machine."""


def writers(paths: Iterable[str], proc: str = PROC) -> Mapping[str, Writer]:
    """Return the writer of each file. Takes about 2 us for each open file on the machine, so call it rarely.

    paths: files on local file systems. proc: the directory of the processes, for tests.
    """
    files = {path: status for path in paths if (status := _status(path)) is not None}
    return {path: Writer(*holder) for path, holder in holders(files, proc).items()}


def still_holds(writer: Writer, path: str) -> bool:
    """Return whether the descriptor of a writer still belongs to the file at `path`. Two calls of stat(), so cheap."""
    return is_held(writer.descriptor, path)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
