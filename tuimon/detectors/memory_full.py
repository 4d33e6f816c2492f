"""GPU memory that fills up: the run will end for want of it.

Rule: in a window of up to 512 points the share of a device that is used has crept up (see memory_creep) by as much as
is left of it, for 16 points; told of the device of which least is left, of the shares that are allocated where those
are logged: what is reserved may be free. Only for information where the run is over before it is full.
Source: ours (tuimon has no peer that tells it).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import named
from tuimon.analysis.forecast import growth, soon
from tuimon.analysis.incidents import Incident
from tuimon.analysis.progress_inputs import steps_left
from tuimon.analysis.rules import FillsUp
from tuimon.detectors._curves import alert, incidents, levels, percent, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run
from tuimon.vocabulary import memory_of

_MOST = 64
"""Series that are looked at."""
_HINT = "what grows from step to step, longer responses or a leak? A smaller batch or a restart from a checkpoint helps"


class MemoryFull(Struct, frozen=True):
    id: str = "memory_full"
    title: str = "GPU memory fills up"
    part: float = 1.0

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert, of the device of which least is left."""
        found: list[tuple[Curve, Incident, float, float, float]] = []
        for metric, scale in _shares(run):
            curve = run.curve(metric)
            if told := incidents(curve, FillsUp(self.part, 0.5 * self.part, full=1 / scale)):
                before, now = levels(curve, told[-1])
                found.append((curve, told[-1], scale, scale * before, scale * now))
        if not found:
            return
        curve, incident, scale, before, now = max(found, key=lambda one: (one[1].cleared is None, one[4]))
        coming = growth(curve.steps, curve.values, scale) if incident.cleared is None else None
        left = steps_left(run)
        in_time = coming is not None and left is not None and coming.soonest > left
        others = f" (and {len(found) - 1} more series)" if len(found) > 1 else ""
        full = f", full in {soon(coming)} if it goes on" if coming is not None else ""
        message = (
            f"{curve.metric} {verb(incident, 'fills up', 'filled up')}{full}: from {percent(before)} to {percent(now)}"
            f" of the device{others}, by more than {verb(incident, 'is', 'was')} left"
        )
        yield alert(run, curve, incident, self.id, "info" if in_time else "warning", message, _HINT)


def _shares(run: Run) -> list[tuple[str, float]]:
    """(metric, what makes it a share of 1) of the shares that are allocated, or of all where none of them is logged."""
    tags = [(name, tag) for name in named(run, "gpu.frac", every=True) if (tag := memory_of(name)) and tag.fraction]
    allocated = [(name, tag.scale) for name, tag in tags if "allocated" in tag.kind]
    return (allocated or [(name, tag.scale) for name, tag in tags])[:_MOST]


DETECTOR = MemoryFull()
