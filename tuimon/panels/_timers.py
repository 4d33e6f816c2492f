"""Timers of a run as a tree: phases of the step, nested timers, and the parts of an operation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from tuimon.analysis.shift import Shift, shift
from tuimon.panels._metrics import by_concept, curve_or_none
from tuimon.store import Curve, Run
from tuimon.vocabulary import Phase, is_nested, phase_of

RECENT = 100
"""Number of points for the median, the 95th percentile and the recent drift of a timer."""
_SPARSE = 1.5
"""A timer is sparse if the distance of its points exceeds the usual distance by this factor."""


class Timer(Struct, frozen=True):
    """A timer of a whole phase, with its place in the tree."""

    metric: str
    phase: Phase
    parent: str
    """Metric of the enclosing timer; "" for a phase of the step."""
    parts: tuple[tuple[str, str], ...]
    """(part, metric) of its parts: execute, onload, offload."""


@lru_cache(maxsize=64)
def timers_of(metrics: tuple[str, ...]) -> tuple[Timer, ...]:
    """Return the timers among the metrics in the order of the step, each child directly after its parent."""
    phases = [(name, phase) for name in by_concept(metrics).get("time.phase", ()) if (phase := phase_of(name))]
    parts: dict[tuple[str, str], list[tuple[str, str]]] = {}
    totals: dict[tuple[str, str], tuple[str, Phase]] = {}
    for name, phase in phases:
        key = (phase.domain, phase.name)
        if phase.part == "total":
            totals.setdefault(key, (name, phase))
        elif phase.part != "statistic":
            parts.setdefault(key, []).append((phase.part, name))
    enclosing = {
        name: [(other, outer) for other, outer in totals.values() if other != name and is_nested(phase, outer)]
        for name, phase in totals.values()
    }
    tree: dict[str, list[Timer]] = {}
    for key, (name, phase) in totals.items():
        # Of several enclosing timers the parent is the outermost, and of these the first in the step.
        parent = min(
            enclosing[name],
            key=lambda timer: (len(enclosing[timer[0]]), timer[1].order, timer[1].name),
            default=("", None),
        )[0]
        tree.setdefault(parent, []).append(Timer(name, phase, parent, tuple(parts.get(key, ()))))
    ordered: list[Timer] = []

    def add(parent: str) -> None:
        for timer in sorted(tree.pop(parent, ()), key=lambda timer: (timer.phase.order, timer.phase.name)):
            ordered.append(timer)
            add(timer.metric)

    add("")
    return tuple(ordered)


class Drift(Struct, frozen=True):
    """Change of the duration of a phase."""

    ratio: float
    """Relative change; 0.38 is 38 % longer."""
    since: int
    """First step of the comparison."""
    sure: bool
    """Whether the change is significant against the noise."""


class TimerReading(Struct, frozen=True):
    """Values of a timer at the displayed step."""

    timer: Timer
    now: float
    """Seconds at that step; the last known value for a sparse timer without a point there; NaN if unknown."""
    present: bool
    """Whether the timer has a point at that step."""
    p50: float
    p95: float
    drift: Drift | None
    """Change since the start of the run; None if there are too few points."""
    recent_drift: Drift | None
    """Change over the last hundred points; None if there are no more points than that."""
    every: int
    """Steps between two points of a sparse timer; 0 if not sparse, -1 if it ran once, before the displayed step."""
    parts: Mapping[str, float]
    """Part -> seconds at that step."""


def read_timers(run: Run) -> tuple[int, tuple[TimerReading, ...]] | None:
    """Return (step, readings) for the newest step that all frequent timers have reached; None if there are no timers.

    Sparse timers (a checkpoint every tenth step) keep their last value.
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
    """Return the median number of steps between two points; 0.0 if it is unknown."""
    gaps = np.diff(curve.steps[-RECENT:])
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if len(gaps) else 0.0


def _read(run: Run, timer: Timer, curve: Curve, step: int, gap: float, usual: float) -> TimerReading:
    end = int(np.searchsorted(curve.steps, step, "right"))
    present = end > 0 and int(curve.steps[end - 1]) == step
    recent = curve.values[max(end - RECENT, 0) : end]
    finite = recent[np.isfinite(recent)]
    p50, p95 = np.percentile(finite, (50, 95)).tolist() if len(finite) else (float("nan"), float("nan"))
    drift = _drift(curve, shift(curve.values[:end]))
    recent_drift = _drift(curve, shift(curve.values[:end], end - RECENT)) if end > RECENT else None
    now = float(curve.values[end - 1]) if end else float("nan")
    every = round(gap / usual) if usual and gap > usual * _SPARSE else 0
    if usual and gap == 0.0 and not present:
        every = -1
    parts = {}
    for part, metric in timer.parts:
        inner = curve_or_none(run, metric)
        if inner is not None and end:
            index = int(np.searchsorted(inner.steps, curve.steps[end - 1], "right")) - 1
            if index >= 0 and inner.steps[index] == curve.steps[end - 1] and np.isfinite(inner.values[index]):
                parts[part] = float(inner.values[index])
    return TimerReading(timer, now, present, p50, p95, drift, recent_drift, every, MappingProxyType(parts))


def _drift(curve: Curve, moved: Shift | None) -> Drift | None:
    if moved is None or not np.isfinite(moved.ratio):
        return None
    return Drift(moved.ratio, int(curve.steps[moved.since]), moved.significant)
