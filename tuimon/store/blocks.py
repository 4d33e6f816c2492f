"""A column reduced to the means of blocks of its values: what an average over a long curve is worked out from.

Blocks begin at multiples of their size, which is a power of two, so that they stay what they are while a column grows
or a window moves over it. Sums over 16, 256, 4096 … values are kept, so the cost is that of the blocks, however long
the column is; about 1.1 bytes a value, for columns of which means are wanted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tuimon.model.points import Floats
from tuimon.store.tally import Indices

FACTOR = 16


class Means(NamedTuple):
    """Arrays of one length, in the order of the column."""

    x: Floats
    """Where the middle of each block stands along the axis."""
    values: Floats
    """The mean of its finite values; NaN where it has none."""
    block: int
    """How many values a block has; 1: nothing is reduced."""


class _Level:
    __slots__ = ("count", "sums")

    def __init__(self) -> None:
        self.sums: Floats = np.empty((2, 0))
        """(2, capacity): sums of the finite values, and how many these are."""
        self.count = 0

    def extend(self, sums: Floats) -> None:
        """More whole blocks of (2, 16 × blocks) sums."""
        blocks = sums.shape[1] // FACTOR
        end = self.count + blocks
        if end > self.sums.shape[1]:
            grown = np.empty((2, max(end, self.count + self.count // 2, FACTOR)))
            grown[:, : self.count] = self.sums[:, : self.count]
            self.sums = grown
        with np.errstate(over="ignore", invalid="ignore"):
            sums.reshape(2, blocks, FACTOR).sum(axis=2, out=self.sums[:, self.count : end])
        self.count = end


class Sums:
    """Over a column that only grows. Called by one thread at a time."""

    __slots__ = ("_levels",)
    _PIECE = FACTOR << 14

    def __init__(self) -> None:
        self._levels: list[_Level] = []

    def extend(self, values: Floats) -> None:
        """Take in what has been appended to `values` since the last call; amortised O(1) a value."""
        if len(values) >= FACTOR and not self._levels:
            self._levels.append(_Level())
        done, whole = self._levels[0].count * FACTOR if self._levels else 0, len(values) // FACTOR * FACTOR
        for start in range(done, whole, self._PIECE):  # in pieces: no copy of a long column is made
            self._levels[0].extend(_counted(values[start : min(start + self._PIECE, whole)]))
        depth = 0
        while depth < len(self._levels) and self._levels[depth].count >= FACTOR:
            if depth + 1 == len(self._levels):
                self._levels.append(_Level())
            below, level = self._levels[depth], self._levels[depth + 1]
            level.extend(below.sums[:, level.count * FACTOR : below.count // FACTOR * FACTOR])
            depth += 1

    def means(self, values: Floats, begin: int, end: int, most: int, before: int) -> tuple[Indices, Floats, int]:
        """(row in the middle of each block, its mean, values a block) of values[begin:end], as given to `extend`, in at
        most `most` + 2 blocks, and of up to `before` blocks before them. A neighbour at both sides is taken in, so that
        a line may leave a chart."""
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
        found = self._levels[depth - 1].sums[:, inside] if depth else _counted(values[inside])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            sums = found.reshape(2, whole, size // unit).sum(axis=2)
            if first + whole * size < stop:
                tail = _counted(values[first + whole * size : stop]).sum(axis=1, keepdims=True)
                sums = np.concatenate((sums, tail), axis=1)
            mean = np.where(sums[1] > 0, sums[0] / sums[1], np.nan)
        rows = np.minimum(first + np.arange(len(mean)) * size + size // 2, len(values) - 1)
        return rows, mean, size


def _counted(values: Floats) -> Floats:
    """(2, n): the values, 0 for those that are not finite; 1, and 0 for those."""
    finite = np.isfinite(values)
    return np.stack([np.where(finite, values, 0.0), finite])
