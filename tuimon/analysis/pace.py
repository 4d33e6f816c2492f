"""pace_of(): how long a step takes, from steps and wall times: the recent steps, and the share of pauses so far.

    Pace(interval=12.0, seconds_per_step=12.1, low=11.9, high=12.3, pause_seconds=0.4, longest_pause=95.0, count=300)

- The time of a step is that from its first point to the first point of the next step, so that points logged later at
  the same step (an evaluation) are included; not across a restart.
- Of steps with equal times, which were written together, the last one begins and ends an interval.
- An interval of more than three times the usual one is a pause. The pace is the mean of the newer half of the others,
  at most 50: a median is too short where most steps are alike and some take twice as long.
- The time of pauses is spread over all steps so far: of those at which an evaluation was logged, and of the others if
  there are at least three after the first ten steps, in which a model is compiled. A single one that is far longer
  than the others, such as a suspended job, does not count.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.statistics import quantiles
from tuimon.model.points import Floats, Indices, Steps
from tuimon.store.arrays import median

_RECENT, _RECENT_LEAST = 50, 10
"""Most and fewest newest intervals without pauses that the pace is computed from."""
_USUAL = 100
"""Number of newest intervals from which the usual one is determined."""
_PAUSE = 3.0
_FEWEST = 3
"""Fewest intervals that show a pace, and fewest pauses without an evaluation that will recur."""
_OUTLIER = 5.0
"""A pause this many times longer than the others is an accident."""
_START = 10
_NONE = np.empty(0, np.int64)
_WINDOW = 1 << 14
"""Number of newest points that are examined: enough for the pauses, and bounded work for a run of millions."""


class Pace(Struct, frozen=True):
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
    count: int
    """Number of intervals that this was computed from."""

    @property
    def mean_seconds(self) -> float:
        """Time per step including its share of the pauses, as in an ETA."""
        return self.seconds_per_step + self.pause_seconds

    def of_steps(self, rows: float) -> Pace:
        """Return the pace of steps that have several rows each."""
        names = ("seconds_per_step", "low", "high", "pause_seconds")
        return replace(self, **{name: getattr(self, name) * rows for name in names})


def pace_of(steps: Steps, wall_times: Floats, restarts: Indices = _NONE, evaluated: Steps = _NONE) -> Pace | None:
    """Return the pace of the newest 16384 points; None with fewer than 3 usable intervals.

    steps, wall_times: arrays of one length, steps ascending between restarts. restarts: positions at which an attempt
    begins. evaluated: steps at which an evaluation was logged.
    """
    skipped = max(len(steps) - _WINDOW, 0)
    begins, advance, elapsed = _intervals(steps[skipped:], wall_times[skipped:], restarts[restarts > skipped] - skipped)
    if len(elapsed) < _FEWEST:
        return None
    rates = elapsed / advance
    newest = rates[-_USUAL:]
    usual = median(newest[newest <= _PAUSE * quantiles(newest, 0.25)[0]])  # also if every other interval is a pause
    paused = rates > _PAUSE * usual
    plain = np.flatnonzero(~paused)
    recent = plain[-min(max(len(plain) // 2, _RECENT_LEAST), _RECENT) :]
    halves = [_mean(elapsed[half], advance[half]) for half in np.array_split(recent, 2) if len(half)]
    pauses = _recurring(paused, begins, evaluated, skipped)
    extra = (elapsed - usual * advance)[pauses]
    if extra.max(initial=0.0) > _OUTLIER * median(np.sort(extra)[:-1]):
        pauses, extra = np.delete(pauses, extra.argmax()), np.delete(extra, extra.argmax())
    return Pace(
        interval=median(elapsed[-_USUAL:]),
        seconds_per_step=_mean(elapsed[recent], advance[recent]),
        low=min(halves),
        high=max(halves),
        pause_seconds=float(extra.sum() / advance.sum()),
        longest_pause=float(elapsed[pauses].max(initial=0.0)),
        count=len(elapsed),
    )


def _mean(elapsed: Floats, advance: Floats) -> float:
    return float(elapsed.sum() / advance.sum())


def _intervals(steps: Steps, wall_times: Floats, restarts: Indices) -> tuple[Steps, Floats, Floats]:
    """Return (step at the beginning, number of steps, seconds) of the usable intervals between first points."""
    attempt = np.searchsorted(restarts, np.arange(len(steps)), "right")
    rows = np.flatnonzero(np.append(True, np.diff(steps) != 0)[: len(steps)])
    same_time = (np.diff(wall_times[rows]) == 0) & (np.diff(attempt[rows]) == 0)
    rows = rows[np.append(~same_time, True)[: len(rows)]]
    advance, elapsed = np.diff(steps[rows]), np.diff(wall_times[rows])
    usable = (advance > 0) & (elapsed > 0) & np.isfinite(elapsed) & (np.diff(attempt[rows]) == 0)
    return steps[rows[:-1]][usable], advance[usable].astype(np.float64), elapsed[usable]


def _recurring(paused: npt.NDArray[np.bool_], begins: Steps, evaluated: Steps, skipped: int) -> Indices:
    """Return the positions of the pauses that will recur. begins: their steps; skipped: points before the first one."""
    near = np.concatenate((evaluated - 1, evaluated, evaluated + 1))
    at_evaluation = paused & np.isin(begins, near)
    others = paused & ~at_evaluation & (np.arange(len(begins)) + skipped >= _START)
    return np.flatnonzero(at_evaluation | others if others.sum() >= _FEWEST else at_evaluation)
