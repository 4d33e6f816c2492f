"""The memory tags of a run as a table: phases down, devices across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct

from tuimon.panels._select import by_concept
from tuimon.vocabulary import MemoryTag, memory_of, phase_of

_GPU = ("gpu.frac", "gpu.reserved", "gpu.allocated", "gpu.peak", "gpu.used")
WHOLE = ""
"""The phase of tags that name none."""


class MemoryTable(Struct, frozen=True):
    """Which tags there are. `metric_of` has (phase, column, kind) -> metric, of each the most telling snapshot."""

    phases: tuple[str, ...]
    """As written, in the order of the step."""
    columns: tuple[str, ...]
    """Devices: "0", "1" …; "node 1:0" on several machines; "all" where tags name none."""
    kinds: tuple[str, ...]
    metric_of: Mapping[tuple[str, str, str], str]
    scale_of: Mapping[str, float]
    """By metric."""

    def has(self, *kinds: str) -> bool:
        """Whether any of these kinds was logged."""
        return any(kind in self.kinds for kind in kinds)


MOMENTS = (("start", "offload"), ("start", "onload"), ("end", "onload"), ("end", "offload"))
"""(snapshot, load) of ROLL's operations in their order: before, with the state loaded, work done, state moved back."""


@lru_cache(maxsize=64)
def moments_of(metrics: tuple[str, ...]) -> Mapping[tuple[str, str, int, str], str]:
    """(phase, column, index into MOMENTS, kind) -> metric, of the tags in GiB that name a moment."""
    known = by_concept(metrics)
    found = [(name, tag) for concept in _GPU for name in known.get(concept, ()) if (tag := memory_of(name))]
    machines = len({tag.node for _, tag in found if tag.node is not None})
    return MappingProxyType(
        {
            (tag.phase, _column(tag, machines > 1), MOMENTS.index((tag.snapshot, tag.load)), tag.kind): name
            for name, tag in found
            if (tag.snapshot, tag.load) in MOMENTS and not tag.fraction
        }
    )


@lru_cache(maxsize=64)
def gpu_table(metrics: tuple[str, ...]) -> MemoryTable:
    """The GPU memory tags among a run's metrics."""
    known = by_concept(metrics)
    found = [(name, tag) for concept in _GPU for name in known.get(concept, ()) if (tag := memory_of(name))]
    machines = len({tag.node for _, tag in found if tag.node is not None})
    best: dict[tuple[str, str, str], tuple[int, str]] = {}
    columns: dict[str, tuple[int, int]] = {}
    for name, tag in found:
        column = _column(tag, machines > 1)
        columns[column] = (tag.node or 0, -1 if tag.device is None else tag.device)
        key = (tag.phase, column, tag.kind)
        best[key] = max(best.get(key, (-1, "")), (_moment(tag), name))
    return MemoryTable(
        tuple(sorted({tag.phase for _, tag in found}, key=phase_order)),
        tuple(sorted(columns, key=columns.__getitem__)),
        tuple(dict.fromkeys(tag.kind for _, tag in found)),
        MappingProxyType({key: name for key, (_, name) in best.items()}),
        MappingProxyType({name: tag.scale for name, tag in found}),
    )


def _column(tag: MemoryTag, machines: bool) -> str:
    if tag.device is None:
        return "all"
    return f"node {tag.node}:{tag.device}" if machines and tag.node is not None else str(tag.device)


def _moment(tag: MemoryTag) -> int:
    """How much a snapshot tells of the peak of a phase: the end with the state loaded, then the start with it."""
    return 2 * (tag.load == "onload") + (tag.snapshot == "end")


def phase_title(phase: str) -> str:
    """A phase of memory tags as a person reads it."""
    return phase.replace("/", ".") or "whole step"


def short_titles(phases: Sequence[str]) -> tuple[str, ...]:
    """What the phases are about ("actor train"), where that tells them apart; else as above."""
    found = [phase_of(f"time/{phase}/total") for phase in phases]
    labels = [one.label if one is not None and one.id != "other" else "" for one in found]
    if not all(labels) or len(set(labels)) < len(labels):
        return tuple(map(phase_title, phases))
    return tuple(labels)


def phase_order(phase: str) -> tuple[int, str]:
    """Where a phase of memory tags stands in the step."""
    found = phase_of(f"time/{phase}/total") if phase else None
    return (found.order if found else -1, phase)
