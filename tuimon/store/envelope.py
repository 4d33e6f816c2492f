"""A curve reduced to the columns of a chart; see model.views.Envelope for what the result means."""

from __future__ import annotations

import numpy as np

from tuimon.model.points import Floats, Steps
from tuimon.model.views import Envelope
from tuimon.store.pyramid import Pyramid
from tuimon.store.tally import Indices, Tally

_LARGEST = 2.0**63 - 1024
"""The largest float64 that an int64 can hold."""


def borders(low: float, high: float, columns: int) -> Floats:
    """float64 (columns + 1,): where the columns begin, then `high`.

    ValueError unless low < high are finite and columns >= 1.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high and columns >= 1):
        raise ValueError(f"no columns between {low} and {high} ({columns})")
    width = high / columns - low / columns  # not (high - low) / columns: that may overflow
    found: Floats = low + np.arange(columns + 1, dtype=np.float64) * width
    found[-1] = high
    return found


def step_edges(steps: Steps, at: Floats) -> Indices:
    """For ascending steps: where each column begins, and the end of the last, which takes in its right border.

    Whole numbers are compared as such: a float64 copy of the steps would cost as much as the points are many, and
    round steps above 2**53.
    """
    inside = np.clip(at, -(2.0**63), _LARGEST)
    edges = np.searchsorted(steps, np.ceil(inside).astype(np.int64), "left")
    edges[-1] = np.searchsorted(steps, int(np.floor(inside[-1])), "right")
    edges[at > _LARGEST] = len(steps)
    return edges


def time_edges(times: Floats, at: Floats) -> Indices:
    """The same for ascending float64."""
    edges = np.searchsorted(times, at, "left")
    edges[-1] = np.searchsorted(times, at[-1], "right")
    return edges


def ordinal_edges(count: int, at: Floats) -> Indices:
    """The same for points at 0, 1, 2 … count - 1."""
    edges = np.clip(np.ceil(at), 0, count).astype(np.int64)
    edges[-1] = min(max(int(np.floor(min(at[-1], float(count)))) + 1, 0), count)
    return edges


def of_points(x: Floats, values: Floats, low: float, high: float, columns: int) -> Envelope:
    """Points at ascending x between two x values, as `columns` columns. O(points): for a few thousand of them."""
    edges = time_edges(x, borders(low, high, columns))
    return reduce(values, edges, np.empty(0, np.int64), Tally().extended(values), None)


def reduce(values: Floats, edges: Indices, restarts: Indices, tally: Tally, pyramid: Pyramid | None) -> Envelope:
    """`values` between the given edges (columns + 1 indices, ascending), `tally` counted over all of them.

    With a pyramid over the values the cost depends on the columns alone, without one on the points between the edges.
    """
    starts, ends = edges[:-1], edges[1:]
    first_at, last_at = tally.finite_from(starts), tally.finite_until(ends - 1)
    filled = np.flatnonzero((ends > starts) & (first_at < ends))
    low, high, first, last = (np.full(len(starts), np.nan) for _ in range(4))
    gap = np.zeros(len(starts))
    if len(filled):
        find = _direct if pyramid is None else pyramid.extremes
        low[filled], high[filled] = find(values, first_at[filled], last_at[filled] + 1)
        first[filled], last[filled] = values[first_at[filled]], values[last_at[filled]]
        here = last_at[filled]
        following = np.append(first_at[filled[1:]], edges[-1])
        bad = np.searchsorted(tally.bad_starts, following, "left") - np.searchsorted(tally.bad_starts, here, "right")
        cut = np.searchsorted(restarts, following, "right") - np.searchsorted(restarts, here, "right")
        gap[filled] = (bad > 0) | (cut > 0)
    return Envelope(low, high, first, last, gap)


def _direct(values: Floats, starts: Indices, ends: Indices) -> tuple[Floats, Floats]:
    """Extremes of finite values of ranges that hold at least one, ascending, none overlapping."""
    offset, stop = int(starts[0]), int(ends[-1])
    inside = values[offset:stop]
    finite = np.isfinite(inside)
    low, high = inside, inside
    if not finite.all():
        low, high = np.where(finite, inside, np.inf), np.where(finite, inside, -np.inf)
    return np.minimum.reduceat(low, starts - offset), np.maximum.reduceat(high, starts - offset)
