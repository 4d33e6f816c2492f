"""Sample the state of the machine from time to time, on a thread: a lost GPU or disk can block a sample for ever,
and must not block the reading of logs.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence

from tuimon.model.events import MachineSeen
from tuimon.model.machine import Gpu, Machine
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
        if is_similar(sample, self._reported):
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


def is_similar(a: Machine | None, b: Machine | None) -> bool:
    """Are the two states equal except for noise, so that the second is not reported or drawn?"""
    if a is None or b is None:
        return a is b
    return (
        [disk.path for disk in a.disks] == [disk.path for disk in b.disks]
        and all(_near(x.free, y.free, 0.01 * y.free) for x, y in zip(a.disks, b.disks, strict=True))
        and _near(a.cpu, b.cpu, 0.05)
        and _near(a.memory_used, b.memory_used, 0.01 * (b.memory_total or 0))
        and len(a.gpus) == len(b.gpus)
        and all(_is_similar_gpu(x, y) for x, y in zip(a.gpus, b.gpus, strict=True))
    )


def _is_similar_gpu(a: Gpu, b: Gpu) -> bool:
    return (
        (a.index, a.name) == (b.index, b.name)
        and {process.pid for process in a.processes} == {process.pid for process in b.processes}
        and _near(a.memory_used, b.memory_used, 0.005 * b.memory_total)
        and _near(a.utilisation, b.utilisation, 0.05)
        and _near(a.watts, b.watts, 15.0)
        and _near(a.celsius, b.celsius, 2.0)
    )


def _near(a: float | None, b: float | None, tolerance: float) -> bool:
    return a is b or (a is not None and b is not None and abs(a - b) <= tolerance)
