"""How long a step takes, from steps and wall times.

A step's time is that from the first point of one step to the first of the next: what is logged at a step once more,
after its evaluation, does not hide that evaluation. Intervals far above the usual are pauses: evaluation, checkpoints.
They are told apart and, where they come again and again, are part of what lies ahead. An interval across a restart is
none: the machine was doing something else.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.middle import median, quantiles
from tuimon.model.points import Floats, Steps
from tuimon.store.tally import Indices

_RECENT = 100
"""Intervals that the pace is taken from at most; of a shorter run, its newer half …"""
_RECENT_LEAST = 10
"""… but so many."""
_PAUSE = 3.0
"""An interval so many times the usual one is a pause."""
_ACCIDENT = 5.0
"""A pause so many times the others is none of theirs: one long night."""
_REGULAR = 1.5
"""Pauses are regular when the widest gap between two is at most so many times the narrowest."""
_FEWEST = 3
_BLOCKS = 4
_WINDOW = 1 << 14
"""Points that are looked at, the newest: enough for the pauses, and a run of millions costs no more than these."""


class Cadence(Struct, frozen=True):
    """The pace of a run. Seconds."""

    interval: float
    """Usual time between two steps that were logged one after the other."""
    spread: float
    """Half of the width of the middle half of such times."""
    seconds_per_step: float
    """Of the newest steps, without pauses."""
    low: float
    high: float
    """Seconds a step in the quickest and in the slowest quarter of these steps, without pauses."""
    pause: float
    """Usual extra time of a pause that comes again; 0 when there is none."""
    longest_pause: float
    """The longest interval with such a pause; 0 likewise."""
    pauses_per_step: float
    pause_every: float
    """Steps from one pause to the next, where they are regular; 0 elsewhere."""
    last_pause: float
    """The step after which the last pause came; NaN when there was none."""
    drift: float
    """How much slower the recent half is than the earlier half of the intervals: 0.1 is 10 % slower. NaN: too few."""
    intervals: int
    """How many it was worked out from."""

    @property
    def expected(self) -> float:
        """Seconds a step with its share of pauses."""
        return self.seconds_per_step + self.pause * self.pauses_per_step

    def pauses_ahead(self, step: float, total: float) -> float:
        """How many are to be expected from `step` until `total` is logged: none after that."""
        if self.pause_every:
            begun = max(np.ceil((step - self.last_pause) / self.pause_every), 1)
            return max(0.0, float(np.ceil((total - self.last_pause) / self.pause_every) - begun))
        return self.pauses_per_step * max(total - step, 0.0)


def cadence(
    steps: Steps, wall_times: Floats, restarts: Indices | None = None, evaluated: Steps | None = None, each: int = 1
) -> Cadence | None:
    """From arrays of one length, steps ascending; restarts as in a Curve. None with fewer than 3 usable intervals.
    Looks at the newest 16384 points.

    each: logged steps that make one step.

    evaluated: steps at which an evaluation was logged: a first pause there will come again, any other may have been an
    accident.
    """
    first, outside = int(steps[0]) // each if len(steps) else 0, max(len(steps) - _WINDOW, 0)
    restarts = restarts[restarts > outside] - outside if restarts is not None else None
    at, advance, elapsed = _intervals(steps[outside:] // each, wall_times[outside:], restarts)
    if len(elapsed) < _FEWEST:
        return None
    rates = elapsed / advance
    usual = _usual(rates[-_RECENT:])
    paused = elapsed > _PAUSE * usual * advance
    extra = (elapsed - usual * advance)[paused]
    ours = _recurring(extra, at[paused], evaluated)
    pauses, places = extra[ours], at[paused][ours]
    again = len(pauses) > 0
    every = _period(places, first, evaluated)
    plain = rates[~paused]
    recent = plain[-min(max(len(plain) // 2, _RECENT_LEAST), _RECENT) :] if len(plain) else rates
    blocks = [float(block.mean()) for block in np.array_split(recent, _BLOCKS) if len(block)]
    frequency = (1 / every if every else len(pauses) / float(advance.sum())) if again else 0.0
    quick, slow = quantiles(elapsed[-_RECENT:], 0.25, 0.75)
    return Cadence(
        interval=median(elapsed[-_RECENT:]),
        spread=(slow - quick) / 2,
        seconds_per_step=float(recent.mean()),
        low=min(blocks),
        high=max(blocks),
        pause=float(pauses.mean()) if again else 0.0,
        longest_pause=float(elapsed[paused][ours].max()) if again else 0.0,
        pauses_per_step=frequency,
        pause_every=every,
        last_pause=float(places[-1]) if again else float("nan"),
        drift=_drift(plain),
        intervals=len(elapsed),
    )


def _intervals(steps: Steps, wall_times: Floats, restarts: Indices | None) -> tuple[Steps, Floats, Floats]:
    """(the step that each begins at, steps it covers, seconds) of the usable ones, from first point to first point."""
    first = np.append(True, steps[1:] != steps[:-1]) if len(steps) else np.zeros(0, np.bool_)
    rows = np.flatnonzero(first)
    begin, advance, elapsed = steps[rows[:-1]], np.diff(steps[rows]), np.diff(wall_times[rows])
    usable = (advance > 0) & (elapsed > 0) & np.isfinite(elapsed)
    if restarts is not None and len(restarts):
        usable[np.searchsorted(rows, restarts, "right") - 2] = False
    return begin[usable], advance[usable].astype(np.float64), elapsed[usable]


def _usual(rates: Floats) -> float:
    """The median without pauses: where every other interval is one, the plain median is no usual pace."""
    (quarter,) = quantiles(rates, 0.25)
    return min(median(rates), median(rates[rates <= _PAUSE * quarter]))


def _recurring(extra: Floats, at: Steps, evaluated: Steps | None) -> npt.NDArray[np.bool_]:
    """Which of the pauses are of a kind that comes again."""
    if len(extra) == 1:
        return np.array([evaluated is not None and len(evaluated) > 0 and bool((np.abs(evaluated - at[0]) <= 1).any())])
    kept = np.ones(len(extra), np.bool_)
    if len(extra) > 1:
        largest = int(extra.argmax())
        others = np.delete(extra, largest)
        kept[largest] = len(extra) > 2 and extra[largest] <= _ACCIDENT * np.median(others)
        if len(extra) == 2:
            kept[:] = extra[largest] <= _ACCIDENT * extra.min()
    return kept


def _period(places: Steps, first: int, evaluated: Steps | None) -> float:
    """Steps from one pause to the next; 0 where they are not regular."""
    gaps = np.diff(places)
    if len(places) == 1 and evaluated is not None:
        gaps = np.diff(evaluated) if len(evaluated) > 1 else places - first + (0 if first else 1)
    gaps = gaps[gaps > 0]
    if not len(gaps) or gaps.max() > _REGULAR * gaps.min():
        return 0.0
    return float(np.median(gaps))


def _drift(rates: Floats) -> float:
    half = len(rates) // 2
    if half < _FEWEST:
        return float("nan")
    before = median(rates[:half])
    return median(rates[half:]) / before - 1.0 if before else float("nan")
