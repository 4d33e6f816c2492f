"""speeds(): how long a step of each run takes; faster(): which of some runs is faster than another, in one sentence.

    after is faster: 14.25 s a step, before 18.29 s (-22 %)

A duration is the median of the steps of the last two thirds, up to the last one that all runs have reached: by the
timer of the step, or, if a run has none, by the wall times of the points without pauses such as evaluations. The
fastest and the slowest run are compared; their difference counts from 5 % on, and if noise does not explain it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import counts_alike, step_name, updates_per_step
from tuimon.analysis.cadence import PAUSE, intervals
from tuimon.analysis.comparison_rows import comparable_step
from tuimon.analysis.level import Difference, mean_error, without_bursts
from tuimon.analysis.printed_units import seconds_of
from tuimon.analysis.timers import step_timer
from tuimon.analysis.words import with_article
from tuimon.draw.numbers import format_value
from tuimon.model.points import Floats
from tuimon.store import Curve, Run
from tuimon.store.arrays import median
from tuimon.text import clean

_FEWEST = 8
"""Minimum number of durations that are compared."""
_LEAST = 0.05
"""Least relative difference that is mentioned."""
_LATE = 2 / 3
_MEDIAN = 1.2533
"""Standard error of a median, as a multiple of that of the mean (normal distribution)."""


class Speed(Struct, frozen=True):
    """Duration of a step of a run (s)."""

    seconds: float
    error: float
    """Standard error."""
    freedom: int


def speeds(runs: Sequence[Run]) -> tuple[Speed | None, ...]:
    """Return the duration of a step of each run; None where it is unknown, and of all if their steps differ in kind."""
    nothing = (None,) * len(runs)
    if len({(updates_per_step(run), step_name(run)) for run in runs}) > 1:
        return nothing
    timers = [step_timer(run) for run in runs]
    is_timed = all(timer is not None for timer in timers)
    curves = timers if is_timed else [_longest(run) for run in runs]
    known = [curve for curve in curves if curve is not None]
    if len(known) < len(runs) or (until := comparable_step(known)) is None:
        return nothing
    pairs = zip(runs, known, strict=True)
    return tuple(_speed(_timed(run, curve, until) if is_timed else _between(curve, until)) for run, curve in pairs)


def faster(labels: Sequence[str], runs: Sequence[Run], own: Sequence[Speed | None]) -> str:
    """Return the sentence about the fastest and the slowest run; "" if noise explains the difference, or if unknown.

    labels: names of the runs. own: their `speeds`.
    """
    known = [(speed, clean(label)) for speed, label in zip(own, labels, strict=True) if speed is not None]
    if len(known) < 2 or len(known) < len(runs):
        return ""
    (fast, name), (slow, other) = (end(known, key=lambda pair: pair[0].seconds) for end in (min, max))
    pairs = len(list(itertools.combinations(known, 2)))
    freedom = min(fast.freedom, slow.freedom)
    apart = Difference(slow.seconds - fast.seconds, math.hypot(fast.error, slow.error), freedom)
    if apart.value < _LEAST * slow.seconds or not apart.is_beyond_noise(pairs):
        return ""
    unit, factor = ("s", 1) if fast.seconds >= 0.1 else ("ms", 1000)
    shorter, longer = (format_value(factor * speed.seconds, unit) for speed in (fast, slow))
    change = f"{100 * (fast.seconds / slow.seconds - 1):+.0f} %"
    return f"{name} is faster: {shorter} {with_article(step_name(runs[0]))}, {other} {longer} ({change})"


def _longest(run: Run) -> Curve | None:
    names = [name for name in run.busiest_metrics[:1] if counts_alike(run, name)]
    return run.curve(names[0]) if names else None


def _timed(run: Run, curve: Curve, until: int) -> Floats:
    values = curve.values[: curve.row_after(until)]
    seconds: Floats = values[np.isfinite(values)] * seconds_of(run, curve.metric)
    return seconds


def _between(curve: Curve, until: int) -> Floats:
    """Return the time per step between points, without the intervals across a restart or a clock that was set back."""
    end = curve.row_after(until)
    restarts = curve.restarts
    _, steps, seconds = intervals(curve.steps[:end], curve.wall_times[:end], restarts[restarts < end])
    return seconds / steps


def _speed(seconds: Floats) -> Speed | None:
    """Return the speed by these durations; None if there are too few, or it is not positive.

    Pauses are left out.
    """
    late = seconds[-round(_LATE * len(seconds)) :] if len(seconds) else seconds
    late = late[late <= PAUSE * median(late)] if len(late) else late
    if len(late) < _FEWEST or not (middle := median(late)) > 0:
        return None
    error, freedom = mean_error(without_bursts(late[None])[0], len(late))
    return Speed(middle, _MEDIAN * error, freedom)
