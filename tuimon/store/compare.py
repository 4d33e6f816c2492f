"""One metric in two sources: which points only the lesser source has, and where the two disagree.

The work is done once for each point: a comparison is kept from snapshot to snapshot and goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from tuimon.model.points import Floats, Steps
from tuimon.store.columns import PointColumns
from tuimon.store.tally import Indices

TEXT = 10
"""Sources of this rank or less are text for people: their values are rounded."""
_FLOAT32 = 1e-6
"""Relative: what a float32 on the way may have changed, a few times over."""
_PRINTED = 5e-3
"""Relative: what is left of a value printed with 3 digits."""
_COARSEST = 2
"""A difference is put down to rounding where both write that many decimals or more; text may round to whole numbers."""
_PRINTED_ZERO = 5.01e-4
"""Less than this is 0.000 on paper."""
_FINEST = 12
_HOLE = 3
"""A distance of more than so many usual ones is a hole."""
_FEWEST = 4
"""Points that tell what a usual distance is."""
_LITTLE = 64
"""Rows that are looked at anew each time: they cost little more than one does."""
_SAMPLE = 256
_FIRST, _LAST = -(2**63), 2**63 - 1


class Disagreement(NamedTuple):
    """Where two sources of one metric say different things."""

    step: int
    """The first one."""
    here: float
    """As drawn."""
    there: float
    source: str
    """The other source."""
    steps: int
    """How many they disagree about."""


def usual_stride(steps: Steps) -> int:
    """The usual distance between ascending steps that follow each other, of a sample where there are many; 0 without
    two that differ."""
    if len(steps) > _SAMPLE:
        rows = np.linspace(0, len(steps) - 2, _SAMPLE).astype(np.int64)
        apart = steps[rows + 1] - steps[rows]
    else:
        apart = np.diff(steps)
    apart = apart[apart > 0]
    return max(int(np.median(apart)), 1) if len(apart) else 0


def decimals(values: Floats) -> int:
    """How many decimals the values are written with, up to 12; 0 where none is finite."""
    if len(values) > _SAMPLE:
        values = values[np.linspace(0, len(values) - 1, _SAMPLE).astype(np.int64)]
    values = np.abs(values[np.isfinite(values)])
    values = values[values < 1e6]
    for count in range(_FINEST):
        scaled = values * 10.0**count
        if (np.abs(scaled - np.rint(scaled)) < 1e-6).all():
            return count
    return _FINEST


class Comparison(Struct, eq=False):
    """The points of another source beside those of the best one. For one thread at a time."""

    best: PointColumns
    other: PointColumns
    text: bool
    """Whether either is text for people."""
    alike: bool = False
    """Whether they are logs of one kind."""
    best_length: int = 0
    """Rows of the two that have been looked at; those of the other that lie ahead of the best one's are not yet."""
    other_length: int = 0
    seen: int = 0
    common: int = 0
    """Steps that both have."""
    differing: int = 0
    """… with different values."""
    between: int = 0
    """Points of the other between neighbours of the best one that are no further apart than usual."""
    first: tuple[int, float, float] | None = None
    """(step, value of the best, value of the other) where they differ first."""
    _hole_rows: list[Indices] = field(default_factory=list)
    _hole_behind: list[Indices] = field(default_factory=list)
    _sure: tuple[int, int, int, int, tuple[int, float, float] | None, int] | None = None
    """`seen`, `common`, `differing`, `between`, `first` and how many holes before the last row was looked at."""

    def is_newer(self, best_length: int, other_length: int) -> bool:
        """Whether it has seen more than an older snapshot knows."""
        return best_length < self.best_length or other_length < self.other_length

    @property
    def is_early(self) -> bool:
        """Has it seen so little that what it took for a usual distance, or for decimals, may be none?"""
        return self.seen < _LITTLE

    def extend(
        self, best_length: int, other_length: int, superseded: Callable[[], tuple[Steps, Floats, Floats]] | None = None
    ) -> None:
        """Look at what has come since. Both have a point at least. superseded: what the best source itself has taken
        back; a value that agrees with that is of an earlier attempt, and no disagreement."""
        self.best_length, self.other_length = best_length, other_length
        if self._sure is not None:
            self.seen, self.common, self.differing, self.between, self.first, holes = self._sure
            del self._hole_rows[holes:], self._hole_behind[holes:]
        ours, theirs = self.best.steps[:best_length], self.other.steps[self.seen : other_length]
        theirs = theirs[: int(np.searchsorted(theirs, ours[-1], "right"))]
        if not len(theirs):
            return
        if len(theirs) > 1:
            self._look(ours, theirs, len(theirs) - 1, superseded)
        # Either may yet log its last step once more: what is said of the last row is said anew the next time.
        self._sure = self.seen, self.common, self.differing, self.between, self.first, len(self._hole_rows)
        self._look(ours, theirs[-1:], 1, superseded)

    def _look(
        self, ours: Steps, theirs: Steps, count: int, superseded: Callable[[], tuple[Steps, Floats, Floats]] | None
    ) -> None:
        """The next `count` rows of the other, which has more behind them perhaps."""
        start, self.seen = self.seen, self.seen + count
        following, theirs = theirs[1 : count + 1], theirs[:count]
        at = _last_until(ours, theirs)
        meet = at >= 0
        meet[meet] = ours[at[meet]] == theirs[meet]
        apart = np.flatnonzero(~meet & (at >= 0))
        if len(apart):
            self._interleave(ours, start + apart, at[apart])
        meet[: len(following)] &= following != theirs[: len(following)]  # of equal steps the last one stands
        rows = np.flatnonzero(meet)
        if not len(rows):
            return
        self.common += len(rows)
        here, there = self.best.values[at[rows]], self.other.values[start + rows]
        wrong = np.flatnonzero(~self._agree(here, there))
        if len(wrong) and superseded is not None:
            wrong = wrong[~self._taken_back(theirs[rows[wrong]], there[wrong], superseded())]
        if len(wrong):
            self.differing += len(wrong)
            if self.first is None:
                first = wrong[0]
                self.first = int(theirs[rows[first]]), float(here[first]), float(there[first])

    def holes(self) -> list[Indices]:
        """Rows of the other source that fill holes of the best one, an array for each; several to a hole at least."""
        if not self._hole_rows:
            return []
        rows, behind = np.concatenate(self._hole_rows), np.concatenate(self._hole_behind)
        pieces = np.split(rows, np.flatnonzero(np.diff(behind)) + 1)
        return [piece for piece in pieces if self.other.steps[piece[0]] != self.other.steps[piece[-1]]]

    def agreement(self, here: Floats, there: Floats) -> float:
        """The part of values, taken in pairs, that agree. Arrays of one length, not empty."""
        return float(self._agree(here, there).mean())

    def _interleave(self, ours: Steps, rows: Indices, behind: Indices) -> None:
        """Points of the other (rows) that stand behind those of the best one, and before the one after."""
        usual = usual_stride(ours) if len(ours) >= _FEWEST else 0
        wide = ours[behind + 1] - ours[behind] > usual * _HOLE if usual else np.zeros(len(rows), np.bool_)
        self.between += len(rows) - int(wide.sum())
        if wide.any():
            self._hole_rows.append(rows[wide])
            self._hole_behind.append(behind[wide])

    def _agree(self, here: Floats, there: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Equal, both NaN, or one but for float32 and for how many digits are written."""
        relative = _PRINTED if self.text else _FLOAT32
        with np.errstate(invalid="ignore", over="ignore"):
            same = (here == there) | (np.isnan(here) & np.isnan(there))
            close = np.abs(here - there) <= relative * np.maximum(np.abs(here), np.abs(there))
            agree = same | (close & np.isfinite(here) & np.isfinite(there))
            if not agree.all():
                written = min(decimals(self.best.values[: self.best_length]), decimals(self.other.values[: self.seen]))
                if (0 if self.text else _COARSEST) <= written < _FINEST:
                    agree |= np.abs(here - there) <= 0.5001 * 10.0**-written
                if self.text:
                    agree |= (here * there == 0) & (np.abs(here + there) < _PRINTED_ZERO)
        return np.asarray(agree)

    def _taken_back(
        self, steps: Steps, values: Floats, superseded: tuple[Steps, Floats, Floats]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which of the points agree with one that the best source has taken back."""
        order = np.argsort(superseded[0], kind="stable")
        old_steps, old_values = superseded[0][order], superseded[1][order]
        left, right = np.searchsorted(old_steps, steps, "left"), np.searchsorted(old_steps, steps, "right")
        found = np.zeros(len(steps), np.bool_)
        for attempt in range(int((right - left).max(initial=0))):
            known = np.flatnonzero(left + attempt < right)
            found[known] |= self._agree(old_values[left[known] + attempt], values[known])
        return found


def _last_until(ours: Steps, theirs: Steps) -> Indices:
    """For each of their steps, the last of ours that is not behind it; -1 where all are. Both ascend."""
    if len(theirs) == 1:
        return ours.searchsorted(theirs, "right") - 1
    begin = int(np.searchsorted(ours, theirs[0], "left"))
    if len(ours) - begin >= len(theirs) and np.array_equal(ours[begin : begin + len(theirs)], theirs):
        end = begin + len(theirs)
        distinct = bool((theirs[1:] > theirs[:-1]).all()) and (end == len(ours) or ours[end] > theirs[-1])
        if distinct:  # the usual case, a hundred times as quick
            return np.arange(begin, end)
    return np.searchsorted(ours, theirs, "right") - 1


def before(steps: Steps, limit: int) -> int:
    """How many of the ascending steps are at most `limit`, any integer."""
    return int(np.searchsorted(steps, min(max(limit, _FIRST), _LAST), "right")) if limit >= _FIRST else 0


def until(steps: Steps, limit: int) -> int:
    """How many of the ascending steps are less than `limit`, any integer."""
    return int(np.searchsorted(steps, max(limit, _FIRST), "left")) if limit <= _LAST else len(steps)
