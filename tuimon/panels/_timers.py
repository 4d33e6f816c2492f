"""Timers of a run: phases of the step, nested timers, the parts of an operation, and the timer of the whole step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from math import isfinite, nan
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tuimon.analysis.change import change
from tuimon.analysis.printed_units import seconds_of
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.analysis.statistics import quantiles
from tuimon.analysis.timers import Timer, step_timer, timer_tree
from tuimon.panels._metrics import by_concept, curve_or_none
from tuimon.store import Curve, Run
from tuimon.store.arrays import median

RECENT = 100
"""Number of points for the median, the 95th percentile and the recent drift of a timer."""
_SAME_PACE = 1.15
"""Ratio up to which the median of a timer and the pace in the header agree."""
SLOWER = 0.2
"""Relative drift at which a phase counts as slower."""
_SPARSE = 1.5
"""A timer is sparse if the distance of its points exceeds the usual distance by this factor."""


def timers_of(metrics: tuple[str, ...]) -> tuple[Timer, ...]:
    """Return the timers among the metrics in the order of the step, each child directly after its parent."""
    return timer_tree(by_concept(metrics).get("time.phase", ()))


def differing_timer(run: Run) -> float:
    """Return the median seconds of a step by its timer if the pace in the header, which is by the wall times of the
    same points, is another; else NaN."""
    cadence, timer = progress_inputs(run).cadence, step_timer(run)
    if cadence is None or timer is None or timer.finite_count < len(timer):
        return nan
    usual = median(timer.values[-min(cadence.newest, RECENT) :]) * seconds_of(run, timer.metric)
    return usual if usual > 0 and not 1 / _SAME_PACE <= cadence.mean_seconds / usual <= _SAME_PACE else nan


class Drift(Struct, frozen=True):
    """Change of the duration of a phase, from the first to the last tenth of some points."""

    ratio: float
    """Relative change; 0.38 is 38 % longer."""
    sure: bool
    """Whether noise does not explain the change."""
    before: float
    """Level (s) at the beginning."""
    points: int = 0
    """Number of newest points that were compared; 0 for all since the start."""

    @property
    def is_slower(self) -> bool:
        """Whether the phase has become notably slower."""
        return self.sure and self.ratio >= SLOWER

    @property
    def period(self) -> str:
        """Words for what was compared: "since the start"."""
        return f"within the last {self.points} points" if self.points else "since the start"

    @property
    def longer(self) -> float:
        """Seconds by which the phase has become longer."""
        return self.before * self.ratio


class _Timed(NamedTuple):
    """The step that is displayed, and the timers with points up to it."""

    step: int
    curves: list[tuple[Timer, Curve]]
    gaps: dict[str, float]
    """Metric -> result of `_gap`."""
    usual: float
    """Median of the gaps; 0.0 if all are unknown."""


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

    @property
    def name(self) -> str:
        """Name of the phase, with the domain if several are trained at once."""
        phase = self.timer.phase
        return f"{phase.domain}: {phase.name}" if phase.domain else phase.name

    @property
    def spent(self) -> float:
        """Seconds that the phase took in the displayed step; 0 if it did not run."""
        return self.now if self.present and isfinite(self.now) and self.now > 0 else 0.0


def read_timers(run: Run, cursor: int | None = None) -> tuple[int, tuple[TimerReading, ...]] | None:
    """Return (step, readings) for the newest step that all frequent timers have reached; None if there are no points.

    Sparse timers (a checkpoint every tenth step) keep their last value. cursor: step after which points are ignored;
    None for no such step.
    """
    timed = _timed(run, cursor)
    if timed is None:
        return None
    readings = (_read(run, t, c, timed.step, timed.gaps[t.metric], timed.usual) for t, c in timed.curves)
    return timed.step, tuple(readings)


def timed_seconds(run: Run, cursor: int | None = None) -> tuple[int, float] | None:
    """Return the step of `read_timers` and the seconds that all phases took in it; None if there are no points.

    It does not compute the readings, which takes longer.
    """
    timed = _timed(run, cursor)
    if timed is None:
        return None
    seconds = 0.0
    for timer, curve in timed.curves:
        row = int(np.searchsorted(curve.steps, timed.step, "right")) - 1
        if not timer.parent and row >= 0 and curve.steps[row] == timed.step and 0 < curve.values[row] < math.inf:
            seconds += float(curve.values[row]) * seconds_of(run, timer.metric)
    return timed.step, seconds


def _timed(run: Run, cursor: int | None) -> _Timed | None:
    """Return the step of `read_timers` with its timers; None if there are no points."""
    every = [(timer, curve) for timer in timers_of(run.metrics) if (curve := curve_or_none(run, timer.metric))]
    ends = {timer.metric: len(curve) if cursor is None else curve.row_after(cursor) for timer, curve in every}
    curves = [(timer, curve) for timer, curve in every if ends[timer.metric]]
    if not curves:
        return None
    gaps = {timer.metric: _gap(curve) for timer, curve in curves}
    known = [gap for gap in gaps.values() if gap]
    usual = float(np.median(known)) if known else 0.0
    lasts = {timer.metric: int(curve.steps[ends[timer.metric] - 1]) for timer, curve in curves}
    newest = max(lasts.values())
    # the next point of a timer that has one so far may be due; one in the past ran once
    unknown = usual if cursor is None else math.inf
    frequent = [last for metric, last in lasts.items() if (gaps[metric] or unknown) <= usual * _SPARSE]
    step = min((last for last in frequent if last >= newest - 2 * usual), default=newest)
    return _Timed(step, curves, gaps, usual)


def _gap(curve: Curve) -> float:
    """Return the median number of steps between two points; 0.0 if it is unknown."""
    gaps = np.diff(curve.steps[-RECENT:])
    gaps = gaps[gaps > 0]
    return median(gaps) if len(gaps) else 0.0


def _read(run: Run, timer: Timer, curve: Curve, step: int, gap: float, usual: float) -> TimerReading:
    end = int(np.searchsorted(curve.steps, step, "right"))
    present = end > 0 and int(curve.steps[end - 1]) == step
    recent = curve.values[max(end - RECENT, 0) : end]
    finite = recent[np.isfinite(recent)]
    factor = seconds_of(run, timer.metric)
    p50, p95 = (value * factor for value in quantiles(finite, 0.5, 0.95)) if len(finite) else (nan, nan)
    drift = _drift(curve, end, factor)
    recent_drift = _drift(curve, end, factor, RECENT) if end > RECENT else None
    now = float(curve.values[end - 1]) * factor if end else float("nan")
    every = round(gap / usual) if usual and gap > usual * _SPARSE else 0
    if usual and gap == 0.0 and not present:
        every = -1
    parts = {}
    for part, metric in timer.parts:
        inner = curve_or_none(run, metric)
        if inner is not None and end:
            index = int(np.searchsorted(inner.steps, curve.steps[end - 1], "right")) - 1
            if index >= 0 and inner.steps[index] == curve.steps[end - 1] and np.isfinite(inner.values[index]):
                parts[part] = float(inner.values[index]) * seconds_of(run, metric)
    return TimerReading(timer, now, present, p50, p95, drift, recent_drift, every, MappingProxyType(parts))


def _drift(curve: Curve, end: int, factor: float, points: int = 0) -> Drift | None:
    """Return the change of the rows before `end`; None if it is unknown.

    factor: converts the values to seconds. points: number of newest rows that are compared; 0 for all.
    """
    moved = change(curve.values[end - points if points else 0 : end], whole=True)
    if moved is None or not isfinite(moved.ratio):
        return None
    return Drift(moved.ratio, moved.direction in ("rising", "falling"), moved.before * factor, points)
