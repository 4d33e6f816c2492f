"""Detect a reader process that is stopped, or that waits for a file system which does not answer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress

from tuimon import lazy_re as re
from tuimon.model.events import Notice

_ABOUT = "reader health"
_STUCK_AFTER = 2
"""Number of looks in a row at which the reader must wait for a file system."""
_IN_FILE_SYSTEM = re.compile(
    rb"(?:__)?(?:fuse_|request_wait_answer|rpc_|nfs\d?_|cifs_|wait_for_response|p9_|ceph_|folio_wait|io_schedule|wait_for_partner)"
)
"""Functions of the kernel in which a process waits for files. The reader itself waits for events, elsewhere."""
_KILL_AFTER = 3
"""Number of looks in a row at which the reader must be stopped before it is killed; it is started again then."""


class HealthCheck:
    """Checks the state of the process while it sends nothing; needs /proc, and does nothing without it."""

    def __init__(self) -> None:
        self._state = ""
        self._count = 0
        self._reported = ""

    def notices(self, pid: int) -> Iterator[Notice]:
        """Yield messages for the user. A stopped process is continued, and killed if that has no effect."""
        state = _state(pid)
        self._count = self._count + 1 if state == self._state else 1
        self._state = state
        if state == "T":
            if self._count == 1:
                self._reported = "The reader was stopped by a signal and works again; no data was lost."
                yield Notice("warning", "The reader was stopped by a signal; tuimon continues it.", "", _ABOUT)
            number = signal.SIGKILL if self._count >= _KILL_AFTER else signal.SIGCONT
            with suppress(OSError):
                os.kill(pid, number)
        elif state == "D" and self._count == _STUCK_AFTER:
            self._reported = "The reader works again; no data was lost."
            hint = "The screen shows the data read so far. Check the mount: a file server may be down."
            yield Notice("warning", "The reader waits for a file system that does not answer.", hint, _ABOUT)
        elif state not in "TD":
            yield from self.alive()

    def alive(self) -> Iterator[Notice]:
        """Yield the notice that ends an earlier one; call it when the reader has sent something, too."""
        self._state, self._count = "", 0
        if self._reported:
            yield Notice("info", self._reported, "", _ABOUT)
            self._reported = ""


def _state(pid: int) -> str:
    """Return the state of a process as in proc(5): R, S, D (waits for a disk), T (stopped), …; "S" if unknown.

    D also for a sleep that a signal can interrupt, if it is one in a file system, as with FUSE and NFS."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state = chr(file.read(512).rpartition(b") ")[2][0])
        if state == "S":
            with open(f"/proc/{pid}/wchan", "rb") as file:
                return "D" if _IN_FILE_SYSTEM.match(file.read(100)) else "S"
        return state
    except (OSError, IndexError):
        return "S"
