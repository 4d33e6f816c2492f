"""The memory of the device on which a metric of memory was measured.

It is what the log prints with the values ("61.3/80 GB"), or the last value of a metric such as gpu_memory_total_gb, of
the same device if several are logged, or what a `.tuimon.toml` says: `gpu_memory = "80 GB"` below `[runs]`. Amounts are
converted by the units that the log names (a MB is 1000**2 bytes, a MiB 1024**2); without a unit, both must have none.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.printed_units import meaning_of, printed_whole
from tuimon.sources.overrides import given_memory
from tuimon.store import Run
from tuimon.vocabulary import BYTES, Meaning

_AMOUNTS = frozenset({"gpu.allocated", "gpu.reserved", "gpu.peak", "gpu.used", "memory.used"})
_OF_GPU = re.compile(r"gpu|cuda|vram|hbm", re.IGNORECASE)
_TOLERANCE = 1.05
"""A device is not smaller than what is used of it, but its size may be rounded, or in units of 1024 called 1000."""

_Place = tuple[str | None, str | None]
"""(node, device) of a metric, None if its name does not say."""


class DeviceMemory(Struct, frozen=True):
    """Size of a device."""

    logged: float
    """The size as logged."""
    unit: str
    """Unit in which it was logged; "1" if unknown."""
    size: float
    """The size in the unit of the logged values of the metric."""


def device_memory(run: Run, metric: str) -> DeviceMemory | None:
    """Return the memory of the device of which the metric measures a part; None if it is not known."""
    meaning = meaning_of(run, metric)
    if whole := printed_whole(run, metric):
        return DeviceMemory(whole, meaning.unit, whole)
    highest = run.curve(metric).max
    if meaning.concept not in _AMOUNTS or highest is None:
        return None
    place = meaning.facets.get("node"), meaning.facets.get("device")
    used = highest.value * meaning.scale / _TOLERANCE
    sizes = [(where, size) for where, size in _sizes(run, meaning) if size.size >= used]
    same = [size for where, size in sizes if where == place] or [size for where, size in sizes if where == (None, None)]
    known = same or [size for _, size in sizes]
    if not sizes and meaning.unit in BYTES and (given := given_memory(run.path)) is not None:
        known = [DeviceMemory(*given, given[0] * BYTES[given[1]] / BYTES[meaning.unit])]
    if len({size.size for size in known}) != 1:
        return None
    return replace(known[0], size=known[0].size / meaning.scale)


def _sizes(run: Run, meaning: Meaning) -> Iterator[tuple[_Place, DeviceMemory]]:
    """Yield ((node, device), memory) of the logged sizes that can be converted to the unit of a meaning.

    A metric such as "mem" may measure the host, so a size that is named as memory of a GPU is not yielded for it.
    """
    for metric in metrics_of(run, "gpu.total", all_names=True):
        own, last = meaning_of(run, metric), run.curve(metric).last
        if last is None or last.value <= 0 or (meaning.concept == "memory.used" and _OF_GPU.search(metric)):
            continue
        size = last.value * own.scale
        if own.unit in BYTES and meaning.unit in BYTES:
            size *= BYTES[own.unit] / BYTES[meaning.unit]
        elif own.unit != meaning.unit:
            continue
        yield (own.facets.get("node"), own.facets.get("device")), DeviceMemory(last.value, own.unit, size)
