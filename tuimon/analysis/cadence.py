"""Time per step, from steps and wall times.

The time of a step is that from its first point to the first point of the next step, so that points logged later at the
same step (an evaluation) are included. Steps with equal times were written as a batch (Trackio), or within one tick of
a coarse clock: the time from one batch to the next is that of all steps of the latter. Intervals across a restart are
ignored.

Intervals of more than three times the usual one are pauses. The pace is the mean of the newer intervals without them,
at most 50: the median is too short where most steps are alike and some take twice as long. From the third pause after
the first ten steps on, in which a model is compiled, the time of the pauses is spread over all steps so far; the
longest counts like the mean of the others, because it may be a job that was suspended overnight.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tuimon.analysis.statistics import quantiles
from tuimon.model.points import Floats, Indices, Steps
from tuimon.store.arrays import median

_RECENT, _RECENT_LEAST = 50, 10
"""Number of newest intervals without pauses that the pace is computed from: the newer half of a run, at least 10."""
_USUAL = 100
"""Number of newest intervals from which the usual one is determined."""
PAUSE = 3.0
"""An interval this many times the usual one is a pause."""
_FEWEST = 3
"""Fewest intervals that show a pace, and fewest pauses that will recur."""
_START = 10
"""Intervals at the beginning of a run in which none is a pause."""
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
    logged_per_step: int = 1,
) -> Cadence | None:
    """Return the pace of the newest 16384 points; None with fewer than 3 usable intervals.

    steps, wall_times: arrays of one length, steps ascending. restarts: as in a Curve. logged_per_step: logged steps per
    training step.
    """
    skipped = max(len(steps) - _WINDOW, 0)
    restarts = restarts[restarts > skipped] - skipped if restarts is not None else None
    advance, elapsed = intervals(steps[skipped:] // logged_per_step, wall_times[skipped:], restarts)
    if len(elapsed) < _FEWEST:
        return None
    rates = elapsed / advance
    usual = _usual(rates[-_USUAL:])
    paused = elapsed > PAUSE * usual * advance
    plain = np.flatnonzero(~paused if not paused.all() else paused)
    recent = plain[-min(max(len(plain) // 2, _RECENT_LEAST), _RECENT) :]
    halves = [_pace(elapsed[half], advance[half]) for half in np.array_split(recent, 2) if len(half)]
    pauses = np.flatnonzero(paused & (np.arange(len(paused)) + skipped >= _START))
    pauses = pauses[np.argsort(elapsed[pauses])] if len(pauses) >= _FEWEST else pauses[:0]
    extra = (elapsed - usual * advance)[pauses[:-1]]
    return Cadence(
        interval=median(elapsed[-_USUAL:]),
        seconds_per_step=_pace(elapsed[recent], advance[recent]),
        low=min(halves),
        high=max(halves),
        pause_seconds=len(pauses) * float(extra.mean()) / float(advance.sum()) if len(pauses) else 0.0,
        longest_pause=float(elapsed[pauses[:-1]].max(initial=0.0)),
        intervals=len(elapsed),
        newest=len(recent),
    )


def _pace(elapsed: Floats, advance: Floats) -> float:
    """Return the seconds per step of some intervals."""
    return float(elapsed.sum() / advance.sum())


def intervals(steps: Steps, wall_times: Floats, restarts: Indices | None = None) -> tuple[Floats, Floats]:
    """Return (number of steps, seconds) of the usable intervals between first points.

    Of steps with equal times only the last one begins and ends an interval. restarts: as in a Curve.
    """
    first = np.append(True, steps[1:] != steps[:-1]) if len(steps) else np.zeros(0, np.bool_)
    rows = np.flatnonzero(first)
    restarts = restarts if restarts is not None else np.empty(0, np.int64)
    last = np.append(np.diff(wall_times[rows]) != 0, np.ones(min(len(rows), 1), np.bool_))
    last[np.searchsorted(rows, restarts) - 1] = True
    rows = rows[last]
    advance, elapsed = np.diff(steps[rows]), np.diff(wall_times[rows])
    usable = (advance > 0) & (elapsed > 0) & np.isfinite(elapsed)
    ends = np.searchsorted(rows, restarts)
    usable[ends[ends < len(rows)] - 1] = False
    return advance[usable].astype(np.float64), elapsed[usable]


def _usual(rates: Floats) -> float:
    """Return the median without pauses: if every other interval is one, the plain median is not the usual pace."""
    (quarter,) = quantiles(rates, 0.25)
    return min(median(rates), median(rates[rates <= PAUSE * quarter]))
