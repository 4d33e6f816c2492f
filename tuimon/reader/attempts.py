"""Find where a log's program was started again: the step of the training metrics goes back.

Example: 1 2 3 4 5 3 4 5 6 has a restart at the second 3, which is known from the 4 after it.

The metric with most points that is no counter decides, so that a validation or an epoch is no restart. Its step goes
back, and two later steps below the highest one follow, of which

- one was logged before, or
- four lie between steps logged before: 0 10 20 30 40 14 19 24 29.

The last row, or the last two, logged again are a restart only after eight steps that rose. Rows that are out of order
(0 5 2 3 6) are none. A log with many of them has several writers, and is not examined any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from tuimon.model.points import Ids, Indices, Steps

_WINDOW = 4096
"""Steps of the deciding metric that are kept. An older one counts as logged, and as many new ones are a restart."""
_ORDERED = 8
"""Rising steps before one or two repeated ones from which on these are a restart."""
_FEW = 4
"""Fewer steps than this, none of which was logged before, may be out of order."""
_MOST_DOUBTFUL, _MOST_FOUND = 64, 1024
"""Places where the steps go back without a restart, and restarts, after which no more are looked for."""


class LaterAttempt(Struct, frozen=True, eq=False):
    """The place at which a later attempt of the training begins."""

    step: int
    """First step of the attempt."""
    highest: int
    """Highest step before."""
    stride: int
    """Usual distance of steps before."""
    counts: Indices
    """Number of points before that place by metric."""


class _Turn(Struct):
    """A place where the steps of the deciding metric go back, or stay, until it is known whether it is a restart."""

    start: LaterAttempt
    highest: int
    """Highest step of the attempt before."""
    window: Steps
    """Last steps before; the oldest of them are as far back as is known."""
    is_full: bool
    """Whether there were more steps before."""
    own: int
    """Number of steps in `window` that are of the attempt before."""
    climb: Steps
    """Steps since then, which rise."""
    rows: tuple[frozenset[int], frozenset[int]] | None
    """Metrics of the row before and of the one with the same step; None if the step goes back."""

    def is_restart(self, following: frozenset[int]) -> bool:
        """following: metrics of the row with the last step of `climb`."""
        if self.rows is not None:
            before, again = self.rows
            return len(again) > 1 and self.climb[-1] > self.highest and before & following <= again
        below = _distinct(self.climb[: np.searchsorted(self.climb, self.highest)])
        if len(below) < 2:
            rising = self.window[-_ORDERED:]
            is_repeated = len(self.climb) > 1 and bool((self.climb[:2] == rising[-2:]).all())
            return is_repeated and self.own >= _ORDERED and bool((np.diff(rising) > 0).all())
        is_far = (self.is_full and below[0] < self.window.min()) or len(below) >= _WINDOW
        if is_far or np.isin(below, self.window).any():
            return True
        attempt = self.window[len(self.window) - self.own :]
        between = attempt[(attempt > below[0]) & (attempt < below[-1])]
        return len(below) >= _FEW and len(set(between.tolist())) > 1


class AttemptFinder:
    """Finds the attempts in the points of a log, split anywhere between two rows."""

    def __init__(self) -> None:
        self._counts: Indices = np.zeros(0, np.int64)
        """Number of points of each metric."""
        self._leader = -1
        """The metric with most points, up to a factor of two."""
        self._window: Steps = np.empty(0, np.int64)
        """Last steps of this metric."""
        self._seen = self._own = 0
        """Number of its points, and of those of the present attempt."""
        self._top = self._highest = 0
        """Its highest step, and that of the present attempt."""
        self._turn: _Turn | None = None
        self._row: frozenset[int] = frozenset()
        """Metrics of the last row."""
        self._last = np.iinfo(np.int64).min
        """Step of the last row."""
        self._fallen: Indices | None = None
        """Counts before the first row after the last one of this metric at which steps go back; None without one."""
        self._counters = np.zeros(0, np.bool_)
        """Whether each metric is a schedule or a counter, which decides only if there is nothing else."""
        self._doubtful = self._found = 0

    def add(self, ids: Ids, steps: Steps) -> Iterator[LaterAttempt]:
        """Yield the attempts that are known after the next points. ids: uint32 (n,), metric of each point."""
        if self._doubtful > _MOST_DOUBTFUL or self._found > _MOST_FOUND:
            return
        added = np.bincount(ids, minlength=len(self._counts))
        before = np.concatenate((self._counts, np.zeros(len(added) - len(self._counts), np.int64)))
        self._counts = before + added
        self._choose_leader()
        rows = np.flatnonzero(ids == self._leader)
        if len(rows):
            yield from self._read(ids, steps, rows, before)
            self._fallen = None
        end = int(rows[-1]) + 1 if len(rows) else 0
        if self._fallen is None and (place := self._first_fall(steps, end, len(steps))) is not None:
            self._fallen = before + np.bincount(ids[:place], minlength=len(before))
        self._row = frozenset(ids[_row_begin(steps, len(steps) - 1) :].tolist())
        self._last = int(steps[-1])

    def note_names(self, are_counters: Sequence[bool]) -> None:
        """Note whether each of the next metrics is a schedule or a counter."""
        self._counters = np.append(self._counters, np.array(are_counters, np.bool_))

    def _choose_leader(self) -> None:
        counts = self._counts
        known = np.flatnonzero(self._counters[: len(counts)])
        if len(known) and counts[known].sum() < counts.sum():
            counts = counts.copy()
            counts[known] = 0
        most = int(counts.argmax())
        if self._leader < 0 or counts[most] >= 2 * counts[self._leader]:
            self._leader, self._seen, self._own, self._turn = most, 0, 0, None
            self._window = self._window[:0]

    def _first_fall(self, steps: Steps, begin: int, end: int) -> int | None:
        """Return the first point from `begin` on, before `end`, whose step is below that of the point before it."""
        before = steps[begin - 1] if begin else self._last
        falls = np.flatnonzero(np.diff(steps[begin:end], prepend=before) < 0)
        return begin + int(falls[0]) if len(falls) else None

    def _read(self, ids: Ids, steps: Steps, rows: Indices, counts: Indices) -> Iterator[LaterAttempt]:
        """Read the points of the deciding metric. counts: number of points of each metric before all of these."""
        own = steps[rows]
        known = np.concatenate((self._window[-_ORDERED - 1 :], own))
        change = np.diff(known)
        first = len(known) - len(own)
        turns = [place for place in np.flatnonzero(change <= 0).tolist() if place + 1 >= first]
        turns = [
            place + 1 - first
            for place in turns
            if change[place] < 0 or (place >= _ORDERED and (change[place - _ORDERED : place] > 0).all())
        ]
        for begin, end in pairwise(dict.fromkeys((0, *turns, len(own)))):
            if turns and begin == turns[0]:
                del turns[0]
                self._doubtful += self._turn is not None
                if self._doubtful > _MOST_DOUBTFUL:
                    return
                self._turn = self._turn_at(ids, steps, rows, begin, counts)
            piece = own[begin:end]
            turn = self._turn
            if turn is not None:
                turn.climb = np.concatenate((turn.climb, piece))
                last = int(rows[end - 1])
                if turn.is_restart(frozenset(ids[_row_begin(steps, last) : _row_end(steps, last)].tolist())):
                    self._found, self._turn = self._found + 1, None
                    self._own, self._highest = len(turn.climb) - len(piece), int(piece[-1])
                    yield turn.start
                elif piece[-1] > turn.highest:
                    self._doubtful, self._turn = self._doubtful + 1, None
            highest = int(piece.max())
            self._top = max(self._top, highest) if self._seen else highest
            self._highest = max(self._highest, highest) if self._own else highest
            self._window = np.concatenate((self._window, piece))[-_WINDOW:]
            self._seen, self._own = self._seen + len(piece), self._own + len(piece)

    def _turn_at(self, ids: Ids, steps: Steps, rows: Indices, place: int, counts: Indices) -> _Turn:
        """Return the turn at the point in rows[place]."""
        row = int(rows[place])
        begin, again = _row_begin(steps, row), None
        if self._window[-1] == steps[row]:
            known = frozenset(ids[begin : rows[place - 1] + 1].tolist()) if place else self._row
            begin = int(rows[place - 1]) + 1 if place else begin
            own = int(np.isin(ids[begin : row + 1], list(known)).argmax()) + begin
            previous, begin = known.union(ids[begin:own].tolist()), own
            again = previous, frozenset(ids[begin : _row_end(steps, row)].tolist())
        else:  # another metric of the same attempt may have gone back before
            fallen = self._first_fall(steps, int(rows[place - 1]) + 1 if place else 0, row + 1)
            begin = begin if fallen is None else fallen
        before = counts + np.bincount(ids[:begin], minlength=len(counts))
        if not place and self._fallen is not None:
            before = self._fallen
        rises = np.diff(self._window)
        rises = rises[rises > 0]
        stride = int(np.median(rises)) if len(rises) else 1
        start = LaterAttempt(int(steps[row]), self._top, stride, before)
        is_full, own_steps = self._seen > len(self._window), min(self._own, len(self._window))
        return _Turn(start, self._highest, self._window, is_full, own_steps, self._window[:0], again)


def _row_begin(steps: Steps, row: int) -> int:
    """Return the first of the neighbours of a point that have its step."""
    while row and steps[row - 1] == steps[row]:
        row -= 1
    return row


def _row_end(steps: Steps, row: int) -> int:
    """Return the end of the neighbours of a point that have its step."""
    end = row + 1
    while end < len(steps) and steps[end] == steps[row]:
        end += 1
    return end


def _distinct(ascending: Steps) -> Steps:
    return ascending[np.append(True, ascending[1:] != ascending[:-1])] if len(ascending) else ascending
