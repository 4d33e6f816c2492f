"""Detection of rows that are new in a table which its writer rewrites in place.

A CSV logger adds a column by rewriting the file with a longer header and empty cells in all earlier rows (Lightning,
Stable-Baselines3). Those rows are the same as before, and only the ones after them are new. A row is identified by an
8-byte hash of its points, which depends neither on the order of the columns nor on empty cells.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.model.points import Points

Hashes: TypeAlias = npt.NDArray[np.uint64]

_ODD = tuple(np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
"""Multipliers of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)."""
_HALF = np.uint64(32)


class RowMemory:
    """Hashes of the rows that were emitted, and the position in them at which the file is being read."""

    def __init__(self) -> None:
        self._known = np.zeros(0, np.uint64)
        self._size = 0
        self._position = 0
        self._different: list[Hashes] | None = None
        """Hashes from the first row on that differs from the known ones; None while all rows were the same."""

    @property
    def differs(self) -> bool:
        """True if the file now holds other rows than those that were emitted."""
        return self._different is not None

    @property
    def rereading(self) -> bool:
        """True if all rows read since the restart were emitted before it, and more such rows may follow."""
        return self._different is None and self._position < self._size

    def restart(self) -> None:
        """Note that the file is read from its beginning again; different rows that were not accepted are forgotten."""
        self._position, self._different = 0, None

    def accept(self) -> None:
        """Replace the known rows by the different ones."""
        if self._different is not None:
            rows, self._different = self._different, None
            self._size = self._position
            for hashes in rows:
                self._append(hashes)

    def count_known(self, hashes: Hashes) -> int:
        """Return how many of the next rows, counted from the first, are the same as emitted before. The others are
        recorded as new, or as different."""
        if self._different is not None:
            self._different.append(hashes)
            return 0
        compared = min(self._size - self._position, len(hashes))
        equal = self._known[self._position : self._position + compared] == hashes[:compared]
        same = compared if equal.all() else int(np.argmin(equal))
        self._position += same
        if same < compared:
            self._different = [hashes[same:]]
        elif same < len(hashes):
            self._append(hashes[same:])
        return same

    def _append(self, hashes: Hashes) -> None:
        needed = self._size + len(hashes)
        if needed > len(self._known):
            self._known = np.concatenate((self._known[: self._size], np.zeros(max(64, needed), np.uint64)))
        self._known[self._size : needed] = hashes
        self._size = self._position = needed


def row_hashes(points: Points, starts: npt.NDArray[np.intp]) -> Hashes:
    """Return the hash of each row, uint64 (rows,). starts: index of the first point of each row."""
    metric = np.add(points.metric, 1, dtype=np.uint64)  # from 1, else a value of 0.0 of metric 0 would not count
    bits: Hashes = points.values.view(np.uint64) ^ (metric * _ODD[0])
    bits = (bits ^ (bits >> _HALF)) * _ODD[1]
    bits ^= bits >> _HALF
    rows: Hashes = np.add.reduceat(bits, starts)
    return rows + points.steps[starts].view(np.uint64) * _ODD[2]
