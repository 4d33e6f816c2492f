"""Memory use grows from step to step, which suggests a leak.

Rule: in a window of up to 512 points the mean of the last eighth is `part` above that of the first, at least four of
the seven steps from eighth to eighth contribute, and this holds for 16 points. Reported for the series of each kind
(GPU, CPU) that grows most. GPU memory is compared at the start of a phase while the model is offloaded, which shows
what earlier phases left allocated, or as the machine reports it; CPU memory is that of the process.
Source: SageMaker Debugger GPUMemoryIncrease, 10 % in a window of 500; the eighths are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.incidents import Incident
from tuimon.analysis.rules import Creep
from tuimon.detectors._curves import alert, first_and_last_level, incidents, number, percent, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_MAX_SERIES = 64
"""Series of a kind that are examined."""
_HINT = "something accumulates from step to step: tensors with their graphs, caches, fragmentation"


class MemoryCreep(Struct, frozen=True):
    id: str = "memory_creep"
    title: str = "Memory creep"
    part: float = 0.1

    def check(self, run: Run) -> Iterator[Alert]:
        rule = Creep(self.part, 0.5 * self.part)
        for kind, metrics in (("GPU", _gpu(run)), ("CPU", _cpu(run))):
            growing = [(curve, creeps[-1]) for curve in map(run.curve, metrics) if (creeps := incidents(curve, rule))]
            if growing:
                curve, incident = max(growing, key=lambda pair: (pair[1].cleared is None, _growth(*pair)))
                before, now = first_and_last_level(curve, incident)
                others = f" (and {len(growing) - 1} more {kind} series)" if len(growing) > 1 else ""
                message = (
                    f"{curve.metric} {verb(incident, 'has grown', 'grew')} from {number(before)} to {number(now)} GiB,"
                    f" {percent(now / before - 1)},{others}"
                )
                yield alert(run, curve, incident, self.id, "warning", message, _HINT)


def _gpu(run: Run) -> list[str]:
    offloaded = [name for name in metrics_of(run, "gpu.allocated", all_names=True) if "/start/offload/" in name]
    return (offloaded or metrics_of(run, "gpu.used"))[:_MAX_SERIES]


def _cpu(run: Run) -> list[str]:
    names = [name for name in metrics_of(run, "cpu.memory", all_names=True) if not name.endswith("/vms")]
    return ([name for name in names if "/start/" in name] or names)[:_MAX_SERIES]


def _growth(curve: Curve, incident: Incident) -> float:
    before, now = first_and_last_level(curve, incident)
    return now / before if before else 0.0


DETECTOR = MemoryCreep()
