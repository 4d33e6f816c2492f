"""Time per step, from steps and wall times.

The time of a step is that from its first point to the first point of the next step, so that points logged later at the
same step (an evaluation) are included. Steps with equal times were written as a batch (Trackio), or within one tick of
a coarse clock: the time from one batch to the next is that of all steps of the latter. Intervals far above the usual
one are pauses: evaluations, checkpoints. They are separated from the pace; those that recur are included in the
expected time left. Intervals across a restart are ignored. If the pace has changed suddenly, only the intervals since
then count; if it has changed gradually, only the newest 20.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.onset import sudden_change
from tuimon.analysis.shift import WINDOW, shift
from tuimon.analysis.statistics import median, quantiles
from tuimon.model.points import Floats, Indices, Steps

_RECENT = 100
"""Maximum number of intervals that the pace is computed from; of a shorter run the newer half."""
_RECENT_LEAST = 10
"""Minimum number of intervals that the pace is computed from."""
PAUSE = 3.0
"""An interval this many times the usual one is a pause."""
_OUTLIER = 5.0
"""A pause this many times longer than the others is an outlier (e.g. a job suspended overnight) and is ignored."""
_CHANGED = 0.05
"""Difference of the newest intervals from the usual pace, relative to it, from which the pace has changed."""
_REGULAR = 1.5
"""Pauses are regular if the largest gap between two is at most this many times the smallest."""
_FEWEST = 3
_BLOCKS = 4
_WINDOW = 1 << 14
"""Number of newest points that are examined: enough for the pauses, and bounded work for a run of millions."""


class Cadence(Struct, frozen=True):
    """Pace of a run. Durations in seconds."""

    interval: float
    """Usual time between two consecutive logged steps."""
    spread: float
    """Half of the interquartile range of these times."""
    seconds_per_step: float
    """Mean time per step of the newest steps, without pauses."""
    low: float
    """Time per step in the fastest quarter of these steps."""
    high: float
    """Time per step in the slowest quarter of these steps."""
    pause: float
    """Usual extra time of a recurring pause; 0 without any."""
    longest_pause: float
    """Longest interval with a recurring pause; 0 without any."""
    pauses_per_step: float
    pause_every: float
    """Steps from one pause to the next if they are regular, else 0."""
    last_pause: float
    """Step after which the last pause came; NaN without any."""
    intervals: int
    """Number of intervals that this was computed from."""
    newest: int
    """Number of newest intervals, without pauses, that `seconds_per_step` was computed from."""

    @property
    def mean_seconds(self) -> float:
        """Time per step including its share of the recurring pauses, as in an ETA."""
        return self.seconds_per_step + self.pause * self.pauses_per_step

    def pauses_ahead(self, step: float, total: float) -> float:
        """Return the number of pauses expected from `step` until `total` is logged."""
        if self.pause_every:
            started = max(np.ceil((step - self.last_pause) / self.pause_every), 1)
            return max(0.0, float(np.ceil((total - self.last_pause) / self.pause_every) - started))
        return self.pauses_per_step * max(total - step, 0.0)


def cadence(
    steps: Steps,
    wall_times: Floats,
    restarts: Indices | None = None,
    evaluated: Steps | None = None,
    logged_per_step: int = 1,
) -> Cadence | None:
    """Return the pace of the newest 16384 points; None with fewer than 3 usable intervals.

    steps, wall_times: arrays of one length, steps ascending. restarts: as in a Curve. evaluated: steps at which an
    evaluation was logged; a single pause at one of them will recur, any other may be an accident. logged_per_step:
    logged steps per training step.
    """
    first, skipped = int(steps[0]) // logged_per_step if len(steps) else 0, max(len(steps) - _WINDOW, 0)
    restarts = restarts[restarts > skipped] - skipped if restarts is not None else None
    begins, advance, elapsed = intervals(steps[skipped:] // logged_per_step, wall_times[skipped:], restarts)
    if len(elapsed) < _FEWEST:
        return None
    rates = elapsed / advance
    usual = _usual(rates[-_RECENT:])
    paused = elapsed > PAUSE * usual * advance
    extra = (elapsed - usual * advance)[paused]
    recurring = _recurring(extra, begins[paused], evaluated)
    pauses, pause_steps = extra[recurring], begins[paused][recurring]
    any_pause = len(pauses) > 0
    every = _period(pause_steps, first, evaluated)
    plain = np.flatnonzero(~paused if not paused.all() else paused)
    recent = plain[-min(max(len(plain) // 2, _RECENT_LEAST), _RECENT) :]
    recent = recent[_change_in(rates[recent]) :]
    blocks = [_pace(elapsed[rows], advance[rows]) for rows in np.array_split(recent, _BLOCKS) if len(rows)]
    frequency = (1 / every if every else len(pauses) / float(advance.sum())) if any_pause else 0.0
    lower, upper = quantiles(elapsed[-_RECENT:], 0.25, 0.75)
    return Cadence(
        interval=median(elapsed[-_RECENT:]),
        spread=(upper - lower) / 2,
        seconds_per_step=_pace(elapsed[recent], advance[recent]),
        low=min(blocks),
        high=max(blocks),
        pause=float(pauses.mean()) if any_pause else 0.0,
        longest_pause=float(elapsed[paused][recurring].max()) if any_pause else 0.0,
        pauses_per_step=frequency,
        pause_every=every,
        last_pause=float(pause_steps[-1]) if any_pause else float("nan"),
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


def _change_in(rates: Floats) -> int:
    """Return the index of the first interval that the pace is computed from: of the first one since a sudden change, or
    of the newest 20 if they differ from the others by a gradual change; 0 if the pace has not changed."""
    moved = shift(rates)
    if moved is None or not moved.significant:
        return 0
    sudden = sudden_change(rates, moved.before, moved.after)
    if sudden is not None:
        return sudden.index
    usual = median(rates)
    return max(len(rates) - WINDOW, 0) if abs(moved.after - usual) > _CHANGED * usual else 0


def _usual(rates: Floats) -> float:
    """Return the median without pauses: if every other interval is one, the plain median is not the usual pace."""
    (quarter,) = quantiles(rates, 0.25)
    return min(median(rates), median(rates[rates <= PAUSE * quarter]))


def _recurring(extra: Floats, begins: Steps, evaluated: Steps | None) -> npt.NDArray[np.bool_]:
    """Return which pauses are of a kind that recurs. extra: their extra seconds; begins: their steps."""
    if len(extra) == 1:
        near_evaluation = evaluated is not None and len(evaluated) > 0 and (np.abs(evaluated - begins[0]) <= 1).any()
        return np.array([bool(near_evaluation)])
    recurring = np.ones(len(extra), np.bool_)
    if len(extra) > 1:
        largest = int(extra.argmax())
        others = np.delete(extra, largest)
        recurring[largest] = len(extra) > 2 and extra[largest] <= _OUTLIER * np.median(others)
        if len(extra) == 2:
            recurring[:] = extra[largest] <= _OUTLIER * extra.min()
    return recurring


def _period(pause_steps: Steps, first: int, evaluated: Steps | None) -> float:
    """Return the steps from one pause to the next; 0 if they are not regular."""
    gaps = np.diff(pause_steps)
    if len(pause_steps) == 1 and evaluated is not None:
        gaps = np.diff(evaluated) if len(evaluated) > 1 else pause_steps - first + (0 if first else 1)
    gaps = gaps[gaps > 0]
    if not len(gaps) or gaps.max() > _REGULAR * gaps.min():
        return 0.0
    return float(np.median(gaps))
