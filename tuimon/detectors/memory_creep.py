"""Memory that grows from step to step: a leak.

Rule: in a window of up to 512 points the last eighth holds `part` more on average than the first, which at least four
of the seven steps from eighth to eighth add to, for 16 points; told of the series of each kind (GPU, CPU) that grows
most. What a phase leaves behind counts, so of GPU memory the series at a phase's start while offloaded, or the
machine's own; of CPU memory what the process holds.
Source: SageMaker Debugger GPUMemoryIncrease, 10 % in a window of 500; eighths are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import named
from tuimon.analysis.incidents import Incident
from tuimon.analysis.rules import Creep
from tuimon.detectors._curves import alert, incidents, levels, number, percent, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_MOST = 64
"""Series of a kind that are looked at."""
_HINT = "something is kept from step to step: tensors with their graphs, caches, fragments; watch it until it runs out"


class MemoryCreep(Struct, frozen=True):
    id: str = "memory_creep"
    title: str = "Memory creep"
    part: float = 0.1

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a kind of memory."""
        rule = Creep(self.part, 0.5 * self.part)
        for kind, metrics in (("GPU", _gpu(run)), ("CPU", _cpu(run))):
            found = []
            for metric in metrics:
                curve = run.curve(metric)
                if incidents(curve, rule):
                    found.append((curve, incidents(curve, rule)[-1]))
            if found:
                curve, incident = max(found, key=lambda one: (one[1].cleared is None, _growth(*one)))
                before, now = levels(curve, incident)
                others = f" (and {len(found) - 1} more {kind} series)" if len(found) > 1 else ""
                message = (
                    f"{curve.metric} {verb(incident, 'has grown', 'grew')} from {number(before)} to {number(now)} GiB,"
                    f" {percent(now / before - 1)},{others}"
                )
                yield alert(run, curve, incident, self.id, "warning", message, _HINT)


def _gpu(run: Run) -> list[str]:
    left = [name for name in named(run, "gpu.allocated", every=True) if "/start/offload/" in name]
    return (left or named(run, "gpu.used"))[:_MOST]


def _cpu(run: Run) -> list[str]:
    names = [name for name in named(run, "cpu.memory", every=True) if not name.endswith("/vms")]
    return ([name for name in names if "/start/" in name] or names)[:_MOST]


def _growth(curve: Curve, incident: Incident) -> float:
    before, now = levels(curve, incident)
    return now / before if before else 0.0


DETECTOR = MemoryCreep()
