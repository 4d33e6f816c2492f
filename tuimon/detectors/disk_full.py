"""The disk that holds the logs is nearly full.

Rule: less than `part` of the file system and less than `gibibytes` are left. A run whose disk is full crashes at its
next checkpoint, or at its next log line.
Source: house rule. The free space is that of now, on this machine: a run that has ended, or that another machine logs
to its own disk, has no alert.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import ACTIVE
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
        if disk is None or not disk.nearly_full(self.part, self.gibibytes):
            return
        if progress_of(run, now).state in ACTIVE:
            left = f"{disk.free / 2**30:.1f} GiB ({disk.free / disk.total * 100:.1f} %)"
            message = f"{left} are left on the disk of the run"
            yield Alert(self.id, "warning", run.id, "", None, message, "a checkpoint that does not fit ends the run")


DETECTOR = DiskFull()
