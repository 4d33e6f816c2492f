"""CPU load, memory, and free disk space."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tuimon.model.machine import Disk


class Host:
    """Measures the host by psutil; the CPU load is the average since the previous call, or since Host()."""

    def __init__(self) -> None:
        import psutil  # not needed to measure disks

        self._psutil = psutil
        psutil.cpu_percent()

    def load(self) -> tuple[float, int, int, int]:
        """Return (load as a fraction of all cores, cores, bytes in use, bytes of memory)."""
        psutil = self._psutil
        memory = psutil.virtual_memory()
        return psutil.cpu_percent() / 100, psutil.cpu_count() or 1, memory.total - memory.available, memory.total


def disks_of(paths: Iterable[str]) -> tuple[Disk, ...]:
    """Return the disk of each existing path. Free space is that available to unprivileged users."""
    disks = []
    for path in paths:
        try:
            usage = os.statvfs(path)
        except OSError:
            continue
        free, total = usage.f_bavail * usage.f_frsize, usage.f_blocks * usage.f_frsize
        if total > 0:
            disks.append(Disk(path, free, total))
    return tuple(disks)
