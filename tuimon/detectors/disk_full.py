"""The disk that holds the logs is nearly full.

Rule: less than `part` of the file system and less than `gibibytes` are left. A run whose disk is full crashes at its
next checkpoint, or at its next log line.
Source: house rule. The free space is measured on the machine, so there is an alert only while a run is watched.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.model.alerts import Alert
from tuimon.model.machine import LEAST_GIB, LEAST_PART
from tuimon.store import Run


class DiskFull(Struct, frozen=True):
    id: str = "disk_full"
    title: str = "Disk nearly full"
    part: float = LEAST_PART
    """Free part of the file system."""
    gibibytes: float = LEAST_GIB
    """Free space (GiB); both limits have to be passed."""

    def check(self, run: Run) -> Iterator[Alert]:
        return iter(())

    def check_at(self, run: Run, now: float) -> Iterator[Alert]:
        machine = run.machine
        disk = machine.disk_of(run.path) if machine is not None else None
        if disk is not None and disk.nearly_full(self.part, self.gibibytes):
            left = f"{disk.free / 2**30:.1f} GiB ({disk.free / disk.total * 100:.1f} %)"
            message = f"{left} are left on the disk of the run"
            yield Alert(self.id, "warning", run.id, "", None, message, "a checkpoint that does not fit ends the run")


DETECTOR = DiskFull()
