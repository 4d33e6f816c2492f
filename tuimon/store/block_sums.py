"""Means over blocks of a column, from which moving averages of long curves are computed.

Blocks begin at multiples of their size, a power of two, so that they stay the same while a column grows or a window
moves over it. Sums over 16, 256, 4096 … values are kept, so the cost depends on the number of blocks and not on the
length of the column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tuimon.model.points import Floats, Indices
from tuimon.store.blocks import FACTOR, Blocks


class BlockMeans(NamedTuple):
    """Means of consecutive blocks of points; arrays of one length, in the order of the column."""

    x: Floats
    """Position of each block's middle point along the axis."""
    values: Floats
    """Mean of each block's finite values; NaN if it has no finite value."""
    block: int
    """Values per block; 1 if nothing is reduced."""


class BlockSums(Blocks):
    """Sums of the finite values, and their counts, over blocks of an append-only column."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_counted, (np.add, np.add))

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
        sums = np.stack([a[inside] for a in self._levels[depth - 1].arrays] if depth else _counted(values[inside]))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            sums = sums.reshape(2, whole, size // unit).sum(axis=2)
            if first + whole * size < stop:
                tail = np.stack(_counted(values[first + whole * size : stop])).sum(axis=1, keepdims=True)
                sums = np.concatenate((sums, tail), axis=1)
            mean = np.where(sums[1] > 0, sums[0] / sums[1], np.nan)
        rows = np.minimum(first + np.arange(len(mean)) * size + size // 2, len(values) - 1)
        return rows, mean, size


def _counted(values: Floats) -> tuple[Floats, Floats]:
    """Return the values with non-finite ones as 0, and 1 for each finite value, else 0."""
    finite = np.isfinite(values)
    return np.where(finite, values, 0.0), finite.astype(np.float64)
