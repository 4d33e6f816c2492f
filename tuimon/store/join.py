"""Join the slices of one metric of one source into one curve, and extend the result as they grow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tuimon.model.points import Floats, Indices, Steps
from tuimon.store.columns import PointColumns, SharedColumns, concatenated
from tuimon.store.curve import Curve, SupersededPoints
from tuimon.store.curve_index import CurveIndex
from tuimon.store.segments import SeriesSlice, arrange


class JoinedCurve(Struct, frozen=True, eq=False):
    """The curve of some slices: the first `length` rows of `columns`."""

    slices: tuple[SeriesSlice, ...]
    columns: PointColumns
    """Columns of the series itself if no point had to be moved."""
    length: int
    restarts: Indices
    superseded: int
    index: CurveIndex
    superseded_curve: list[Curve] = field(default_factory=list)
    """Curve of the superseded points, once a curve has built it; the same list as long as these points are the same."""

    @property
    def points(self) -> tuple[Steps, Floats, Floats]:
        """Steps, values and wall times."""
        return self.columns.rows(slice(self.length))

    def is_newer(self, slices: tuple[SeriesSlice, ...]) -> bool:
        """Return whether the slices come from an older snapshot than this curve."""
        return _differ_in_length_only(self.slices, slices) and any(
            part.length < known.length for part, known in zip(slices, self.slices, strict=True)
        )


def join(
    slices: tuple[SeriesSlice, ...], previous: JoinedCurve | None, shared: SharedColumns | None = None
) -> JoinedCurve:
    """Join slices into one curve.

    previous: result of the last call for this metric and source; returned or extended if only later points have been
    added. shared: columns of the other metrics of the source.
    """
    similar = previous is not None and _differ_in_length_only(previous.slices, slices)
    if previous is not None and similar and all(map(_equally_long, previous.slices, slices)):
        return previous
    restarts = restarts_as_logged(slices)
    if restarts is not None:
        columns = slices[0].series.columns
        index = previous.index if previous is not None and previous.columns is columns else CurveIndex()
        return JoinedCurve(slices, columns, slices[0].length, restarts, 0, index)
    if previous is not None and similar and _append(previous, slices):
        return replace(previous, slices=slices, length=previous.columns.length)
    arrangement = arrange(slices)
    columns = PointColumns(shared)
    steps, values, wall_times = _points(slices)
    columns.extend(steps[arrangement.order], values[arrangement.order], wall_times[arrangement.order])
    return JoinedCurve(slices, columns, columns.length, arrangement.restarts, len(arrangement.hidden), CurveIndex())


def superseded_points(slices: Sequence[SeriesSlice]) -> SupersededPoints:
    """Return the points left out of the curve, in logged order."""
    arrangement = arrange(slices)
    rows = arrangement.hidden
    steps, values, wall_times = _points(slices)
    return SupersededPoints(steps[rows], values[rows], wall_times[rows], *arrangement.hiding(steps))


def restarts_as_logged(slices: Sequence[SeriesSlice]) -> Indices | None:
    """Return the restarts if there is one slice, whose points are the curve as they were logged; else None."""
    if len(slices) != 1 or slices[0].series.columns.ordered < slices[0].length:
        return None
    part, step_at = slices[0], slices[0].series.columns.step_at
    if any(step_at(border) <= step_at(border - 1) for border in part.borders):
        return None
    for position, step in part.purges:
        count = part.length if position < 0 else position
        if count and step_at(count - 1) >= step:
            return None
    return np.array(part.borders, np.int64)


def _differ_in_length_only(slices: tuple[SeriesSlice, ...], others: tuple[SeriesSlice, ...]) -> bool:
    return slices is others or (len(slices) == len(others) and all(map(_same_segments, slices, others)))


def _same_segments(part: SeriesSlice, other: SeriesSlice) -> bool:
    return part is other or (
        part.series is other.series
        and part.borders == other.borders
        and part.purges == other.purges
        and part.writer == other.writer
        and part.begin == other.begin
    )


def _equally_long(part: SeriesSlice, other: SeriesSlice) -> bool:
    return part.length == other.length


def _points(slices: Sequence[SeriesSlice]) -> tuple[Steps, Floats, Floats]:
    return concatenated([(part.series.columns, slice(part.length)) for part in slices])


def _append(previous: JoinedCurve, slices: tuple[SeriesSlice, ...]) -> bool:
    """Append new points to the columns of `previous` if all come after its last step; return whether they do."""
    columns, length = previous.columns, previous.length
    grown = [
        (part, known.length) for part, known in zip(slices, previous.slices, strict=True) if part.length != known.length
    ]
    if columns.length != length or length == 0 or columns is slices[0].series.columns:
        return False
    if any(n > part.length or part.writer != slices[-1].writer for part, n in grown):
        return False
    if any(position < 0 for part, _ in grown for position, _ in part.purges):
        return False
    rows = [(part.series.columns, slice(n, part.length)) for part, n in grown]
    pieces = [source.steps[inside] for source, inside in rows]
    if any((piece[1:] < piece[:-1]).any() for piece in pieces):
        return False
    steps, values, wall_times = concatenated(rows)
    lowest, last = int(steps.min()), int(columns.steps[length - 1])
    parallel = any(part.writer == slices[-1].writer for part in slices[:-1])
    if lowest < last or (lowest == last and parallel):  # equal steps of parallel writers are in the writers' order
        return False
    order = np.argsort(steps, kind="stable") if len(pieces) > 1 else slice(None)
    columns.extend(steps[order], values[order], wall_times[order])
    return True
