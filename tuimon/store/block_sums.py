"""Means over blocks of a column, from which moving averages of long curves are computed.

Blocks begin at multiples of their size, a power of two, so that they stay the same while a column grows or a window
moves over it. Sums over 16, 256, 4096 … values are kept, so the cost depends on the number of blocks and not on the
length of the column. Memory: about 1.1 bytes a value, only for columns whose means are requested.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tuimon.model.points import Floats, Indices

FACTOR = 16


class BlockMeans(NamedTuple):
    """Means of consecutive blocks of points; arrays of one length, in the order of the column."""

    x: Floats
    """Position of each block's middle point along the axis."""
    values: Floats
    """Mean of each block's finite values; NaN if it has no finite value."""
    block: int
    """Values per block; 1 if nothing is reduced."""


class _Level:
    __slots__ = ("count", "sums")

    def __init__(self) -> None:
        self.sums: Floats = np.empty((2, 0))
        """(2, capacity): sums of the finite values, and their counts."""
        self.count = 0

    def extend(self, sums: Floats) -> None:
        """Append blocks, each the sum of 16 of the (2, 16 x blocks) sums."""
        blocks = sums.shape[1] // FACTOR
        end = self.count + blocks
        if end > self.sums.shape[1]:
            grown = np.empty((2, max(end, self.count + self.count // 2, FACTOR)))
            grown[:, : self.count] = self.sums[:, : self.count]
            self.sums = grown
        with np.errstate(over="ignore", invalid="ignore"):
            sums.reshape(2, blocks, FACTOR).sum(axis=2, out=self.sums[:, self.count : end])
        self.count = end


class BlockSums:
    """Sums over blocks of 16, 256, 4096 … values of an append-only column. Not thread-safe."""

    __slots__ = ("_levels",)
    _PIECE = FACTOR << 14

    def __init__(self) -> None:
        self._levels: list[_Level] = []

    def extend(self, values: Floats) -> None:
        """Add the values appended since the last call; amortised O(1) a value."""
        if len(values) >= FACTOR and not self._levels:
            self._levels.append(_Level())
        done, whole = self._levels[0].count * FACTOR if self._levels else 0, len(values) // FACTOR * FACTOR
        for start in range(done, whole, self._PIECE):  # pieces avoid a copy of a long column
            self._levels[0].extend(_counted(values[start : min(start + self._PIECE, whole)]))
        depth = 0
        while depth < len(self._levels) and self._levels[depth].count >= FACTOR:
            if depth + 1 == len(self._levels):
                self._levels.append(_Level())
            below, level = self._levels[depth], self._levels[depth + 1]
            level.extend(below.sums[:, level.count * FACTOR : below.count // FACTOR * FACTOR])
            depth += 1

    def means(self, values: Floats, begin: int, end: int, most: int, before: int) -> tuple[Indices, Floats, int]:
        """Return (middle row of each block, mean of each block, values per block) of values[begin:end].

        `values` is the column given to `extend`. There are at most `most` + 2 blocks, which include a neighbour on both
        sides so that a line can leave the chart, and up to `before` blocks in front of them.
        """
        size = 1
        while size * most < end - begin:
            size *= 2
        first = max(begin // size - 1 - before, 0) * size
        stop = min((end // size + 1) * size, len(values))
        whole = (stop - first) // size
        depth, unit = 0, 1
        while unit * FACTOR <= size and depth < len(self._levels):
            depth, unit = depth + 1, unit * FACTOR
        inside = slice(first // unit, (first + whole * size) // unit)
        sums = self._levels[depth - 1].sums[:, inside] if depth else _counted(values[inside])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            sums = sums.reshape(2, whole, size // unit).sum(axis=2)
            if first + whole * size < stop:
                tail = _counted(values[first + whole * size : stop]).sum(axis=1, keepdims=True)
                sums = np.concatenate((sums, tail), axis=1)
            mean = np.where(sums[1] > 0, sums[0] / sums[1], np.nan)
        rows = np.minimum(first + np.arange(len(mean)) * size + size // 2, len(values) - 1)
        return rows, mean, size


def _counted(values: Floats) -> Floats:
    """Return (2, n): the values with non-finite ones as 0, and 1 for each finite value, else 0."""
    finite = np.isfinite(values)
    return np.stack([np.where(finite, values, 0.0), finite])
