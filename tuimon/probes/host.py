"""Cores, memory, and what is left on the disks."""

from __future__ import annotations

import os
from collections.abc import Iterable

import psutil

from tuimon.model.machine import Disk


class Host:
    """psutil tells the load of the cores since it was last asked: since the making of the Host, or the last call."""

    def __init__(self) -> None:
        psutil.cpu_percent()

    def load(self) -> tuple[float, int, int, int]:
        """(part of all cores in use since then, cores, bytes of memory in use, bytes of memory)."""
        memory = psutil.virtual_memory()
        return psutil.cpu_percent() / 100, psutil.cpu_count() or 1, memory.total - memory.available, memory.total

    def disks(self, paths: Iterable[str]) -> tuple[Disk, ...]:
        """Of each path that is there. What is free is what any user may write: a full disk has none left for them."""
        found = []
        for path in paths:
            try:
                usage = os.statvfs(path)
            except OSError:
                continue
            free, total = usage.f_bavail * usage.f_frsize, usage.f_blocks * usage.f_frsize
            if total > 0:
                found.append(Disk(path, free, total))
        return tuple(found)
