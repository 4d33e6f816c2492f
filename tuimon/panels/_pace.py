"""Whether the time of a step by the log's own timer differs from that by the wall times of the points."""

from __future__ import annotations

from math import nan

from tuimon.analysis.printed_units import seconds_of
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.analysis.statistics import median
from tuimon.panels._metrics import by_concept, curve_or_none
from tuimon.store import Run

_USUAL_STEPS, _SAME_PACE = 100, 1.15
"""Newest steps whose median is compared with the pace in the header, and the ratio up to which they agree."""


def differing_timer(run: Run) -> float:
    """Return the usual seconds of a step by its timer if the pace in the header, which is by the wall times of the
    points, is another; else NaN."""
    cadence = progress_inputs(run).cadence
    if cadence is None:
        return nan
    for metric in by_concept(run.metrics).get("time.step", ())[:1]:
        curve = curve_or_none(run, metric)
        usual = median(curve.values[-_USUAL_STEPS:]) if curve is not None and curve.finite_count == len(curve) else 0.0
        usual *= seconds_of(run, metric)
        if usual > 0 and not 1 / _SAME_PACE <= cadence.mean_seconds / usual <= _SAME_PACE:
            return usual
    return nan
