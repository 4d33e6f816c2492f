"""Names of system metrics -> device and quantity, for W&B, SwanLab, Trackio, MLflow and nvidia-smi.

Sources: wandb 0.26 (core/internal/monitor), swanlab 0.7 and 0.10 (metadata/hardware), trackio 0.20 (gpu.py, cpu.py),
mlflow 3 (system_metrics/metrics).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

from tuimon import lazy_re as re

_PREFIX = re.compile(r"(?:__swanlab__\.|system[./])?(?:(?P<rank>rank\d+)/)?(?P<rest>.*?)(?:/l:(?P<label>.+))?")
_MLFLOW_NODE = re.compile(r"(?P<node>[^/]+)/(?P<rest>(?:gpu_\d+|cpu|system_memory|disk|network)_[a-z_]+)")
_ACCELERATOR = re.compile(r"(?P<type>gpu|npu|mlu|dcu|xpu|tpu|trn)[./_](?P<index>\d{1,4})[./_](?P<what>.+)")
_DISK = re.compile(r"disk[./](?P<path>.+)\.(?P<what>usagePercent|in|out)")


class Quantity(Struct, frozen=True):
    """A quantity of a device and how to read it."""

    kind: str
    """util | memory | temp | power | clock | throttle | soft throttle | reasons of an accelerator, the last as bits of
    NVML; used | rate of the host."""
    scale: float = 1.0
    """Factor to fractions, °C, W, MHz, or bytes/s."""
    counter: bool = False
    """Whether the values count up, so that the rate is their slope."""


IDLE, WORKING = 0.05, 0.5
"""Utilisation below which a GPU counts as idle, and median utilisation from which the GPUs count as working."""
HOT = 85.0
"""Degrees Celsius; data-centre GPUs throttle a few degrees above."""
_PERCENT = 0.01
_MIB = float(1 << 20)
_OF_ACCELERATOR: Mapping[str, Quantity] = {
    **dict.fromkeys(
        (
            *("gpu", "ptc", "pct", "utilization", "utilization_percentage", "dutyCycle", "neuroncore_utilization"),
            "utilization.gpu",
        ),
        Quantity("util", _PERCENT),
    ),
    **dict.fromkeys(
        ("memoryAllocated", "mem.ptc", "mem.pct", "memory_usage_percentage", "memoryUsage", "memory.used_percent"),
        Quantity("memory", _PERCENT),
    ),
    "memory_usage": Quantity("memory"),
    **dict.fromkeys(("temp", "temperature.gpu"), Quantity("temp")),
    **dict.fromkeys(("powerWatts", "power", "power_usage_watts", "power.draw"), Quantity("power")),
    **dict.fromkeys(("smClock", "sm_clock", "clocks.sm", "clocks.current.sm"), Quantity("clock")),
    **dict.fromkeys(
        (
            *("throttle_thermal", "throttle_hw_slowdown"),
            *("clocks_throttle_reasons.hw_thermal_slowdown", "clocks_event_reasons.hw_thermal_slowdown"),
        ),
        Quantity("throttle"),
    ),
    **dict.fromkeys(
        ("clocks_throttle_reasons.sw_thermal_slowdown", "clocks_event_reasons.sw_thermal_slowdown"),
        Quantity("soft throttle"),
    ),
    **dict.fromkeys(("clocks_throttle_reasons.active", "clocks_event_reasons.active"), Quantity("reasons")),
}
_USED = Quantity("used", _PERCENT)
_OF_HOST: Mapping[str, tuple[str, Quantity]] = {
    **dict.fromkeys(("cpu", "cpu.pct", "cpu/utilization", "cpu_utilization_percentage"), ("CPU", _USED)),
    **dict.fromkeys(
        ("memory_percent", "memory", "mem", "mem.pct", "memory/percent", "system_memory_usage_percentage"),
        ("RAM", _USED),
    ),
    **dict.fromkeys(("disk", "disk_usage_percentage"), ("disk", _USED)),
    "network/recv_mb_per_sec": ("net in", Quantity("rate", _MIB)),
    "network/sent_mb_per_sec": ("net out", Quantity("rate", _MIB)),
    "network_receive_megabytes": ("net in", Quantity("rate", 1e6, True)),
    "network_transmit_megabytes": ("net out", Quantity("rate", 1e6, True)),
    "disk/read_mb_per_sec": ("disk in", Quantity("rate", _MIB)),
    "disk/write_mb_per_sec": ("disk out", Quantity("rate", _MIB)),
}
_NETWORK = {"network.recv": "net in", "network.sent": "net out"}
"""W&B counts bytes, SwanLab measures KiB/s, under the same name."""
_ORDER = ("CPU", "RAM", "disk", "net in", "net out", "disk in", "disk out")


class Device(Struct, frozen=True):
    """A device of a run and its metrics."""

    name: str
    accelerator: bool
    metrics: Mapping[str, tuple[str, Quantity]]
    """Kind of quantity -> metric and how to read it; the first metric if several have the same kind."""


@lru_cache(maxsize=64)
def devices_of(names: Iterable[str]) -> tuple[Device, ...]:
    """Return the devices that some system metrics belong to: accelerators by index, then CPU, memory, disk, network.

    names: hashable (a frozenset).
    """
    found: dict[tuple[bool, str, int, str], dict[str, tuple[str, Quantity]]] = {}
    for name in sorted(names):
        parsed = _parse(name)
        if parsed is not None:
            key, quantity = parsed
            found.setdefault(key, {}).setdefault(quantity.kind, (name, quantity))
    return tuple(
        Device(" ".join(filter(None, (node, title))), not host, found[key])
        for key in sorted(found)
        for host, node, _, title in (key,)
    )


def _parse(name: str) -> tuple[tuple[bool, str, int, str], Quantity] | None:
    """Return ((whether it belongs to the host, node, position, title), quantity), or None for any other metric."""
    match = _PREFIX.fullmatch(name)
    if match is None:
        return None
    rest, node = match["rest"], match["rank"] or match["label"] or ""
    if of_node := _MLFLOW_NODE.fullmatch(rest):
        node, rest = of_node["node"], of_node["rest"]
    if accelerator := _ACCELERATOR.fullmatch(rest):
        quantity = _OF_ACCELERATOR.get(accelerator["what"])
        index = int(accelerator["index"])
        return None if quantity is None else ((False, node, index, f"{accelerator['type']} {index}"), quantity)
    title, quantity = _of_host(name, rest)
    return None if quantity is None else ((True, node, _ORDER.index(title), title), quantity)


def _of_host(name: str, rest: str) -> tuple[str, Quantity | None]:
    if rest in _NETWORK:
        counter = not name.startswith("__swanlab__.")
        return _NETWORK[rest], Quantity("rate", 1.0 if counter else 1024.0, counter)
    if disk := _DISK.fullmatch(rest):
        if disk["what"] == "usagePercent":
            return "disk", _USED
        return f"disk {disk['what']}", Quantity("rate", _MIB, True)
    return _OF_HOST.get(rest, ("", None))
