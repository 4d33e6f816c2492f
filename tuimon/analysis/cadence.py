"""Time per step, from steps and wall times.

The time of a step is that from its first point to the first point of the next step, so that points logged later at the
same step (an evaluation) are included. Steps with equal times were written as a batch (Trackio), or within one tick of
a coarse clock: the time from one batch to the next is that of all steps of the latter. Intervals across a restart are
ignored.

Intervals far above the usual one are pauses. The pace is the mean of the newer intervals without them, at most 50: the
median is too short where most steps are alike and some take twice as long. The time of the pauses is spread over all
steps so far: of those at which an evaluation was logged, and of the others if there are at least three after the first
ten steps, in which a model is compiled. A single one that is far longer than the others does not count.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.statistics import quantiles
from tuimon.model.points import Floats, Indices, Steps
from tuimon.store.arrays import median

Mask = npt.NDArray[np.bool_]

_RECENT, _RECENT_LEAST = 50, 10
"""Number of newest intervals without pauses that the pace is computed from: the newer half of a run, at least 10."""
_USUAL = 100
"""Number of newest intervals from which the usual one is determined."""
PAUSE = 3.0
"""An interval this many times the usual one is a pause."""
_FEWEST = 3
"""Fewest intervals that show a pace, and fewest pauses without an evaluation that will recur."""
_OUTLIER = 5.0
"""A pause this many times longer than the others is an accident, such as a job suspended overnight."""
_START = 10
"""Intervals at the beginning of a run in which only evaluations are pauses."""
_WINDOW = 1 << 14
"""Number of newest points that are examined: enough for the pauses, and bounded work for a run of millions."""


class Cadence(Struct, frozen=True):
    """Pace of a run. Durations in seconds."""

    interval: float
    """Usual time between two consecutive logged steps."""
    seconds_per_step: float
    """Mean time per step of the newest steps, without pauses."""
    low: float
    """That of the faster one of the two halves of these steps."""
    high: float
    """That of the slower one of the two halves of these steps."""
    pause_seconds: float
    """Time that pauses took so far, per step."""
    longest_pause: float
    """Longest interval with a recurring pause; 0 without any."""
    intervals: int
    """Number of intervals that this was computed from."""
    newest: int
    """Number of newest intervals, without pauses, that `seconds_per_step` was computed from."""

    @property
    def mean_seconds(self) -> float:
        """Time per step including its share of the pauses, as in an ETA."""
        return self.seconds_per_step + self.pause_seconds


def cadence(
    steps: Steps,
    wall_times: Floats,
    restarts: Indices | None = None,
    evaluated: Steps | None = None,
    logged_per_step: int = 1,
) -> Cadence | None:
    """Return the pace of the newest 16384 points; None with fewer than 3 usable intervals.

    steps, wall_times: arrays of one length, steps ascending. restarts: as in a Curve. evaluated: steps at which an
    evaluation was logged. logged_per_step: logged steps per training step.
    """
    skipped = max(len(steps) - _WINDOW, 0)
    restarts = restarts[restarts > skipped] - skipped if restarts is not None else None
    begins, advance, elapsed = intervals(steps[skipped:] // logged_per_step, wall_times[skipped:], restarts)
    if len(elapsed) < _FEWEST:
        return None
    rates = elapsed / advance
    usual = _usual(rates[-_USUAL:])
    paused = elapsed > PAUSE * usual * advance
    plain = np.flatnonzero(~paused if not paused.all() else paused)
    recent = plain[-min(max(len(plain) // 2, _RECENT_LEAST), _RECENT) :]
    halves = [_pace(elapsed[half], advance[half]) for half in np.array_split(recent, 2) if len(half)]
    pauses = np.flatnonzero(_recurring(paused, begins, evaluated, skipped))
    extra = (elapsed - usual * advance)[pauses]
    if extra.max(initial=0.0) > _OUTLIER * median(np.sort(extra)[:-1]):
        pauses, extra = np.delete(pauses, extra.argmax()), np.delete(extra, extra.argmax())
    return Cadence(
        interval=median(elapsed[-_USUAL:]),
        seconds_per_step=_pace(elapsed[recent], advance[recent]),
        low=min(halves),
        high=max(halves),
        pause_seconds=float(extra.sum() / advance.sum()),
        longest_pause=float(elapsed[pauses].max(initial=0.0)),
        intervals=len(elapsed),
        newest=len(recent),
    )


def _pace(elapsed: Floats, advance: Floats) -> float:
    """Return the seconds per step of some intervals."""
    return float(elapsed.sum() / advance.sum())


def intervals(steps: Steps, wall_times: Floats, restarts: Indices | None = None) -> tuple[Steps, Floats, Floats]:
    """Return (step at the beginning, number of steps, seconds) of the usable intervals between first points.

    Of steps with equal times only the last one begins and ends an interval. restarts: as in a Curve.
    """
    first = np.append(True, steps[1:] != steps[:-1]) if len(steps) else np.zeros(0, np.bool_)
    rows = np.flatnonzero(first)
    restarts = restarts if restarts is not None else np.empty(0, np.int64)
    last = np.append(np.diff(wall_times[rows]) != 0, np.ones(min(len(rows), 1), np.bool_))
    last[np.searchsorted(rows, restarts) - 1] = True
    rows = rows[last]
    begins, advance, elapsed = steps[rows[:-1]], np.diff(steps[rows]), np.diff(wall_times[rows])
    usable = (advance > 0) & (elapsed > 0) & np.isfinite(elapsed)
    ends = np.searchsorted(rows, restarts)
    usable[ends[ends < len(rows)] - 1] = False
    return begins[usable], advance[usable].astype(np.float64), elapsed[usable]


def _usual(rates: Floats) -> float:
    """Return the median without pauses: if every other interval is one, the plain median is not the usual pace."""
    (quarter,) = quantiles(rates, 0.25)
    return min(median(rates), median(rates[rates <= PAUSE * quarter]))


def _recurring(paused: Mask, begins: Steps, evaluated: Steps | None, skipped: int) -> Mask:
    """Return which intervals are pauses that will recur. begins: their steps; skipped: points before the first one."""
    at_evaluation = np.zeros(len(begins), np.bool_)
    if evaluated is not None and len(evaluated):
        at_evaluation = paused & np.isin(begins, np.concatenate((evaluated - 1, evaluated, evaluated + 1)))
    others = paused & ~at_evaluation & (np.arange(len(begins)) + skipped >= _START)
    return at_evaluation | others if others.sum() >= _FEWEST else at_evaluation
