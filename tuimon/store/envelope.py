"""A curve reduced to the columns of a chart; see model.views.Envelope for what the result means."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tuimon.model.points import Floats, Steps
from tuimon.model.views import Envelope
from tuimon.store.pyramid import Pyramid
from tuimon.store.tally import Indices, Tally

_MANY = 1 << 16
"""Steps of which a search is dear: the processor's cache does not hold them."""
_LARGEST = 2.0**63 - 1024
"""The largest float64 that an int64 can hold."""


@lru_cache(maxsize=64)
def borders(low: float, high: float, columns: int) -> Floats:
    """float64 (columns + 1,), read-only: where the columns begin, then `high`. Kept: charts of a run have the same.

    ValueError unless low < high are finite and columns >= 1.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high and columns >= 1):
        raise ValueError(f"no columns between {low} and {high} ({columns})")
    width = high / columns - low / columns  # not (high - low) / columns: that may overflow
    found: Floats = low + np.arange(columns + 1, dtype=np.float64) * width
    np.minimum(found, high, out=found)  # where a column is narrower than floats lie apart
    found[-1] = high
    found.flags.writeable = False
    return found


@lru_cache(maxsize=64)
def _whole_borders(low: float, high: float, columns: int, zero: int) -> tuple[Steps, int, int]:
    """(the first step of each column, read-only; the last step of all; how many borders a step can reach).

    Whole numbers are compared as such: a float64 copy of the steps would cost as much as the points are many, and
    round steps above 2**53.
    """
    at = borders(low, high, columns) + zero
    inside = np.clip(at, -(2.0**63), _LARGEST)
    whole = np.ceil(inside).astype(np.int64)
    whole.flags.writeable = False
    return whole, int(np.floor(inside[-1])), int(np.searchsorted(at, _LARGEST, "right"))


def step_edges(steps: Steps, low: float, high: float, columns: int, zero: int = 0) -> Indices:
    """For ascending steps, and columns between two of them counted from `zero`: where each column begins, and the end
    of the last, which takes in its right border."""
    whole, last, reached = _whole_borders(low, high, columns, zero)
    even = _even(steps, whole) if len(steps) > _MANY else None
    edges: Indices = steps.searchsorted(whole) if even is None else even
    edges[-1] = steps.searchsorted(last, "right")
    edges[reached:] = len(steps)
    return edges


def _even(steps: Steps, whole: Steps) -> Indices | None:
    """steps.searchsorted(whole) where the steps are evenly spaced, as most are: a guess for each and two looks at the
    steps that prove it, where a search looks at 24 places of a long column. None where they are not."""
    first, apart = int(steps[0]), int(steps[1]) - int(steps[0])
    if apart <= 0 or int(steps[-1]) - first != apart * (len(steps) - 1):
        return None
    guess = np.clip(-((first - whole) // apart), 0, len(steps))
    below = (guess == 0) | (steps[guess - 1] < whole)
    above = (guess == len(steps)) | (steps[np.minimum(guess, len(steps) - 1)] >= whole)
    return guess if bool((below & above).all()) else None


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


Reduced = tuple[Indices, Envelope]
"""Edges, and what lay between them."""


def reduce(
    values: Floats,
    edges: Indices,
    restarts: Indices,
    tally: Tally,
    pyramid: Pyramid | None,
    before: Reduced | None = None,
) -> Envelope:
    """`values` between the given edges (columns + 1 indices, ascending), `tally` counted over all of them.

    With a pyramid over the values the cost depends on the columns alone, without one on the points between the edges.
    before: of the same values, as far as they were there. Columns with the same edges are taken over: all but the last
    ones of a growing run, and all but those that come into a window that is moved.
    """
    starts, ends = edges[:-1], edges[1:]
    all_finite = not len(tally.bad_starts)
    if all_finite:
        first_at, last_at = starts, ends - 1
        filled = np.flatnonzero(last_at >= starts)
    else:
        first_at, last_at = tally.finite_from(starts), tally.finite_until(ends - 1)
        filled = np.flatnonzero((ends > starts) & (first_at < ends))
    found = np.full((4, len(starts)), np.nan)
    gap = np.zeros(len(starts))
    fresh = filled
    if before is not None:
        taken, place = same_columns(before[0], edges)
        known = before[1]
        for row, column in zip(found, (known.low, known.high, known.first, known.last), strict=True):
            row[taken] = column[place]
        missing = np.ones(len(starts), np.bool_)
        missing[taken] = False
        fresh = filled[missing[filled]]
    if len(fresh):
        begin, end = first_at[fresh], last_at[fresh]
        if pyramid is not None:
            found[:2, fresh] = pyramid.extremes(values, begin, end + 1)
        else:
            found[:2, fresh] = _direct(values, begin, end + 1, all_finite)
        found[2, fresh], found[3, fresh] = values[begin], values[end]
    if len(filled) and (not all_finite or len(restarts)):
        here, following = last_at[filled], np.append(first_at[filled[1:]], edges[-1])
        bad = tally.bad_starts.searchsorted(following) - tally.bad_starts.searchsorted(here, "right")
        cut = restarts.searchsorted(following, "right") - restarts.searchsorted(here, "right")
        gap[filled] = (bad > 0) | (cut > 0)
    return Envelope(found[0], found[1], found[2], found[3], gap)


def same_columns(before: Indices, edges: Indices) -> tuple[Indices, Indices]:
    """(columns that hold rows, and the same as one before, which each of them is)."""
    if len(before) < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    place = np.maximum(before[:-1].searchsorted(edges[:-1], "right") - 1, 0)
    same = (before[place] == edges[:-1]) & (before[place + 1] == edges[1:]) & (edges[1:] > edges[:-1])
    taken = np.flatnonzero(same)
    return taken, place[taken]


def _direct(values: Floats, starts: Indices, ends: Indices, all_finite: bool) -> tuple[Floats, Floats]:
    """Extremes of finite values of ranges that hold at least one, ascending, none overlapping."""
    offset, stop = int(starts[0]), int(ends[-1])
    low = high = values[offset:stop]
    if not all_finite:
        finite = np.isfinite(low)
        low, high = np.where(finite, low, np.inf), np.where(finite, high, -np.inf)
    starts = starts - offset
    return np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
