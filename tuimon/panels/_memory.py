"""GPU memory tags of a run as a table (phases by devices)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct

from tuimon.panels._metrics import by_concept
from tuimon.vocabulary import MemoryTag, memory_of, phase_of

CONCEPTS = ("gpu.frac", "gpu.reserved", "gpu.allocated", "gpu.peak", "gpu.used", "memory.used")
_WORDS = {"used": "in use", "memory": "in use"}


class MemoryTable(Struct, frozen=True):
    """The memory tags of a run by phase, device and kind."""

    phases: tuple[str, ...]
    """Phases as logged, in the order of the step; "" of tags without a phase."""
    columns: tuple[str, ...]
    """Devices: "0", "1" …; "node 1:0" on several machines; "all" if tags have no device."""
    kinds: tuple[str, ...]
    metric_of: Mapping[tuple[str, str, str], str]
    """(phase, column, kind) -> metric, of the snapshot that is closest to the peak of the phase."""
    scale_of: Mapping[str, float]
    """Metric -> factor to fractions, or to the unit of its meaning."""

    def has(self, *kinds: str) -> bool:
        """Whether any of these kinds was logged."""
        return any(kind in self.kinds for kind in kinds)


STAGES = (("start", "offload"), ("start", "onload"), ("end", "onload"), ("end", "offload"))
"""(snapshot, load) at the stages of ROLL's operations, in order: before, loaded, done, offloaded."""


@lru_cache(maxsize=64)
def stage_metrics(metrics: tuple[str, ...]) -> Mapping[tuple[str, str, int, str], str]:
    """Map (phase, column, index into STAGES, kind) to the metric, for the amounts that ROLL logs by stage, in GiB."""
    tags, several_nodes = _gpu_tags(metrics)
    return MappingProxyType(
        {
            (tag.phase, _column(tag, several_nodes), STAGES.index((tag.snapshot, tag.load)), tag.kind): name
            for name, tag in tags
            if (tag.snapshot, tag.load) in STAGES and not tag.fraction
        }
    )


@lru_cache(maxsize=64)
def gpu_table(metrics: tuple[str, ...]) -> MemoryTable:
    """Return the table of the GPU memory tags among the metrics."""
    tags, several_nodes = _gpu_tags(metrics)
    best: dict[tuple[str, str, str], tuple[int, str]] = {}
    columns: dict[str, tuple[int, int]] = {}
    for name, tag in tags:
        column = _column(tag, several_nodes)
        columns[column] = (tag.node or 0, -1 if tag.device is None else tag.device)
        key = (tag.phase, column, tag.kind)
        best[key] = max(best.get(key, (-1, "")), (_peak_rank(tag), name))
    return MemoryTable(
        tuple(sorted({tag.phase for _, tag in tags}, key=phase_order)),
        tuple(sorted(columns, key=columns.__getitem__)),
        tuple(dict.fromkeys(tag.kind for _, tag in tags)),
        MappingProxyType({key: name for key, (_, name) in best.items()}),
        MappingProxyType({name: tag.scale for name, tag in tags}),
    )


def _gpu_tags(metrics: tuple[str, ...]) -> tuple[list[tuple[str, MemoryTag]], bool]:
    """Return ((metric, tag) of the GPU memory tags, whether they are of several machines)."""
    known = by_concept(metrics)
    tags = [(name, tag) for concept in CONCEPTS for name in known.get(concept, ()) if (tag := memory_of(name))]
    return tags, len({tag.node for _, tag in tags if tag.node is not None}) > 1


def _column(tag: MemoryTag, several_nodes: bool) -> str:
    if tag.device is None:
        return "all"
    return f"node {tag.node}:{tag.device}" if several_nodes and tag.node is not None else str(tag.device)


def _peak_rank(tag: MemoryTag) -> int:
    """Rank a snapshot by its closeness to the peak of the phase: the end with the state loaded, then the start."""
    return 2 * (tag.load == "onload") + (tag.snapshot == "end")


def kind_words(kind: str) -> str:
    """Return what a kind of memory tag measures: "allocated", "reserved", "in use", or "peak" of any of them."""
    return "peak" if kind.startswith("max_") else _WORDS.get(kind, kind)


def memory_title(table: MemoryTable, kind: str = "") -> str:
    """Return the title of a panel: "GPU memory", or "memory" if no name says of which device it is; with what the kind
    measures, if one is given."""
    of_gpu = not {"memory", "max_memory"}.issuperset([kind] if kind else table.kinds) or not table.kinds
    return f"{'GPU ' if of_gpu else ''}memory {kind_words(kind)}".rstrip()


def phase_title(phase: str) -> str:
    """Return the name of a phase of memory tags, which is the logged one in all panels and at all widths."""
    return phase.replace("/", ".") or "whole step"


def phase_order(phase: str) -> tuple[int, str]:
    """Return a sort key for phases of memory tags: their order in the step."""
    known = phase_of(f"time/{phase}/total") if phase else None
    return (known.order if known else -1, phase)
