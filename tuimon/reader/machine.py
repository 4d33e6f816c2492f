"""Sample the state of the machine from time to time, on a thread: a lost GPU or disk can block a sample for ever,
and must not block the reading of logs.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from tuimon.model.events import MachineSeen
from tuimon.model.machine import Machine
from tuimon.sources.filesystem import is_mirrored, kind

EVERY = 5.0
"""Interval (s) between two samples."""
_FIRST = 0.5
"""Delay (s) of the first sample, over which the CPU load is measured."""
ALIVE = 3600.0
"""Time (s) after the last change of any log at which sampling stops."""


def disk_status(roots: Sequence[str], newest: float) -> Machine | None:
    """Return a machine of which only the disks below `roots` are known; None if no local log grew in the last hour.

    newest: time of the last change of any log (s since the epoch).
    """
    local = [root for root in map(os.path.abspath, roots) if not is_mirrored(root)]
    if not local or time.time() - newest >= ALIVE:
        return None
    from tuimon.probes import disks_of  # imported late: not needed for runs that have ended

    return Machine(time.time(), None, 0, None, None, disks_of(local), ())


class MachineWatch:
    """Samples the machine while logs grow."""

    def __init__(self, roots: Sequence[str], newest: Callable[[], float], every: float = EVERY) -> None:
        """newest: returns the time of the last change of any log (s since the epoch); called on the reader's thread.
        every: interval between two samples (s)."""
        self._roots = [root for root in map(os.path.abspath, roots) if not is_mirrored(root)]
        self._newest = newest
        self._every = every
        self._alive = threading.Event()
        self._stopped = threading.Event()
        self._started = False
        self._polled = float("-inf")
        self._sample: Machine | None = None
        self._reported: Machine | None = None

    def poll(self) -> MachineSeen | None:
        """The state of the machine if it has changed since the last call, else None. Starts sampling if a log grows."""
        now = time.monotonic()
        if now - self._polled < self._every / 4 or not self._roots:
            return None
        self._polled = now
        alive = time.time() - self._newest() < ALIVE
        if alive:
            self._alive.set()
            if not self._started:
                self._started = True
                threading.Thread(target=self._run, name="machine", daemon=True).start()
        else:
            self._alive.clear()
        sample = self._sample if alive else None
        if is_same(sample, self._reported):
            return None
        self._reported = sample
        return MachineSeen(sample)

    def close(self) -> None:
        """Stop sampling; a sample in progress is completed."""
        self._stopped.set()
        self._alive.set()

    def _run(self) -> None:
        from tuimon.probes import Probe  # imported late: not needed for runs that have ended

        probe = Probe()
        local = not all(kind(root).remote for root in self._roots)
        while not self._stopped.wait(self._every if self._sample is not None else _FIRST):
            self._alive.wait()
            self._sample = probe.sample(self._roots, local)


def is_same(a: Machine | None, b: Machine | None) -> bool:
    """Return whether two states are equal but for their times, so that the second is not reported again."""
    return a is b or (a is not None and b is not None and replace(a, time=b.time) == b)
