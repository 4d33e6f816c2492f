"""The timers of a run as a tree: parts of the step, what lies inside them, and what an operation is made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from tuimon.analysis.shift import Shift, shift
from tuimon.panels._select import by_concept, curve_or_none
from tuimon.store import Curve, Run
from tuimon.vocabulary import Phase, is_nested, phase_of

RECENT = 100
"""Points of a timer that its median and its 95th percentile are taken over, and its second drift."""
_SPARSE = 1.5
"""A timer is sparse when its points lie this much farther apart than those of most timers."""


class Timer(Struct, frozen=True):
    """A timer of a whole phase, and where it stands among the others."""

    metric: str
    phase: Phase
    parent: str
    """Metric of the timer around it; "" for a part of the step."""
    parts: tuple[tuple[str, str], ...]
    """(part, metric) of what it is made of: execute, onload, offload."""


@lru_cache(maxsize=64)
def timers_of(metrics: tuple[str, ...]) -> tuple[Timer, ...]:
    """The timers among a run's metrics, in the order of the step; each child directly behind its parent."""
    found = [(name, phase) for name in by_concept(metrics).get("time.phase", ()) if (phase := phase_of(name))]
    parts: dict[tuple[str, str], list[tuple[str, str]]] = {}
    totals: dict[tuple[str, str], tuple[str, Phase]] = {}
    for name, phase in found:
        key = (phase.domain, phase.name)
        if phase.part == "total":
            totals.setdefault(key, (name, phase))
        elif phase.part != "statistic":
            parts.setdefault(key, []).append((phase.part, name))
    around = {
        name: [(other, outer) for other, outer in totals.values() if other != name and is_nested(phase, outer)]
        for name, phase in totals.values()
    }
    tree: dict[str, list[Timer]] = {}
    for key, (name, phase) in totals.items():
        # Of several timers around it, a part of the step itself, the first of them: not the order of the log decides.
        outer = min(around[name], key=lambda one: (len(around[one[0]]), one[1].order, one[1].name), default=("", None))
        tree.setdefault(outer[0], []).append(Timer(name, phase, outer[0], tuple(parts.get(key, ()))))
    ordered: list[Timer] = []

    def add(parent: str) -> None:
        for timer in sorted(tree.pop(parent, ()), key=lambda timer: (timer.phase.order, timer.phase.name)):
            ordered.append(timer)
            add(timer.metric)

    add("")
    return tuple(ordered)


class Drift(Struct, frozen=True):
    """How much longer a phase takes than it did."""

    ratio: float
    """0.38: 38 % longer."""
    since: int
    """The step that it is compared with."""
    sure: bool
    """Whether it stands out from the noise."""


class Reading(Struct, frozen=True):
    """What a timer says at the step that is shown."""

    timer: Timer
    now: float
    """Seconds at that step; the last known for a sparse timer that has no point there; NaN unknown."""
    present: bool
    """Whether it has a point at that step."""
    p50: float
    p95: float
    drift: Drift | None
    """How much longer it takes than when the run began; None when there is too little to tell."""
    lately: Drift | None
    """The same over its last hundred points; None where there are not more."""
    every: int
    """A sparse timer has a point every so many steps; 0 for one that is not, -1 for one that ran once, steps ago."""
    parts: Mapping[str, float]
    """Seconds of its parts at that step."""


def read_timers(run: Run) -> tuple[int, tuple[Reading, ...]] | None:
    """(step, readings): the newest step that all frequent timers have reached; None without a timer.

    Sparse timers (a checkpoint every tenth step) keep their own last value.
    """
    curves = [(timer, curve) for timer in timers_of(run.metrics) if (curve := curve_or_none(run, timer.metric))]
    if not curves:
        return None
    gaps = {timer.metric: _gap(curve) for timer, curve in curves}
    known = [gap for gap in gaps.values() if gap]
    usual = float(np.median(known)) if known else 0.0
    newest = max(int(curve.steps[-1]) for _, curve in curves)
    frequent = [int(c.steps[-1]) for t, c in curves if (gaps[t.metric] or usual) <= usual * _SPARSE]
    step = min((last for last in frequent if last >= newest - 2 * usual), default=newest)
    readings = (_read(run, t, c, step, gaps[t.metric], usual) for t, c in curves)
    return step, tuple(readings)


def _gap(curve: Curve) -> float:
    """Usual number of steps between two points; 0.0 unknown."""
    gaps = np.diff(curve.steps[-RECENT:])
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if len(gaps) else 0.0


def _read(run: Run, timer: Timer, curve: Curve, step: int, gap: float, usual: float) -> Reading:
    end = int(np.searchsorted(curve.steps, step, "right"))
    present = end > 0 and int(curve.steps[end - 1]) == step
    seen = curve.values[max(end - RECENT, 0) : end]
    finite = seen[np.isfinite(seen)]
    p50, p95 = np.percentile(finite, (50, 95)).tolist() if len(finite) else (float("nan"), float("nan"))
    drift = _drift(curve, shift(curve.values[:end]))
    lately = _drift(curve, shift(curve.values[:end], end - RECENT)) if end > RECENT else None
    now = float(curve.values[end - 1]) if end else float("nan")
    every = round(gap / usual) if usual and gap > usual * _SPARSE else 0
    if usual and gap == 0.0 and not present:
        every = -1
    parts = {}
    for part, metric in timer.parts:
        inner = curve_or_none(run, metric)
        if inner is not None and end:
            at = int(np.searchsorted(inner.steps, curve.steps[end - 1], "right")) - 1
            if at >= 0 and inner.steps[at] == curve.steps[end - 1] and np.isfinite(inner.values[at]):
                parts[part] = float(inner.values[at])
    return Reading(timer, now, present, p50, p95, drift, lately, every, MappingProxyType(parts))


def _drift(curve: Curve, moved: Shift | None) -> Drift | None:
    if moved is None or not np.isfinite(moved.ratio):
        return None
    return Drift(moved.ratio, int(curve.steps[moved.since]), moved.significant)
