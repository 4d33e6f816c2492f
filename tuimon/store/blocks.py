"""Aggregates over blocks of 16, 256, 4096 … values of an append-only column: two numbers for each whole block.

Only whole blocks are stored, so a block never changes once written. Memory: about 1.1 bytes a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tuimon.model.points import Floats

FACTOR = 16
_PIECE = FACTOR << 14
"""Values at a time, so that no copy of a long column is made."""


class BlockLevel:
    """The blocks of one size."""

    __slots__ = ("arrays", "count")

    def __init__(self) -> None:
        self.arrays: list[Floats] = [np.empty(0), np.empty(0)]
        """The two numbers of each block; capacity for more than `count`."""
        self.count = 0

    def extend(self, numbers: Sequence[Floats], ufuncs: Sequence[np.ufunc]) -> None:
        """Append blocks, each of FACTOR of the next numbers."""
        end = self.count + len(numbers[0]) // FACTOR
        for place, (new, ufunc) in enumerate(zip(numbers, ufuncs, strict=True)):
            if end > len(array := self.arrays[place]):
                grown = np.empty(max(end, self.count + self.count // 2, FACTOR))
                grown[: self.count] = array[: self.count]
                self.arrays[place] = array = grown
            with np.errstate(over="ignore", invalid="ignore"):
                ufunc.reduce(new.reshape(-1, FACTOR), axis=1, out=array[self.count : end])
        self.count = end


class Blocks:
    """Base class: the levels of an append-only column. Not thread-safe."""

    __slots__ = ("_first", "_levels", "_ufuncs")

    def __init__(self, first: Callable[[Floats], Sequence[Floats]], ufuncs: Sequence[np.ufunc]) -> None:
        """first: returns the two numbers of each value. ufuncs: how each of them is reduced."""
        self._first, self._ufuncs = first, ufuncs
        self._levels: list[BlockLevel] = []

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return sum(array.nbytes for level in self._levels for array in level.arrays)

    def extend(self, values: Floats) -> None:
        """Add the values appended since the last call; amortised O(1) a value."""
        available, depth = len(values), 0
        while available >= FACTOR:
            if depth == len(self._levels):
                self._levels.append(BlockLevel())
            level, whole = self._levels[depth], available // FACTOR * FACTOR
            for start in range(level.count * FACTOR, whole, _PIECE):
                part = slice(start, min(start + _PIECE, whole))
                below = self._first(values[part]) if not depth else [a[part] for a in self._levels[depth - 1].arrays]
                level.extend(below, self._ufuncs)
            available, depth = level.count, depth + 1
