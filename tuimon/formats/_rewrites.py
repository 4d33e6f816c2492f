"""Rows of a table that its writer rewrites in place: what is new of them, and whether it is another table.

A CSV file grows a column by being written anew with a longer header, and all its rows with empty cells below it
(Lightning, Stable-Baselines3). Its rows are then the same as before, and only what follows them is new. A row is known
by the hash of its points, 8 bytes, in which neither the order of the columns nor empty cells count.
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
    """The rows that have been told, and where in them the file is being read now."""

    def __init__(self) -> None:
        self._known = np.zeros(0, np.uint64)
        self._size = 0
        self._at = 0
        self._apart: list[Hashes] | None = None
        """Rows from the first on that was not as known; None as long as all were."""

    @property
    def apart(self) -> bool:
        """Does the file hold other rows than those that were told?"""
        return self._apart is not None

    @property
    def behind(self) -> bool:
        """Are all rows read so far such as were told before?"""
        return self._apart is None and self._at < self._size

    def restart(self) -> None:
        """The file is read from its beginning again; rows that were not `accept`ed were never told."""
        self._at, self._apart = 0, None

    def accept(self) -> None:
        """The rows that are apart take the place of those that were told."""
        if self._apart is not None:
            rows, self._apart = self._apart, None
            self._size = self._at
            for hashes in rows:
                self._append(hashes)

    def repeated(self, hashes: Hashes) -> int:
        """How many of the next rows, from the first on, are as they were told; the others are new or apart."""
        if self._apart is not None:
            self._apart.append(hashes)
            return 0
        compared = min(self._size - self._at, len(hashes))
        equal = self._known[self._at : self._at + compared] == hashes[:compared]
        same = compared if equal.all() else int(np.argmin(equal))
        self._at += same
        if same < compared:
            self._apart = [hashes[same:]]
        elif same < len(hashes):
            self._append(hashes[same:])
        return same

    def _append(self, hashes: Hashes) -> None:
        needed = self._size + len(hashes)
        if needed > len(self._known):
            self._known = np.concatenate((self._known[: self._size], np.zeros(max(64, needed), np.uint64)))
        self._known[self._size : needed] = hashes
        self._size = self._at = needed


def row_hashes(points: Points, starts: npt.NDArray[np.intp]) -> Hashes:
    """uint64 (rows,). starts: index of the first point of each row."""
    metric = np.add(points.metric, 1, dtype=np.uint64)  # from 1, else a 0.0 of the first one would not count
    bits: Hashes = points.values.view(np.uint64) ^ (metric * _ODD[0])
    bits = (bits ^ (bits >> _HALF)) * _ODD[1]
    bits ^= bits >> _HALF
    rows: Hashes = np.add.reduceat(bits, starts)
    return rows + points.steps[starts].view(np.uint64) * _ODD[2]
