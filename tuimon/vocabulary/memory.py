"""memory_of(): what a memory tag measures, on which device, in which phase, at which moment."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from tuimon.vocabulary.meaning import classify

_GPU = frozenset({"gpu.frac", "gpu.reserved", "gpu.allocated", "gpu.peak", "gpu.used"})
_SPELLINGS = {"max_active": "max_allocated", "active": "max_allocated", "alloc": "max_allocated"}


class MemoryTag(Struct, frozen=True):
    """What a memory tag measures."""

    phase: str
    """The phase as written, one segment ("train_step") or two ("actor_train/train_step"); "" when not told."""
    snapshot: str
    """start | end of the operation; "" when not told."""
    load: str
    """onload (the state is on the device) | offload; "" when not told."""
    kind: str
    """allocated | reserved | max_allocated | max_reserved | max_allocated_frac | max_reserved_frac | used;
    rss | vms for a CPU."""
    device: int | None
    """Index of the device as the process saw it; ROLL writes the mean over ranks. None when not told, or for a CPU."""
    node: int | None
    """Number of the machine, where the name tells."""
    fraction: bool
    """True: 0..1 of the device's memory; False: GiB."""
    cpu: bool
    scale: float
    """A logged value times this is the fraction, or GiB."""


@lru_cache(maxsize=65536)
def memory_of(name: str) -> MemoryTag | None:
    """What the tag `name` says about GPU or CPU memory, None for any other tag."""
    meaning = classify(name)
    cpu = meaning.concept == "cpu.memory"
    if not cpu and meaning.concept not in _GPU:
        return None
    facets = meaning.facets
    fraction = meaning.concept == "gpu.frac"
    kind = facets.get("kind", "rss" if cpu else "used")
    device, node = facets.get("device"), facets.get("node")
    if not facets.get("snap") and not cpu:
        kind = _SPELLINGS.get(kind, kind)
        if kind in ("allocated", "reserved", "peak") and meaning.concept == "gpu.peak":
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
