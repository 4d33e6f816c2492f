"""Append-only columns of points, written by one thread and read by any.

A value takes 8 bytes; steps and wall times take 8 bytes each unless metrics of a stream share them. A reader that knows
a published length n may take the arrays at any time and read their first n rows: rows below n never change, and growth
creates new arrays while views of the old ones stay valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tuimon.model.points import Floats, Steps

_SMALL = 16
_BULK = 256
_LARGE = 1 << 12
_MAX_SHARED = 8
"""Maximum number of columns offered to the metrics of a stream: those logged every step, every epoch and so on."""


class GrowingColumn:
    """A growing array of 8-byte numbers. Several metrics may share it if they have the same rows."""

    __slots__ = ("__weakref__", "array", "length")

    def __init__(self, array: npt.NDArray[Any]) -> None:
        """array: capacity for the first rows."""
        self.array = array
        self.length = 0

    def put(self, start: int, rows: npt.NDArray[Any]) -> bool:
        """Ensure that the column has these rows from `start` <= length on; False if it has different ones there.

        Rows are compared bit by bit.
        """
        length = self.length
        end = start + len(rows)
        if start == length:  # the usual case
            if end > len(self.array):
                self._grow(end - start)
            self.array[start:end] = rows
            self.length = end
            return True
        known = min(length - start, len(rows))
        if not _same(self.array[start : start + known], rows[:known]):
            return False
        if end > self.length:
            if end > len(self.array):
                self._grow(end - self.length)
            self.array[self.length : end] = rows[known:]
            self.length = end
        return True

    def begins_as(self, other: GrowingColumn, length: int) -> bool:
        """Return whether the first `length` rows of both columns are equal."""
        return not length or (length <= self.length and _same(self.array[:length], other.array[:length]))

    def copy(self, length: int) -> GrowingColumn:
        """Return a new column with the first `length` rows."""
        column = GrowingColumn(self.array[:length].copy() if length else self.array[:0])
        column.length = length
        return column

    def capacity_for(self, count: int) -> int:
        """Return the capacity to allocate for `count` more rows.

        It is exact for bulk data; for single rows a short array doubles, a longer one grows by 1/2 and a long one by
        1/8.
        """
        length = self.length
        if count >= _BULK and count >= length:
            return length + count
        spare = length // 8 if length > _LARGE else length // 2 if length > _BULK else max(length, _SMALL - length)
        return length + max(count, spare)

    def _grow(self, count: int) -> None:
        new = np.empty(self.capacity_for(count), self.array.dtype)
        new[: self.length] = self.array[: self.length]
        self.array = new


_NO_FLOATS: Floats = np.empty(0)
_NO_STEPS, _NO_TIMES = GrowingColumn(np.empty(0, np.int64)), GrowingColumn(_NO_FLOATS)
"""Columns of metrics without points; nothing is ever added to them."""


class SharedColumns(Struct, eq=False):
    """Columns that metrics of one stream, or joined metrics of one source, have in common.

    Metrics that are logged together have the same steps and times. The references are weak.
    """

    steps: list[ref[GrowingColumn]] = field(default_factory=list)
    wall_times: list[ref[GrowingColumn]] = field(default_factory=list)


class PointColumns:
    """The first `length` rows of three arrays: steps int64, values float64, wall_times float64."""

    __slots__ = ("_shared", "_steps", "_values", "_wall_times", "last_step", "length", "ordered")

    def __init__(self, shared: SharedColumns | None = None) -> None:
        """shared: columns of the other metrics of the stream."""
        self._shared = shared
        self._steps, self._wall_times = _NO_STEPS, _NO_TIMES
        self._values = GrowingColumn(_NO_FLOATS)
        self.length = 0
        self.ordered = 0
        """Number of leading points whose steps never go back; equals `length` for a well-behaved log."""
        self.last_step = 0
        """Step of the point logged last; 0 without points."""

    @property
    def steps(self) -> Steps:
        return self._steps.array

    @property
    def values(self) -> Floats:
        return self._values.array

    @property
    def wall_times(self) -> Floats:
        return self._wall_times.array

    def extend(self, steps: Steps, values: Floats, wall_times: Floats) -> None:
        """Append copies of three arrays of equal length."""
        extend_all([self], np.array([len(steps)], np.uint32), steps, values, wall_times)

    def _place_steps(self, steps: Steps, shared: SharedColumns) -> None:
        """Place the steps of the points about to be appended, and update `ordered` and `last_step` for them."""
        start = self.length
        self._steps = _placed(self._steps, start, steps, shared.steps)
        if self.ordered == start and (start == 0 or steps[0] >= self.last_step):
            back = steps[1:] < steps[:-1]
            self.ordered = start + int(back.argmax()) + 1 if back.any() else start + len(steps)
        self.last_step = int(steps[-1])

    def step_at(self, row: int) -> int:
        return int(self._steps.array[row])

    def rows(self, part: slice) -> tuple[Steps, Floats, Floats]:
        """Return steps, values and wall times of some of the points; the end of `part` must be given."""
        return self.steps[part], self.values[part], self.wall_times[part]


def concatenated(parts: Sequence[tuple[PointColumns, slice]]) -> tuple[Steps, Floats, Floats]:
    """Return steps, values and wall times of some points of several columns, one after the other."""
    steps, values, wall_times = zip(*(columns.rows(part) for columns, part in parts), strict=True)
    return np.concatenate(steps), np.concatenate(values), np.concatenate(wall_times)


def extend_all(
    metrics: Sequence[PointColumns], counts: npt.NDArray[np.uint32], steps: Steps, values: Floats, wall_times: Floats
) -> None:
    """Extend the columns of many metrics; metric i owns the next counts[i] rows of the arrays.

    Metrics that are logged together have the same steps, and often the same times, so the place of these is determined
    once for all of them.
    """
    same_steps, same_times = (_repeats(counts, rows.view(np.int64)).tolist() for rows in (steps, wall_times))
    # State of the previous metric's columns before and after its rows were added.
    steps_before: tuple[object, ...] = ()
    times_before: tuple[object, ...] = ()
    steps_after, times_after = (_NO_STEPS, 0, 0), _NO_TIMES
    end = 0
    for columns, count, repeats_steps, repeats_times in zip(
        metrics, counts.tolist(), same_steps, same_times, strict=True
    ):
        start, end = end, end + count
        length = columns.length
        if not count:
            continue
        shared = columns._shared or SharedColumns()
        state: tuple[object, ...] = columns._steps, length, columns.ordered, columns.last_step
        if repeats_steps and state == steps_before:
            columns._steps, columns.ordered, columns.last_step = steps_after
        else:
            steps_before = state
            columns._place_steps(steps[start:end], shared)
            steps_after = columns._steps, columns.ordered, columns.last_step
        state = columns._wall_times, length
        if repeats_times and state == times_before:
            columns._wall_times = times_after
        else:
            times_before = state
            times_after = _placed(columns._wall_times, length, wall_times[start:end], shared.wall_times)
            columns._wall_times = times_after
        columns._values.put(length, values[start:end])
        columns.length = length + count


def _repeats(counts: npt.NDArray[np.uint32], rows: Steps) -> npt.NDArray[np.bool_]:
    """Return bool (len(counts),): whether each run of counts[i] consecutive rows equals the run before it."""
    result = np.zeros(len(counts), np.bool_)
    if np.count_nonzero(counts) < 2:
        return result
    filled = np.flatnonzero(counts)
    sizes = counts[filled].astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    earlier = np.arange(len(rows)) - np.repeat(sizes, sizes)
    result[filled] = np.logical_and.reduceat((rows == rows[np.maximum(earlier, 0)]) & (earlier >= 0), starts)
    result[filled[1:]] &= sizes[1:] == sizes[:-1]
    result[filled[:1]] = False
    return result


def _placed(
    column: GrowingColumn, start: int, rows: npt.NDArray[Any], shared: list[ref[GrowingColumn]]
) -> GrowingColumn:
    """Return a column with these rows from `start` on: the column itself, a shared one, or a copy."""
    if start and column.put(start, rows):
        return column
    if start <= _LARGE:
        for reference in shared:
            other = reference()
            if other is not None and other is not column and other.begins_as(column, start) and other.put(start, rows):
                return other
    copy = column.copy(start)
    copy.put(start, rows)
    if start <= _LARGE:
        shared[:] = [reference for reference in shared if reference() is not None]
        if len(shared) < _MAX_SHARED:
            shared.append(ref(copy))
    return copy


def _same(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Return whether two arrays of equal length have equal bits."""
    if len(a) <= _BULK:
        return a.tobytes() == b.tobytes()
    return bool((a.view(np.int64) == b.view(np.int64)).all())
