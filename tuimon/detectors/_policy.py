"""Curves that describe a policy, without metrics of the same name that mean something else."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

from tuimon.analysis.concepts import curves
from tuimon.detectors._curves import median_of_rows
from tuimon.model.alerts import Change
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify

_SCATTER = 0.05
"""Part of the highest entropy by which an estimate may be negative."""
EXPLAINS = 0.75
"""Change of the length of the responses, relative to that of the time of a step, that explains the latter."""
SLOW_HINT = "look for a device that is hot or shared, a slow node or data loader, or a few very long responses"
"""Hint about slow steps that the length of the responses does not explain."""


def discrete_entropies(run: Run) -> Iterator[Curve]:
    """Yield the entropies of discrete actions; those of continuous actions may be negative.

    Estimates of an entropy that is lost scatter around 0, so that slightly negative values say nothing.
    """
    for curve in curves(run, "entropy"):
        lowest, highest = curve.min, curve.max
        if lowest is None or highest is None or classify(curve.metric).sign_auto:
            continue
        if lowest.value >= min(0.0, -_SCATTER * highest.value):
            yield curve


def response_lengths(run: Run) -> Iterator[Curve]:
    """Yield the lengths of responses, but no lengths of episodes in an environment, which a good policy may extend."""
    for curve in curves(run, "length.response"):
        if classify(curve.metric).unit != "steps":
            yield curve


def response_growth(run: Run, curve: Curve, start: tuple[int, int], now: tuple[int, int]) -> float:
    """Return the response length in the rows `now` of a curve relative to that in the rows `start`; NaN if unknown."""
    for change in response_change(run, curve, start, now):
        if change.value is not None and change.usual is not None and change.usual > 0:
            return change.value / change.usual
    return nan


def response_change(run: Run, curve: Curve, start: tuple[int, int], now: tuple[int, int]) -> tuple[Change, ...]:
    """Return the change of the response length from the rows `start` of a curve to its rows `now`; () if unknown."""
    lengths = next(response_lengths(run), None)
    if lengths is None:
        return ()
    before, after = levels_beside(lengths, curve, start, now)
    return (Change(lengths.metric, "risen" if after > before else "fallen", after, before),)


def levels_beside(other: Curve, curve: Curve, start: tuple[int, int], now: tuple[int, int]) -> tuple[float, float]:
    """Return the medians of another metric in as many points from the first of the rows `start` of a curve on, and at
    the steps of the rows `now` (first, last)."""
    begin = int(other.steps.searchsorted(curve.steps[start[0]]))
    first = int(other.steps.searchsorted(curve.steps[now[0]]))
    end = int(other.steps.searchsorted(curve.steps[now[1]], "right"))
    before = median_of_rows(other, begin, begin + start[1] - start[0])
    return before, median_of_rows(other, min(first, end - 1), end - 1)
