"""The machine beside the logs, at one moment: plain data, as it goes through the pipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

LEAST_PART = 0.05
LEAST_GIB = 20.0
"""A disk on which less is left is nearly full: a checkpoint of a small model takes as much."""


class GpuProcess(Struct, frozen=True):
    """A process that holds memory of a GPU."""

    pid: int
    name: str
    """"" where it may not be known (another user's, another container's)."""
    memory: int | None
    """Bytes."""


class Gpu(Struct, frozen=True):
    """One GPU. None for what its driver does not tell."""

    index: int
    name: str
    memory_used: int
    memory_total: int
    """Bytes."""
    utilisation: float | None
    """0..1: the part of the last second or so in which it had work."""
    watts: float | None
    watts_limit: float | None
    celsius: float | None
    processes: tuple[GpuProcess, ...]
    """Those that hold most memory first."""


class Disk(Struct, frozen=True):
    """The file system that a path lies on."""

    path: str
    free: int
    """Bytes that may still be written."""
    total: int

    def nearly_full(self, part: float = LEAST_PART, gibibytes: float = LEAST_GIB) -> bool:
        """Whether less than both is left: a part of a large file system is still much."""
        return self.free < self.total * part and self.free < gibibytes * 2**30


class Machine(Struct, frozen=True):
    """What it was doing when last looked at."""

    time: float
    """Seconds since the epoch."""
    cpu: float | None
    """0..1 of all its cores; None where the logs lie on a file system of other machines: they may be written there."""
    cores: int
    memory_used: int | None
    memory_total: int | None
    """Bytes; None likewise."""
    disks: tuple[Disk, ...]
    gpus: tuple[Gpu, ...]

    def disk_of(self, path: str) -> Disk | None:
        """The disk of the nearest path above `path`, or of one below it."""
        above = [disk for disk in self.disks if f"{path}/".startswith(disk.path.rstrip("/") + "/")]
        below = [disk for disk in self.disks if disk.path.startswith(path.rstrip("/") + "/")]
        return max(above or below, key=lambda disk: len(disk.path), default=None)


def machine_of(values: Mapping[str, Any]) -> Machine:
    """What msgspec.to_builtins made of a Machine, made a Machine again. Raises KeyError, TypeError or ValueError for
    anything else: it may come from another machine."""
    return Machine(
        float(values["time"]),
        _number(values["cpu"]),
        int(values["cores"]),
        _count(values["memory_used"]),
        _count(values["memory_total"]),
        tuple(Disk(str(one["path"]), int(one["free"]), int(one["total"])) for one in values["disks"]),
        tuple(_gpu(one) for one in values["gpus"]),
    )


def _gpu(values: Mapping[str, Any]) -> Gpu:
    return Gpu(
        int(values["index"]),
        str(values["name"]),
        int(values["memory_used"]),
        int(values["memory_total"]),
        _number(values["utilisation"]),
        _number(values["watts"]),
        _number(values["watts_limit"]),
        _number(values["celsius"]),
        tuple(GpuProcess(int(one["pid"]), str(one["name"]), _count(one["memory"])) for one in values["processes"]),
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _count(value: Any) -> int | None:
    return None if value is None else int(value)
