"""How long a step takes, from steps and wall times.

The usual pace is the median of recent intervals, so a few slow ones do not move it. Intervals far above it are pauses:
evaluation, checkpoints. They are told apart and, where they come again and again, are part of what lies ahead. An
interval across a restart is none: the machine was doing something else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuimon.model.points import Floats, Steps
from tuimon.store.tally import Indices

_RECENT = 100
_PAUSE = 3.0
"""An interval so many times the usual one is a pause."""
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class Cadence:
    """The pace of a run. Seconds."""

    interval: float
    """Usual time between two points that follow each other."""
    seconds_per_step: float
    """Usual, without pauses."""
    low: float
    high: float
    """Seconds a step: the middle half of recent intervals lies between them."""
    pause: float
    """Usual extra time of a pause; 0 when there was none, or only one."""
    longest_pause: float
    """The second longest interval with a pause (the longest may have been an accident); 0 likewise."""
    pauses_per_step: float
    drift: float
    """How much slower the recent half is than the earlier half of the intervals: 0.1 is 10 % slower. NaN: too few."""
    intervals: int
    """How many it was worked out from."""

    @property
    def expected(self) -> float:
        """Seconds a step with its share of pauses: what the steps ahead will take."""
        return self.seconds_per_step + self.pause * self.pauses_per_step


def cadence(steps: Steps, wall_times: Floats, restarts: Indices | None = None, recent: int = _RECENT) -> Cadence | None:
    """From arrays of one length, steps ascending; restarts as in a Curve. None with fewer than 3 usable intervals."""
    advance, elapsed = np.diff(steps), np.diff(wall_times)
    usable = (advance > 0) & (elapsed > 0) & np.isfinite(elapsed)
    if restarts is not None:
        usable[restarts - 1] = False
    advance, elapsed = advance[usable], elapsed[usable]
    if len(elapsed) < _FEWEST:
        return None
    rates = elapsed / advance
    usual = _usual(rates[-recent:])
    extra = elapsed - usual * advance
    paused = elapsed > _PAUSE * usual * advance
    pauses = np.sort(extra[paused])
    again = len(pauses) > 1
    plain = rates[-recent:][~paused[-recent:]]
    low, high = np.quantile(plain, (0.25, 0.75)) if len(plain) else (usual, usual)
    return Cadence(
        interval=float(np.median(elapsed[-recent:])),
        seconds_per_step=usual,
        low=float(low),
        high=float(high),
        pause=float(np.median(pauses)) if again else 0.0,
        longest_pause=float(np.sort(elapsed[paused])[-2]) if again else 0.0,
        pauses_per_step=len(pauses) / float(advance.sum()) if again else 0.0,
        drift=_drift(rates[~paused]),
        intervals=len(elapsed),
    )


def _usual(rates: Floats) -> float:
    """The median without pauses: where every other interval is one, the plain median is no usual pace."""
    median = float(np.median(rates))
    quick = rates[rates <= _PAUSE * float(np.quantile(rates, 0.25))]
    return min(median, float(np.median(quick)))


def _drift(rates: Floats) -> float:
    half = len(rates) // 2
    if half < _FEWEST:
        return float("nan")
    return float(np.median(rates[half:]) / np.median(rates[:half]) - 1.0)
