"""GPU memory fills up, and the run will end with an out-of-memory error.

Rule: in a window of up to 512 points the used share of a device has crept up (see memory_creep) by as much as is left,
for 16 points. Reported for the device with the least memory left; by the allocated shares if these are logged, because
reserved memory may be free. Only information if the run ends before the device is full.
Source: ours (no tool known to us reports this).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.creep import FillsUp
from tuimon.analysis.forecast import growth
from tuimon.analysis.incidents import Incident
from tuimon.analysis.progress_inputs import steps_left
from tuimon.detectors._curves import alert, first_and_last_level, incidents
from tuimon.model.alerts import Alert, Change
from tuimon.store import Curve, Run
from tuimon.vocabulary import memory_of

_MAX_SERIES = 64
"""Series that are examined."""
_HINT = "look for longer responses or a leak; use smaller micro-batches, or restart from a checkpoint if it leaks"


class MemoryFull(Struct, frozen=True):
    id: str = "memory_full"
    title: str = "GPU memory fills up"
    part: float = 1.0
    """Growth in a window of points, relative to the memory that is left."""

    def check(self, run: Run) -> Iterator[Alert]:
        filling: list[tuple[Curve, Incident, float, float, float]] = []
        for metric, scale in _used_shares(run):
            curve = run.curve(metric)
            if fills := incidents(curve, FillsUp(self.part, 0.5 * self.part, full=1 / scale)):
                before, now = first_and_last_level(curve, fills[-1])
                filling.append((curve, fills[-1], scale, scale * before, scale * now))
        if not filling:
            return
        curve, incident, scale, before, now = max(filling, key=lambda entry: (entry[1].cleared is None, entry[4]))
        forecast = growth(curve.steps, curve.values, scale) if incident.cleared is None else None
        left = steps_left(run)
        ends_before = forecast is not None and left is not None and forecast.soonest > left
        others = tuple(Change(other[0].metric) for other in filling if other[0] is not curve)
        severity = "info" if ends_before else "warning"
        found = alert(run, curve, incident, self.id, severity, "grows", 100 * now, 100 * before, hint=_HINT, unit="%")
        soon = round(forecast.steps) if forecast is not None else None
        yield replace(found, limit=100.0, reached_in=soon, related=others)


def _used_shares(run: Run) -> list[tuple[str, float]]:
    """Return (metric, factor to a share of 1) of the allocated shares, or of all shares if no such metric is logged."""
    names = metrics_of(run, "gpu.frac", all_names=True)
    tags = [(name, tag) for name in names if (tag := memory_of(name)) and tag.fraction]
    allocated = [(name, tag.scale) for name, tag in tags if "allocated" in tag.kind]
    return (allocated or [(name, tag.scale) for name, tag in tags])[:_MAX_SERIES]


DETECTOR = MemoryFull()
