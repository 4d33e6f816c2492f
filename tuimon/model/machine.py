"""Status of the machine with the logs, as plain data for the pipe."""

from __future__ import annotations

from msgspec import Struct

LEAST_PART = 0.05
LEAST_GIB = 20.0
"""Free space (GiB) below which a disk is nearly full. A checkpoint of a small model takes as much."""


class GpuProcess(Struct, frozen=True):
    """A process that holds memory of a GPU."""

    pid: int
    name: str
    """"" if it cannot be read (another user's or another container's process)."""
    memory: int | None
    """Bytes, or None if unknown."""


class Gpu(Struct, frozen=True):
    """One GPU. Fields that its driver does not provide are None."""

    index: int
    name: str
    memory_used: int
    """Bytes."""
    memory_total: int
    """Bytes."""
    utilisation: float | None
    """0..1: fraction of about the last second in which it was busy."""
    watts: float | None
    celsius: float | None
    processes: tuple[GpuProcess, ...]
    """Processes with the most memory first."""


class Disk(Struct, frozen=True):
    """The file system of a path."""

    path: str
    free: int
    """Bytes available to the user."""
    total: int
    """Bytes."""

    def nearly_full(self, part: float = LEAST_PART, gibibytes: float = LEAST_GIB) -> bool:
        """Return whether the free space is below both limits; a small part of a large file system is still a lot."""
        return self.free < self.total * part and self.free < gibibytes * 2**30


class Machine(Struct, frozen=True):
    """Status of a machine at one moment."""

    time: float
    """Seconds since the epoch."""
    cpu: float | None
    """0..1 of all cores; None if the logs lie on a network file system, as other machines may write them."""
    cores: int
    memory_used: int | None
    """Bytes; None if the logs lie on a network file system."""
    memory_total: int | None
    """Bytes; None if the logs lie on a network file system."""
    disks: tuple[Disk, ...]
    gpus: tuple[Gpu, ...]

    def disk_of(self, path: str) -> Disk | None:
        """Return the disk mounted nearest above `path`, or else one mounted below it; None if there is neither."""
        above = [disk for disk in self.disks if f"{path}/".startswith(disk.path.rstrip("/") + "/")]
        below = [disk for disk in self.disks if disk.path.startswith(path.rstrip("/") + "/")]
        return max(above or below, key=lambda disk: len(disk.path), default=None)
