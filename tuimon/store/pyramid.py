"""Minima and maxima over blocks of 16, 256, 4096 … values, for the extremes of any range at nearly constant cost.

A range is covered exactly: by large blocks in its middle, smaller ones towards its ends and single values at its ends.
A block without a finite value holds +inf as its minimum and -inf as its maximum, the neutral elements.
"""

from __future__ import annotations

import numpy as np

from tuimon.model.points import Floats, Indices
from tuimon.store.blocks import FACTOR, Blocks

_ENOUGH = 32
"""A range is read from a level directly if it covers at most this many of the level's blocks, on average."""


class Pyramid(Blocks):
    """Block extremes of an append-only column."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_neutral, (np.minimum, np.maximum))

    def extremes(self, values: Floats, starts: Indices, ends: Indices) -> tuple[Floats, Floats]:
        """Return the smallest and largest finite value of each range values[starts[i]:ends[i]].

        Both are float64 (ranges,); a range without a finite value gives +inf and -inf. `values` is the column given to
        `extend`; ranges may be empty and in any order. O(ranges x log(values)).
        """
        lowest, highest = np.full(len(starts), np.inf), np.full(len(starts), -np.inf)
        begin, end = starts, ends
        low = high = values
        for depth in range(len(self._levels) + 1):
            last = depth == len(self._levels) or int((end - begin).sum()) <= _ENOUGH * len(starts)
            # A range is a head up to the first block border, whole blocks, and a tail after the last border.
            inner_begin, inner_end = -(-begin // FACTOR), end // FACTOR
            head_end = end if last else np.minimum(end, inner_begin * FACTOR)
            tail_begin = np.maximum(head_end, inner_end * FACTOR)
            ranges, offsets, rows = _rows(begin, head_end, tail_begin, end)
            if len(ranges):
                row_low, row_high = low[rows], high[rows]
                if depth == 0:
                    row_low, row_high = _neutral(row_low)
                lowest[ranges] = np.minimum(lowest[ranges], np.minimum.reduceat(row_low, offsets))
                highest[ranges] = np.maximum(highest[ranges], np.maximum.reduceat(row_high, offsets))
            if last:
                break
            begin, end = inner_begin, np.maximum(inner_begin, inner_end)
            low, high = self._levels[depth].arrays
        return lowest, highest


def _rows(begin: Indices, head_end: Indices, tail_begin: Indices, end: Indices) -> tuple[Indices, Indices, Indices]:
    """Return (ranges with a head or tail, offset of each in the row numbers, row numbers of all heads and tails)."""
    lengths = np.empty((len(begin), 2), np.int64)
    np.subtract(head_end, begin, out=lengths[:, 0])
    np.subtract(end, tail_begin, out=lengths[:, 1])
    np.maximum(lengths, 0, out=lengths)
    firsts = np.empty_like(lengths)
    firsts[:, 0], firsts[:, 1] = begin, tail_begin
    flat = lengths.ravel()
    ends = np.cumsum(flat)
    rows = np.repeat(firsts.ravel() - (ends - flat), flat)
    rows += np.arange(len(rows))
    per_range = lengths.sum(axis=1)
    ranges = np.flatnonzero(per_range)
    return ranges, (np.cumsum(per_range) - per_range)[ranges], rows


def _neutral(values: Floats) -> tuple[Floats, Floats]:
    """Return copies for minima and maxima in which non-finite values are replaced by +inf and -inf."""
    finite = np.isfinite(values)
    if finite.all():
        return values, values
    return np.where(finite, values, np.inf), np.where(finite, values, -np.inf)
