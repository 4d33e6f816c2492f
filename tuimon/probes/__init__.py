"""The machine that the logs lie on, looked at: its cores, memory and disk (psutil), its GPUs (NVML, where it is).

    probe = Probe()
    probe.look(["/logs/run"])      a Machine; of its cores, what they did since the last look, or since Probe() was made

Hardware that is absent, and numbers that a driver does not give, are absent in the answer: never an error. It only
reads; the GPUs' settings are never touched.

host.py     cores, memory, disks
nvml.py     GPUs
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tuimon.model.machine import Machine
from tuimon.probes.host import Host
from tuimon.probes.nvml import Nvml

__all__ = ["Probe"]


class Probe:
    """Keeps what must be kept from one look to the next. For one thread."""

    def __init__(self) -> None:
        self._host = Host()
        self._nvml = Nvml()

    def look(self, paths: Sequence[str], local: bool = True) -> Machine:
        """How the machine stands now. paths: whose file systems are asked for what is left on them.

        local: False where these are written by other machines: then only the disks are told.
        """
        cpu, cores, used, total = self._host.load() if local else (None, 0, None, None)
        gpus = self._nvml.gpus() if local else ()
        return Machine(time.time(), cpu, cores, used, total, self._host.disks(paths), gpus)
