"""Reduction of a curve to the bins of a chart; model.views.Envelope describes the result."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tuimon.model.points import Floats, Indices, Steps
from tuimon.model.views import Envelope
from tuimon.store.aggregates import Tally
from tuimon.store.pyramid import Pyramid

_LARGEST = 2.0**63 - 1024
"""Largest float64 that an int64 can hold."""


def borders(low: float, high: float, bins: int) -> Floats:
    """Return float64 (bins + 1,): the lower border of each bin, then `high`.

    Raises ValueError unless low < high are finite and bins >= 1.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high and bins >= 1):
        raise ValueError(f"cannot make {bins} bins between {low} and {high}")
    width = high / bins - low / bins  # (high - low) / bins could overflow
    positions: Floats = low + np.arange(bins + 1, dtype=np.float64) * width
    np.minimum(positions, high, out=positions)  # a bin may be narrower than the distance between floats
    positions[-1] = high
    return positions


def wide_enough(low: float, high: float) -> tuple[float, float]:
    """Return limits of an axis with low < high for finite low <= high. Near 2**63 the float after a step is 1024 or
    more steps further."""
    return (low, high) if low < high else (low, max(low + 1.0, math.nextafter(low, math.inf)))


@lru_cache(maxsize=64)
def _step_borders(low: float, high: float, bins: int, zero: int) -> tuple[Steps, int, int]:
    """Return (first step of each bin, read-only; last step of all; number of borders that a step can reach).

    Borders are compared as integers: float64 copies of the steps would cost time for each point, and would round steps
    above 2**53. Cached because the charts of a run share their limits, which saves 9 us a curve.
    """
    positions = borders(low, high, bins) + zero
    inside = np.clip(positions, -(2.0**63), _LARGEST)
    whole = np.ceil(inside).astype(np.int64)
    whole.flags.writeable = False
    return whole, int(np.floor(inside[-1])), int(np.searchsorted(positions, _LARGEST, "right"))


def step_edges(steps: Steps, low: float, high: float, bins: int, zero: int = 0) -> Indices:
    """Return int64 (bins + 1,): the first row of each bin, and the end of the last one.

    Steps must ascend; low and high are relative to the step `zero`. The last bin includes its upper border.
    """
    whole, last, reached = _step_borders(low, high, bins, zero)
    edges: Indices = steps.searchsorted(whole)
    edges[-1] = steps.searchsorted(last, "right")
    edges[reached:] = len(steps)
    return edges


def time_edges(times: Floats, positions: Floats) -> Indices:
    """Return the first row of each bin and the end of the last one, for ascending times and bin borders."""
    edges = np.searchsorted(times, positions, "left")
    edges[-1] = np.searchsorted(times, positions[-1], "right")
    return edges


def ordinal_edges(count: int, positions: Floats) -> Indices:
    """Return the first row of each bin and the end of the last one, for points at x = 0, 1, 2 … count - 1."""
    edges = np.clip(np.ceil(positions), 0, count).astype(np.int64)
    edges[-1] = min(max(int(np.floor(min(positions[-1], float(count)))) + 1, 0), count)
    return edges


def envelope_of_points(x: Floats, values: Floats, low: float, high: float, bins: int) -> Envelope:
    """Reduce points at ascending x between low and high to `bins` bins. O(points), so meant for a few thousand."""
    edges = time_edges(x, borders(low, high, bins))
    return reduce(values, edges, np.empty(0, np.int64), Tally().extended(values), None)


def reduce(
    values: Floats,
    edges: Indices,
    restarts: Indices,
    tally: Tally,
    pyramid: Pyramid | None,
) -> Envelope:
    """Reduce `values` to the bins between `edges` (bins + 1 ascending row numbers).

    tally: the tally of all values. pyramid: the pyramid of the values, with which the cost depends on the bins alone
    instead of the points between the edges.
    """
    starts, ends = edges[:-1], edges[1:]
    all_finite = not len(tally.bad_starts)
    if all_finite:
        first_rows, last_rows = starts, ends - 1
        filled = np.flatnonzero(last_rows >= starts)
    else:
        first_rows, last_rows = tally.finite_from(starts), tally.finite_until(ends - 1)
        filled = np.flatnonzero((ends > starts) & (first_rows < ends))
    result = np.full((4, len(starts)), np.nan)
    gap = np.zeros(len(starts))
    if len(filled):
        begin, end = first_rows[filled], last_rows[filled]
        if pyramid is not None:
            result[:2, filled] = pyramid.extremes(values, begin, end + 1)
        else:
            result[:2, filled] = _direct(values, begin, end + 1, all_finite)
        result[2, filled], result[3, filled] = values[begin], values[end]
    if len(filled) and (not all_finite or len(restarts)):
        last, following = last_rows[filled], np.append(first_rows[filled[1:]], edges[-1])
        bad = tally.bad_starts.searchsorted(following) - tally.bad_starts.searchsorted(last, "right")
        cut = restarts.searchsorted(following, "right") - restarts.searchsorted(last, "right")
        gap[filled] = (bad > 0) | (cut > 0)
    return Envelope(result[0], result[1], result[2], result[3], gap)


def _direct(values: Floats, starts: Indices, ends: Indices, all_finite: bool) -> tuple[Floats, Floats]:
    """Return the finite extremes of ascending, disjoint ranges, each with at least one finite value."""
    offset, stop = int(starts[0]), int(ends[-1])
    low = high = values[offset:stop]
    if not all_finite:
        finite = np.isfinite(low)
        low, high = np.where(finite, low, np.inf), np.where(finite, high, -np.inf)
    starts = starts - offset
    return np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
