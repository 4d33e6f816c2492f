"""The machine, looked at now and then on a thread of its own: a GPU that is lost, or a disk that is gone, may hold a
look for ever, and must not hold the reading.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence

from tuimon.model.events import MachineSeen
from tuimon.model.machine import Gpu, Machine
from tuimon.sources.filesystem import kind

EVERY = 5.0
"""Seconds between two looks."""
_FIRST = 0.5
"""Seconds before the first, over which the load of the cores is measured."""
ALIVE = 3600.0
"""Seconds since a log last grew, after which nobody asks how the machine is."""


class MachineWatch:
    """Looks while the logs grow. `news` is what the reader has not told yet."""

    def __init__(self, roots: Sequence[str], newest: Callable[[], float], every: float = EVERY) -> None:
        """newest: when the newest log was last changed, seconds since the epoch; asked on the reader's thread.
        every: seconds between two looks."""
        self._roots = [os.path.abspath(root) for root in roots]
        self._newest = newest
        self._every = every
        self._alive = threading.Event()
        self._stopped = threading.Event()
        self._started = False
        self._asked = float("-inf")
        self._seen: Machine | None = None
        self._told: Machine | None = None

    def news(self) -> MachineSeen | None:
        """To be asked once everything is read, and again and again; starts the looking while a log grows."""
        now = time.monotonic()
        if now - self._asked < self._every / 4:
            return None
        self._asked = now
        alive = time.time() - self._newest() < ALIVE
        if alive:
            self._alive.set()
            if not self._started:
                self._started = True
                threading.Thread(target=self._look, name="machine", daemon=True).start()
        else:
            self._alive.clear()
        seen = self._seen if alive else None
        if at_rest(seen, self._told):
            return None
        self._told = seen
        return MachineSeen(seen)

    def close(self) -> None:
        """Ends the looking after the look that is under way."""
        self._stopped.set()
        self._alive.set()

    def _look(self) -> None:
        from tuimon.probes import Probe  # not before there is something to look at

        probe = Probe()
        local = not all(kind(root).remote for root in self._roots)
        while not self._stopped.wait(self._every if self._seen is not None else _FIRST):
            self._alive.wait()
            self._seen = probe.look(self._roots, local)


def at_rest(a: Machine | None, b: Machine | None) -> bool:
    """Whether one is as the other but for the noise of counters: it is no news, and nothing is drawn for it."""
    if a is None or b is None:
        return a is b
    return (
        [disk.path for disk in a.disks] == [disk.path for disk in b.disks]
        and all(_near(x.free, y.free, 0.01 * y.free) for x, y in zip(a.disks, b.disks, strict=True))
        and _near(a.cpu, b.cpu, 0.05)
        and _near(a.memory_used, b.memory_used, 0.01 * (b.memory_total or 0))
        and len(a.gpus) == len(b.gpus)
        and all(_as_before(x, y) for x, y in zip(a.gpus, b.gpus, strict=True))
    )


def _as_before(a: Gpu, b: Gpu) -> bool:
    return (
        (a.index, a.name) == (b.index, b.name)
        and {one.pid for one in a.processes} == {one.pid for one in b.processes}
        and _near(a.memory_used, b.memory_used, 0.005 * b.memory_total)
        and _near(a.utilisation, b.utilisation, 0.05)
        and _near(a.watts, b.watts, 15.0)
        and _near(a.celsius, b.celsius, 2.0)
    )


def _near(a: float | None, b: float | None, grain: float) -> bool:
    return a is b or (a is not None and b is not None and abs(a - b) <= grain)
