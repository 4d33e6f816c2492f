"""Wall times of a stream whose clock was set back while it was written.

The oldest and the newest point are usually those with the lowest and the highest wall time. After a clock was set back,
they are the first and the last point of the log. A jump is a fall of the wall time from one point of a metric to the
next, at a higher step, after which both go on rising. Rows that are out of order, as those of several writers in one
file, fall more often or at no higher step.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats, Indices
from tuimon.store.series import Series
from tuimon.store.streams import SeriesLengths, StreamView

LEAST_FALL = 60.0
"""Minimum fall (s) of a jump: writers with several threads log a point somewhat earlier than the one before."""
_MOST_JUMPS = 5
"""Number of falls above which the rows are out of order."""
_POINTS_AROUND = 3
"""Points after a jump, and before it if there are as many, in which steps rise and wall times do not fall."""
_USUAL = 100
"""Number of intervals before a jump from which the usual one is determined."""


class ClockJump(Struct, frozen=True):
    """A jump of wall time back."""

    step: int
    """Step of the first point after it."""
    seconds: float
    """Time by which the clock was set back: the fall of the wall time and the usual interval between two points."""


class WallTimes(Struct, frozen=True):
    """Wall times (s since the epoch) of the oldest and the newest point of a stream, NaN if unknown."""

    first: float
    last: float
    jumps: tuple[ClockJump, ...] = ()


def falls_within(wall_times: Floats, starts: Indices) -> bool:
    """Return whether a wall time is at least LEAST_FALL below the one before it. starts: rows that follow on no other
    row, as the first ones of a metric."""
    falls = wall_times[1:] < wall_times[:-1] - LEAST_FALL
    falls[starts[starts > 0] - 1] = False
    return bool(falls.any())


def wall_times_of(view: StreamView, table: SeriesLengths) -> WallTimes:
    """Return the wall times of a stream. The longest metric is searched for jumps, if any wall time has fallen."""
    usual = WallTimes(view.first_wall_time, view.last_wall_time)
    if not view.data.clock_falls or view.preview:
        return usual
    lengths = [(series, table.length(series.id)) for series in list(view.data.series.values())]
    known = [(series, length) for series, length in lengths if length]
    longest, length = max(known, key=lambda item: item[1], default=(None, 0))
    jumps = _jumps(longest, length) if longest is not None else ()
    if not jumps or longest is None:
        return usual
    begin, end = int(longest.columns.steps[0]), int(longest.columns.steps[length - 1])
    first = [float(item.columns.wall_times[0]) for item, _ in known if item.columns.steps[0] == begin]
    last = [float(item.columns.wall_times[count - 1]) for item, count in known if item.columns.steps[count - 1] == end]
    return WallTimes(
        min(filter(math.isfinite, first), default=math.nan), max(filter(math.isfinite, last), default=math.nan), jumps
    )


def _jumps(series: Series, length: int) -> tuple[ClockJump, ...]:
    """Return the jumps in the first `length` points of a metric, () if they are out of order."""
    steps, times = series.columns.steps[:length], series.columns.wall_times[:length]
    rows = np.flatnonzero(times[1:] < times[:-1] - LEAST_FALL) + 1
    if not 0 < len(rows) <= _MOST_JUMPS or set(rows.tolist()) & {position for _, position in series.cuts}:
        return ()
    jumps = []
    for row in rows.tolist():
        before, after = slice(max(row - _POINTS_AROUND, 0), row), slice(row, row + _POINTS_AROUND)
        if row + _POINTS_AROUND > length or (np.diff(steps[before.start : after.stop]) <= 0).any():
            return ()
        earlier, later = np.diff(times[before]), np.diff(times[after])
        usual = np.diff(times[max(row - _USUAL, 0) : row]) if row >= _POINTS_AROUND else later
        seconds = float(times[row - 1] - times[row] + np.median(usual))
        single = later.max() >= seconds  # a single point has a wrong time
        if single or earlier.min(initial=0.0) < 0 or later.min() < 0:
            return ()
        jumps.append(ClockJump(int(steps[row]), seconds))
    return tuple(jumps)
