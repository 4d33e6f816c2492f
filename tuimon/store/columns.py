"""Append-only columns of points, written by one thread, read by any: 8 bytes a point for the values, and as much for
steps and wall times where the metrics of a stream do not share them.

A reader that knows a published length n may take the arrays at any time and read their first n rows: rows below n never
change, and growth makes new arrays while views of the old ones stay valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tuimon.model.points import Floats, Steps

_SMALL = 16
_BULK = 256
_LARGE = 1 << 12
_KINDS = 8
"""So many columns are offered to the metrics of a stream at most: those of each step, of each tenth, of each epoch …"""


class Column:
    """One growing array of 8-byte numbers. Several metrics may have put the same rows into it."""

    __slots__ = ("__weakref__", "array", "length")

    def __init__(self, array: npt.NDArray[Any]) -> None:
        """array: room for the first rows, none of which is there yet."""
        self.array = array
        self.length = 0

    def put(self, at: int, rows: npt.NDArray[Any]) -> bool:
        """The rows from `at` <= length on are these; False where it holds others there, to the bit."""
        length = self.length
        end = at + len(rows)
        if at == length:  # as nearly always
            if end > len(self.array):
                self._grow(end - at)
            self.array[at:end] = rows
            self.length = end
            return True
        known = min(length - at, len(rows))
        if not _same(self.array[at : at + known], rows[:known]):
            return False
        if end > self.length:
            if end > len(self.array):
                self._grow(end - self.length)
            self.array[self.length : end] = rows[known:]
            self.length = end
        return True

    def begin(self, rows: npt.NDArray[Any]) -> None:
        """The first rows, which are not copied: nobody else may write into them."""
        self.array = rows
        self.length = len(rows)

    def put_one(self, at: int, value: float) -> bool:
        """The same for one row."""
        if at < self.length:
            known = self.array[at]
            return bool(known == value or (known != known and value != value))
        if at == len(self.array):
            self._grow(1)
        self.array[at] = value
        self.length = at + 1
        return True

    def begins_as(self, other: Column, length: int) -> bool:
        """Are the first `length` rows of the two the same?"""
        return not length or (length <= self.length and _same(self.array[:length], other.array[:length]))

    def copy(self, length: int) -> Column:
        """Another column with its first rows."""
        made = Column(self.array[:length].copy() if length else self.array[:0])
        made.length = length
        return made

    def lacks(self, count: int) -> bool:
        """Is there no room for `count` more?"""
        return self.length + count > len(self.array)

    def room_for(self, count: int) -> int:
        """Rows of an array for `count` more: exactly that much for bulk; for a trickle as much again, half or, of a
        long one, an eighth."""
        at = self.length
        if count >= _BULK and count >= at:
            return at + count
        return at + max(count, at // 8 if at > _LARGE else at // 2 if at > _BULK else max(at, _SMALL - at))

    def _grow(self, count: int) -> None:
        new = np.empty(self.room_for(count), self.array.dtype)
        new[: self.length] = self.array[: self.length]
        self.array = new


_NO_FLOATS: Floats = np.empty(0)
_NO_STEPS, _NO_TIMES = Column(np.empty(0, np.int64)), Column(_NO_FLOATS)
"""Of metrics without a point; nothing is ever put into them."""


class Shared(Struct, eq=False):
    """The columns that metrics of one stream, or joined ones of one source, have in common: what is logged together has
    the same steps and times. They go when no metric holds them any more."""

    steps: list[ref[Column]] = field(default_factory=list)
    wall_times: list[ref[Column]] = field(default_factory=list)


class PointColumns:
    """steps int64, values float64, wall_times float64, of which `length` rows are points.

    shared: what the other metrics of the stream hold.
    """

    __slots__ = ("_shared", "_steps", "_values", "_wall_times", "last_step", "length", "ordered")

    def __init__(self, shared: Shared | None = None) -> None:
        self._shared = shared
        self._steps, self._wall_times = _NO_STEPS, _NO_TIMES
        self._values = Column(_NO_FLOATS)
        self.length = 0
        self.ordered = 0
        """How many leading points have steps that never go back; equal to `length` for a well-behaved log."""
        self.last_step = 0
        """Of the point logged last; 0 without any."""

    @property
    def steps(self) -> Steps:
        return self._steps.array

    @property
    def values(self) -> Floats:
        return self._values.array

    @property
    def wall_times(self) -> Floats:
        return self._wall_times.array

    def append(self, step: int, value: float, wall_time: float) -> None:
        """One point; the path for a live row of hundreds of metrics, kept free of array arithmetic."""
        at = self.length
        if not at or not (self._steps.put_one(at, step) and self._wall_times.put_one(at, wall_time)):
            shared = self._shared or Shared()
            self._steps = _placed(self._steps, at, np.array([step], np.int64), shared.steps)
            self._wall_times = _placed(self._wall_times, at, np.array([wall_time]), shared.wall_times)
        self._values.put_one(at, value)
        if self.ordered == at and (step >= self.last_step or at == 0):
            self.ordered = at + 1
        self.last_step = step
        self.length = at + 1

    def extend(self, steps: Steps, values: Floats, wall_times: Floats) -> None:
        """Many points at once, copied; three arrays of one length."""
        count = len(steps)
        if count == 0:
            return
        shared = self._shared or Shared()
        at = self.length
        self._place_steps(steps, shared)
        self._wall_times = _placed(self._wall_times, at, wall_times, shared.wall_times)
        self._values.put(at, values)
        self.length = at + count

    def _place_steps(self, steps: Steps, shared: Shared) -> None:
        """Put these into their column, or into another that begins as it does."""
        at = self.length
        self._steps = _placed(self._steps, at, steps, shared.steps)
        self._follow(steps)

    def _follow(self, steps: Steps) -> None:
        """These come next: are they in order?"""
        at = self.length
        if self.ordered == at and (at == 0 or steps[0] >= self.last_step):
            back = steps[1:] < steps[:-1]
            self.ordered = at + int(back.argmax()) + 1 if back.any() else at + len(steps)
        self.last_step = int(steps[-1])

    def step_at(self, row: int) -> int:
        return int(self._steps.array[row])

    def pieces(self, length: int, rows: int) -> Iterator[tuple[Steps, Floats, Floats]]:
        """Steps, values and wall times of the first `length` points, so many rows at a time."""
        for start in range(0, length, rows):
            part = slice(start, min(start + rows, length))
            yield self.steps[part], self.values[part], self.wall_times[part]


def extend_all(
    those: Sequence[PointColumns], counts: npt.NDArray[np.uint32], steps: Steps, values: Floats, wall_times: Floats
) -> None:
    """The points of many metrics, those of one behind those of the one before: what `extend` does for each. What is
    logged together has the same steps, and often the same times, so where those go is worked out once for all."""
    same_steps, same_times = (_as_before(counts, rows.view(np.int64)).tolist() for rows in (steps, wall_times))
    steps_before: tuple[object, ...] = ()  # how the metric before stood …
    times_before: tuple[object, ...] = ()
    # Of metrics that all are new the values are copied at once, not each into an array of its own.
    own = None if any(one.length for one in those) else values.copy()
    if own is None:
        _grow_together([one._values for one in those], counts.tolist())
    steps_after, times_after = (_NO_STEPS, 0, 0), _NO_TIMES  # … and what became of it
    at = 0
    for one, count, as_steps, as_times in zip(those, counts.tolist(), same_steps, same_times, strict=True):
        begun, at = at, at + count
        length = one.length
        if not count:
            continue
        shared = one._shared or Shared()
        stood: tuple[object, ...] = one._steps, length, one.ordered, one.last_step
        if as_steps and stood == steps_before:
            one._steps, one.ordered, one.last_step = steps_after
        else:
            steps_before = stood
            one._place_steps(steps[begun:at], shared)
            steps_after = one._steps, one.ordered, one.last_step
        stood = one._wall_times, length
        if as_times and stood == times_before:
            one._wall_times = times_after
        else:
            times_before = stood
            times_after = one._wall_times = _placed(one._wall_times, length, wall_times[begun:at], shared.wall_times)
        if own is not None and not length:
            one._values.begin(own[begun:at])
        else:
            one._values.put(length, values[begun:at])
        one.length = length + count


def _grow_together(columns: Sequence[Column], counts: Sequence[int]) -> None:
    """Room for so many rows more in each short column that has none: parts of one array, as to make an array for each
    of ten thousand metrics is most of what their points cost."""
    pairs = zip(columns, counts, strict=True)
    short = [(one, one.room_for(more)) for one, more in pairs if one.length <= _BULK and one.lacks(more)]
    if not short:
        return
    sizes = np.array([(one.length, room) for one, room in short], np.int64)
    lengths, ends = sizes[:, 0], np.cumsum(sizes[:, 1])
    whole = np.empty(int(ends[-1]))
    held = np.concatenate([one.array[: one.length] for one, _ in short])
    begins = np.concatenate(([0], ends[:-1]))
    whole[np.arange(len(held)) + np.repeat(begins - (np.cumsum(lengths) - lengths), lengths)] = held
    for (one, _), begin, end in zip(short, begins.tolist(), ends.tolist(), strict=True):
        one.array = whole[begin:end]


def _as_before(counts: npt.NDArray[np.uint32], rows: Steps) -> npt.NDArray[np.bool_]:
    """For each of many runs of rows, so many one after the other: is it the run before it once more?"""
    known = np.zeros(len(counts), np.bool_)
    some = np.flatnonzero(counts)
    sizes = counts[some].astype(np.int64)
    if not len(some):
        return known
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    earlier = np.arange(len(rows)) - np.repeat(sizes, sizes)
    known[some] = np.logical_and.reduceat((rows == rows[np.maximum(earlier, 0)]) & (earlier >= 0), starts)
    known[some[1:]] &= sizes[1:] == sizes[:-1]
    known[some[:1]] = False
    return known


def _placed(column: Column, at: int, rows: npt.NDArray[Any], shared: list[ref[Column]]) -> Column:
    """The column with these rows from `at` on: itself, one that others have, or a new one."""
    if at and column.put(at, rows):
        return column
    if at <= _LARGE:
        for held in shared:
            other = held()
            if other is not None and other is not column and other.begins_as(column, at) and other.put(at, rows):
                return other
    made = column.copy(at)
    made.put(at, rows)
    if at <= _LARGE:
        shared[:] = [held for held in shared if held() is not None]
        if len(shared) < _KINDS:
            shared.append(ref(made))
    return made


def _same(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """To the bit; of equal lengths."""
    if len(a) <= _BULK:
        return a.tobytes() == b.tobytes()
    return bool((a.view(np.int64) == b.view(np.int64)).all())
