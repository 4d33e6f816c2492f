"""Measurements of this machine: CPU, memory and disks (psutil), GPUs (NVML, if installed).

    probe = Probe()
    probe.sample(["/logs/run"])      a Machine; its CPU load is the average since the previous sample (or since Probe())
    disks_of(["/logs/run"])          free space only

Missing hardware and values that a driver does not report are absent from the result and never raise an error. GPU
settings are only read.

host.py     CPU, memory, disks
nvml.py     GPUs
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tuimon.model.machine import Machine
from tuimon.probes.host import Host, disks_of
from tuimon.probes.nvml import Nvml

__all__ = ["Probe", "disks_of"]


class Probe:
    """Samples the machine and keeps the state between samples. Not thread-safe."""

    def __init__(self) -> None:
        self._host = Host()
        self._nvml = Nvml()

    def sample(self, paths: Sequence[str], local: bool = True) -> Machine:
        """Measure the machine, and the free space of the file systems of `paths`.

        local: False if the logs at `paths` are written by other machines; then only the disks are measured.
        """
        cpu, cores, used, total = self._host.load() if local else (None, 0, None, None)
        gpus = self._nvml.gpus() if local else ()
        return Machine(time.time(), cpu, cores, used, total, disks_of(paths), gpus)
