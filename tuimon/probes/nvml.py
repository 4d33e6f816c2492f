"""GPUs by NVIDIA's management library (nvidia-ml-py, the extra `gpu`). It reads counters; no process runs on a GPU.

The library's answers are turned into plain numbers in one place, `read`; what becomes of them, `gpu_of`, is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psutil

from tuimon.model.machine import Gpu, GpuProcess

AGAIN = 60
"""Looks between two tries to reach a library that could not be reached: a driver may be loaded later."""
_MOST_PROCESSES = 4


class Nvml:
    """The library while it can be reached."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._wait = 0

    def gpus(self) -> tuple[Gpu, ...]:
        """All of this machine; none where there is none, no driver, or no nvidia-ml-py."""
        if self._nvml is None:
            self._wait -= 1
            if self._wait >= 0:
                return ()
            self._wait = AGAIN
            self._nvml = _library()
            if self._nvml is None:
                return ()
        try:
            return tuple(gpu_of(values, _name_of) for values in read(self._nvml))
        except self._nvml.NVMLError:  # a driver that was unloaded, a GPU that was lost
            self._nvml = None
            return ()


def _library() -> Any:
    """pynvml, ready to be asked; None where it is not installed or finds no driver."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def read(nvml: Any) -> Iterator[Mapping[str, Any]]:
    """What the library tells of each GPU, as it tells it: bytes, percent, milliwatts, degrees; None for what its driver
    does not tell. Raises NVMLError when a GPU cannot be reached at all."""

    def told(ask: Callable[..., Any], *about: Any) -> Any:
        try:
            return ask(*about)
        except nvml.NVMLError:  # not supported by this GPU, or not permitted
            return None

    for index in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        rates = told(nvml.nvmlDeviceGetUtilizationRates, handle)
        processes = told(nvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
        yield {
            "index": index,
            "name": told(nvml.nvmlDeviceGetName, handle) or "",
            "used": int(memory.used),
            "total": int(memory.total),
            "percent": None if rates is None else rates.gpu,
            "milliwatts": told(nvml.nvmlDeviceGetPowerUsage, handle),
            "milliwatts_limit": told(nvml.nvmlDeviceGetEnforcedPowerLimit, handle),
            "celsius": told(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
            "processes": [(one.pid, one.usedGpuMemory) for one in processes],
        }


def gpu_of(values: Mapping[str, Any], name_of: Callable[[int], str]) -> Gpu:
    """One GPU from what the library tells of it. name_of: the name of a process by its id."""
    name = values["name"]
    held = sorted(values["processes"], key=lambda one: -(one[1] or 0))
    return Gpu(
        values["index"],
        name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name),
        values["used"],
        values["total"],
        _scaled(values["percent"], 0.01),
        _scaled(values["milliwatts"], 0.001),
        _scaled(values["milliwatts_limit"], 0.001),
        _scaled(values["celsius"], 1.0),
        tuple(GpuProcess(pid, name_of(pid), memory) for pid, memory in held[:_MOST_PROCESSES]),
    )


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _name_of(pid: int) -> str:
    try:
        return psutil.Process(pid).name()
    except (psutil.Error, OSError):
        return ""
