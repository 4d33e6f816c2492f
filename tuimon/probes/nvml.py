"""GPUs by NVIDIA's management library NVML (nvidia-ml-py, the extra `gpu`); only counters are read.

`read` converts the library's results to plain values; `gpu_of`, which makes a Gpu of them, is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tuimon.model.machine import Gpu, GpuProcess

RETRY_AFTER = 60
"""Samples before NVML is tried again after a failure. A driver may be loaded later."""
_MAX_PROCESSES = 4


class Nvml:
    """The connection to NVML, reopened after failures."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._wait = 0

    def gpus(self) -> tuple[Gpu, ...]:
        """Return the GPUs of this machine; () without a GPU, driver or nvidia-ml-py."""
        if self._nvml is None:
            self._wait -= 1
            if self._wait >= 0:
                return ()
            self._wait = RETRY_AFTER
            self._nvml = _library()
            if self._nvml is None:
                return ()
        try:
            return tuple(gpu_of(values, _process_name) for values in read(self._nvml))
        except self._nvml.NVMLError:  # driver unloaded, or GPU lost
            self._nvml = None
            return ()


def _library() -> Any:
    """Return pynvml, initialised; None if it is not installed or finds no driver."""
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
    """Yield the values of each GPU in NVML's units: bytes, percent, milliwatts, degrees Celsius.

    Values that the driver does not report are None. Raises NVMLError if a GPU cannot be reached.
    """

    def value_or_none(query: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return query(*arguments)
        except nvml.NVMLError:  # not supported by this GPU, or not permitted
            return None

    for index in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        rates = value_or_none(nvml.nvmlDeviceGetUtilizationRates, handle)
        processes = value_or_none(nvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
        yield {
            "index": index,
            "name": value_or_none(nvml.nvmlDeviceGetName, handle) or "",
            "used": int(memory.used),
            "total": int(memory.total),
            "percent": None if rates is None else rates.gpu,
            "milliwatts": value_or_none(nvml.nvmlDeviceGetPowerUsage, handle),
            "celsius": value_or_none(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
            "processes": [(process.pid, process.usedGpuMemory) for process in processes],
        }


def gpu_of(values: Mapping[str, Any], name_of: Callable[[int], str]) -> Gpu:
    """Convert the values of `read` to a Gpu. name_of: process id -> name of the process."""
    name = values["name"]
    processes = sorted(values["processes"], key=lambda process: -(process[1] or 0))
    return Gpu(
        values["index"],
        name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name),
        values["used"],
        values["total"],
        _scaled_value(values["percent"], 0.01),
        _scaled_value(values["milliwatts"], 0.001),
        _scaled_value(values["celsius"], 1.0),
        tuple(GpuProcess(pid, name_of(pid), memory) for pid, memory in processes[:_MAX_PROCESSES]),
    )


def _scaled_value(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _process_name(pid: int) -> str:
    import psutil  # not needed to measure disks

    try:
        return psutil.Process(pid).name()
    except (psutil.Error, OSError):
        return ""
