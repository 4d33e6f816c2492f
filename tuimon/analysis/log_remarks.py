"""What is remarkable about the logs of a run although all of their points are read."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tuimon.analysis.run_cache import cached_per_run
from tuimon.analysis.words import duration
from tuimon.store import Run
from tuimon.store.arrays import distinct

_SHORTEST_GAP = 600.0
"""Shortest gap (s) that is named."""
_GAP_PART = 0.1
"""Smallest gap, relative to the time from the first to the last point."""
_GAP_RATIO = 5.0
"""Gap, relative to the next longest interval: evaluations recur."""
_PARTS = 256
"""Number of parts of the rows of which only those that take long are searched."""


def lasted_text(run: Run, seconds: float) -> str:
    """Return "7 d before the last, 6 d of it a gap before step 301", or without the gap if there is none.

    seconds: time from the first to the last point. The gap may be a job that was suspended, or a clock that was set
    forward: wall times do not show which.
    """
    gap, step = _gap(run)
    text = f"{duration(seconds)} before the last"
    return f"{text}, {duration(gap)} of it a gap before step {step}" if gap else text


@cached_per_run
def _gap(run: Run) -> tuple[float, int]:
    """Return (seconds, step after it) of the only gap in the points of the longest metric; (0, 0) without one."""
    curve = run.curve(run.busiest_metric) if run.busiest_metric is not None else None
    if curve is None or len(curve) < 3:
        return 0.0, 0
    # In a long run usually no part is long enough to contain such an interval, so that few rows are examined.
    times, shortest = curve.wall_times, _GAP_PART / _GAP_RATIO * run.duration
    bounds = distinct(np.linspace(0, len(curve) - 1, _PARTS + 1).astype(np.int64)).tolist()
    intervals = [
        (float(times[row + 1] - times[row]), row + 1)
        for begin, end in pairwise(bounds)
        if times[end] - times[begin] >= shortest
        for row in (begin + np.flatnonzero(np.diff(times[begin : end + 1]) >= shortest)).tolist()
    ]
    if not intervals:
        return 0.0, 0
    (gap, row), *others = sorted(intervals, reverse=True)
    least = max(_SHORTEST_GAP, _GAP_PART * run.duration, _GAP_RATIO * others[0][0] if others else 0.0)
    return (gap, int(curve.steps[row])) if gap >= least else (0.0, 0)


def reading_remark(run: Run) -> str:
    """Return what the reader notes about the log with the most points, as "12 rows without a step take the step of the
    row before"; "" for nothing. It is cleaned."""
    main = max(run.streams, key=lambda view: view.point_count, default=None)
    if main is None or not main.point_count or main.status is None or main.status.state != "current":
        return ""
    return main.status.message
