"""memory_of(): quantity, device, phase and moment of a memory metric."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from tuimon.vocabulary.meaning import classify

_GPU = frozenset({"gpu.frac", "gpu.reserved", "gpu.allocated", "gpu.peak", "gpu.used", "memory.used"})
_SPELLINGS = {"max_active": "max_allocated", "active": "max_allocated", "alloc": "max_allocated"} | {
    f"peak_{kind}": f"max_{kind}" for kind in ("allocated", "reserved")
}


class MemoryTag(Struct, frozen=True):
    """Quantity, device, phase and moment of a memory metric."""

    phase: str
    """The phase as written, one segment ("train_step") or two ("actor_train/train_step"); "" if unknown."""
    snapshot: str
    """start | end of the operation; "" if unknown."""
    load: str
    """onload (the state is on the device) | offload; "" if unknown."""
    kind: str
    """allocated | reserved | max_allocated | max_reserved | max_allocated_frac | max_reserved_frac | used;
    memory | max_memory if the name does not say of which device; rss | vms for a CPU."""
    device: int | None
    """Process-local index of the device (ROLL writes the mean over ranks); None if unknown, or for a CPU."""
    node: int | None
    """Index of the node; None if unknown."""
    fraction: bool
    """Whether values are fractions (0..1) of the memory of the device; otherwise they are amounts."""
    cpu: bool
    scale: float
    """Factor from a logged value to the fraction, or to the unit of the amount."""


@lru_cache(maxsize=65536)
def memory_of(name: str) -> MemoryTag | None:
    """Return what the metric `name` measures of GPU or CPU memory; None for any other metric."""
    meaning = classify(name)
    cpu = meaning.concept == "cpu.memory"
    if not cpu and meaning.concept not in _GPU:
        return None
    facets = meaning.facets
    fraction = meaning.concept == "gpu.frac"
    unnamed = "rss" if cpu else "max_reserved" if meaning.concept == "gpu.peak" else "used"  # memory(GiB) of ms-swift
    kind = facets.get("kind", unnamed)
    if meaning.concept == "memory.used":
        kind = "max_memory" if kind in ("max", "peak") else "memory"
    device, node = facets.get("device"), facets.get("node")
    if not facets.get("snap") and not cpu:
        kind = _SPELLINGS.get(kind, kind)
        if kind in ("allocated", "reserved", "peak", "max") and meaning.concept == "gpu.peak":
            kind = "max_reserved" if kind == "reserved" else "max_allocated"
        if fraction and not kind.endswith("_frac"):
            kind += "_frac"
    return MemoryTag(
        facets.get("infix", ""),
        facets.get("snap", ""),
        facets.get("load", ""),
        kind,
        int(device) if device is not None else None,
        int(node) if node is not None else None,
        fraction,
        cpu,
        meaning.scale,
    )
