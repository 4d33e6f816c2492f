"""Minima and maxima of blocks of 16, of 256, of 4096 … values: the extremes of any range at a cost that does not grow
with the range.

Only whole blocks are kept, so a block never changes once written, and a range is covered exactly: by blocks in its
middle, by smaller ones towards its ends and by single values at its very ends. A block without a finite value is
+inf in the minima and -inf in the maxima, the neutral elements of the two. About 1.1 bytes a point.
"""

from __future__ import annotations

import numpy as np

from tuimon.model.points import Floats
from tuimon.store.tally import Indices

FACTOR = 16
_ENOUGH = 32
"""A level is read whole once at most this many of its blocks fall into a range, on average."""


class _Level:
    __slots__ = ("count", "high", "low")

    def __init__(self) -> None:
        self.low: Floats = np.empty(0)
        self.high: Floats = np.empty(0)
        self.count = 0

    def extend(self, low: Floats, high: Floats) -> None:
        """More blocks; each row of the (n, 16) arrays becomes one."""
        end = self.count + len(low)
        if end > len(self.low):
            capacity = max(end, self.count + self.count // 2, FACTOR)
            self.low, self.high = _resized(self.low, capacity), _resized(self.high, capacity)
        low.min(axis=1, out=self.low[self.count : end])
        high.max(axis=1, out=self.high[self.count : end])
        self.count = end


def _resized(array: Floats, capacity: int) -> Floats:
    new = np.empty(capacity)
    new[: len(array)] = array
    return new


class Pyramid:
    """Over a column that only grows. `extend` and `extremes` are called by one thread at a time."""

    __slots__ = ("_levels",)

    def __init__(self) -> None:
        self._levels: list[_Level] = []

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(level.low.nbytes + level.high.nbytes for level in self._levels)

    def extend(self, values: Floats) -> None:
        """Take in what has been appended to `values` since the last call; amortised O(1) a value."""
        low = high = values
        available, depth = len(values), 0
        while available >= FACTOR:
            if depth == len(self._levels):
                self._levels.append(_Level())
            level = self._levels[depth]
            done, whole = level.count * FACTOR, available // FACTOR * FACTOR
            if whole > done:
                new_low, new_high = low[done:whole], high[done:whole]
                if depth == 0:
                    new_low, new_high = _neutral(new_low)
                level.extend(new_low.reshape(-1, FACTOR), new_high.reshape(-1, FACTOR))
            low, high, available, depth = level.low, level.high, level.count, depth + 1

    def extremes(self, values: Floats, starts: Indices, ends: Indices) -> tuple[Floats, Floats]:
        """Smallest and largest finite value of each range values[starts[i]:ends[i]]; +inf and -inf where there is none.

        `values` as given to `extend`, ranges inside it, in any order, may be empty. O(ranges x log(values)).
        """
        lowest, highest = np.full(len(starts), np.inf), np.full(len(starts), -np.inf)
        begin, end = starts, ends
        low = high = values
        for depth in range(len(self._levels) + 1):
            last = depth == len(self._levels) or int((end - begin).sum()) <= _ENOUGH * len(starts)
            # A range is a head up to the first block border, whole blocks, and a tail behind the last border.
            inner_begin, inner_end = -(-begin // FACTOR), end // FACTOR
            head_end = end if last else np.minimum(end, inner_begin * FACTOR)
            tail_begin = np.maximum(head_end, inner_end * FACTOR)
            columns, offsets, rows = _rows(begin, head_end, tail_begin, end)
            if len(columns):
                found_low, found_high = low[rows], high[rows]
                if depth == 0:
                    found_low, found_high = _neutral(found_low)
                lowest[columns] = np.minimum(lowest[columns], np.minimum.reduceat(found_low, offsets))
                highest[columns] = np.maximum(highest[columns], np.maximum.reduceat(found_high, offsets))
            if last:
                break
            begin, end = inner_begin, np.maximum(inner_begin, inner_end)
            low, high = self._levels[depth].low, self._levels[depth].high
        return lowest, highest


def _rows(begin: Indices, head_end: Indices, tail_begin: Indices, end: Indices) -> tuple[Indices, Indices, Indices]:
    """Heads and tails laid one behind the other: (ranges that have any, where each begins, the row numbers)."""
    lengths = np.empty((len(begin), 2), np.int64)
    np.subtract(head_end, begin, out=lengths[:, 0])
    np.subtract(end, tail_begin, out=lengths[:, 1])
    np.maximum(lengths, 0, out=lengths)
    firsts = np.empty_like(lengths)
    firsts[:, 0], firsts[:, 1] = begin, tail_begin
    flat = lengths.ravel()
    behind = np.cumsum(flat)
    rows = np.repeat(firsts.ravel() - (behind - flat), flat)
    rows += np.arange(len(rows))
    per_range = lengths.sum(axis=1)
    columns = np.flatnonzero(per_range)
    return columns, (np.cumsum(per_range) - per_range)[columns], rows


def _neutral(values: Floats) -> tuple[Floats, Floats]:
    """Values as (for minima, for maxima), with the non-finite ones neutral."""
    finite = np.isfinite(values)
    if finite.all():
        return values, values
    return np.where(finite, values, np.inf), np.where(finite, values, -np.inf)
