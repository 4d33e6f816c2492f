"""Segments of a log, and which of its points make the curve.

A segment is what one attempt of the training wrote of one series: a file, what follows a SessionLog START, or what
follows the place where the steps go back. Where two segments overlap in step the curve takes the later one, as
TensorBoard's data server does for each tag ("preempt" in tensorboard/data/server/reservoir.rs). A START with a step
also voids points at or after that step which the source wrote before (SummaryWriter's purge_step; `_Purge` in
tensorboard/backend/event_processing/event_accumulator.py). Nothing is deleted: the result is an order of the points,
and the points left out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from tuimon.model.log_names import log_name
from tuimon.model.points import Indices, Steps
from tuimon.store.arrays import usual_stride
from tuimon.store.series import NO_PURGE, SegmentLayout, Series
from tuimon.store.streams import StreamView

_ANY_LENGTH = 1 << 62
"""More points than any series has."""


class SeriesSlice(Struct, frozen=True):
    """The first `length` points of a series, as a snapshot shows it."""

    series: Series
    length: int
    borders: tuple[int, ...]
    """Positions inside (0, length) at which the log says that a segment starts."""
    purges: tuple[tuple[int, int], ...]
    """(position, step): points before that position with at least that step are void. Position -1: all points."""
    writer: int
    """Slices with the same number, always neighbours, were written at the same time by parallel writers."""
    log: str = ""
    """Path of the log that the file is a part of, if it was rotated; else that of the file. "" if unknown."""
    begin: int | None = None
    """First step of the training in the file, of several: a validation before it takes nothing over."""

    @property
    def steps(self) -> Steps:
        return self.series.columns.steps[: self.length]


def slice_series(
    series: Series,
    length: int,
    stream: StreamView,
    writer: int,
    purge_after: int | None,
    begin: int | None = None,
) -> SeriesSlice:
    """Return the first `length` points of a series with the segments that the log announces.

    purge_after: lowest step that the start of a later stream voids, or None. begin: as in SeriesSlice.
    """
    log = log_name(stream.info.path).live
    if not stream.cut_count and purge_after is None and not stream.start_count:
        return SeriesSlice(series, length, (), (), writer, log, begin)
    layout = series.layout
    known = stream.cut_count, purge_after, stream.start_count
    if layout is None or layout[:3] != known or length < layout.min_length:
        layout = series.layout = _segment_layout(series, length, stream, purge_after)
    return SeriesSlice(series, length, layout.borders, layout.purges, writer, log, begin)


def _segment_layout(series: Series, length: int, stream: StreamView, purge_after: int | None) -> SegmentLayout:
    borders: set[int] = set()
    purges: dict[int, int] = {} if purge_after is None else {-1: purge_after}
    position, min_length, is_open = 0, 0, False
    for number, step in enumerate(stream.cuts):
        position = series.position(number, length)
        if position and step not in (None, NO_PURGE):
            purges[position] = min(step, purges.get(position, step))
        step_at = series.columns.step_at
        if step is not None or (0 < position < length and step_at(position) <= step_at(position - 1)):
            borders.add(position)
        min_length = max(min_length, position + 1)
        is_open = position >= length
    for start in stream.starts:
        position = start.positions.get(series.id, 0)
        is_open |= position >= length
        min_length = max(min_length, position + 1)
        if 0 < position <= length:
            before, after = series.columns.steps[:position], series.columns.steps[position : min(length, position + 1)]
            highest = int(before.max())
            if fits := highest <= start.highest + start.stride:
                purges[position] = min(start.step, purges.get(position, start.step))
            counts_otherwise = highest < start.step and all(before[0] < after)  # such as epochs
            if counts_otherwise or (fits and all(after >= start.step - start.stride)):
                borders.add(position)
    # The position of a start without a later point changes once there is one: then the layout holds for no length.
    min_length = _ANY_LENGTH if is_open else min_length
    inside = tuple(sorted(position for position in borders if 0 < position < length))
    return SegmentLayout(stream.cut_count, purge_after, stream.start_count, min_length, inside, tuple(purges.items()))


class Arrangement(Struct, frozen=True, eq=False):
    """A curve as row numbers of its slices, which are numbered one after the other."""

    order: Indices
    """Points of the curve by ascending step; equal steps in the order in which they were logged."""
    restarts: Indices
    """Positions in `order`, not 0, where a later segment takes over."""
    hidden: Indices
    """Points left out, ascending."""
    starts: Indices
    """First row of each piece that one writer wrote without a restart."""
    segments: Indices
    """Number of the segment of each piece; parallel writers share a segment."""

    def hiding(self, steps: Steps) -> tuple[Indices, Steps]:
        """Return (number of the piece of each point left out, step at which the first later segment that hides it takes
        over, or its own step if the log voided it and no segment follows). steps: steps of all points."""
        pieces = np.searchsorted(self.starts, self.hidden, "right") - 1
        if not len(self.restarts) or not len(self.hidden):
            return pieces, steps[self.hidden]
        takers = self.order[self.restarts]
        taking = self.segments[np.searchsorted(self.starts, takers, "right") - 1]
        # Both the numbers and the steps of the segments that take over ascend: the first later one hides the point.
        taker = np.searchsorted(taking, self.segments, "right")[pieces]
        taker_steps = steps[takers[np.minimum(taker, len(takers) - 1)]]
        return pieces, np.where(taker < len(takers), taker_steps, steps[self.hidden])


def arrange(slices: Sequence[SeriesSlice]) -> Arrangement:
    """Arrange the slices, given in the order in which their streams began, as one curve."""
    steps = np.concatenate([part.steps for part in slices])
    segments: list[Indices] = []
    begins: list[int | None] = []
    starts: list[int] = []
    places: list[int] = []  # in `segments`, of the piece at each start
    offset = 0
    for _, parallel in groupby(slices, key=lambda part: part.writer):
        by_writer: list[list[Indices]] = []
        begin = None
        for part in parallel:
            begin = part.begin
            borders = _borders(part)
            by_writer.append([piece + offset for piece in _pieces(part, borders)])
            starts += [offset + start for start in borders[:-1]]
            offset += part.length
        if len(by_writer) == 1:
            places += range(len(segments), len(segments) + len(by_writer[0]))
            begins += [begin, *[None] * (len(by_writer[0]) - 1)]
            segments.extend(by_writer[0])
        else:  # each writer's own restarts count, but no writer takes over from another
            places += [len(segments)] * sum(map(len, by_writer))
            rows = _concatenated([kept for pieces in by_writer for kept in _take_over(pieces, steps)])
            begins.append(None)
            segments.append(rows[np.argsort(steps[rows], kind="stable")])
    if any(begin is not None for begin in begins):
        segments = _without_early(segments, begins, steps)
    kept = [rows for rows in _take_over(segments, steps) if len(rows)]
    order = _concatenated(kept)
    restarts = np.cumsum([len(rows) for rows in kept[:-1]], dtype=np.int64)
    visible = np.zeros(len(steps), np.bool_)
    visible[order] = True
    arrangement = Arrangement(order, restarts, np.flatnonzero(~visible), np.array(starts), np.array(places))
    return _without_rotations(arrangement, slices, steps)


def _without_rotations(arrangement: Arrangement, slices: Sequence[SeriesSlice], steps: Steps) -> Arrangement:
    """Return an arrangement without the borders of the files of a rotated log at which no step goes back."""
    restarts, order = arrangement.restarts, arrangement.order
    if not len(restarts) or len({part.log for part in slices}) == len(slices):
        return arrangement
    ends, logs = np.cumsum([part.length for part in slices]), [part.log for part in slices]
    numbers, before = (np.searchsorted(ends, order[rows], "right").tolist() for rows in (restarts, restarts - 1))
    superseding = np.isin(steps[order[restarts]], arrangement.hiding(steps)[1]).tolist()
    kept = [
        row
        for row, number, last, supersedes in zip(restarts.tolist(), numbers, before, superseding, strict=True)
        if supersedes or number == last or logs[number] != logs[last] or not logs[number]
    ]
    return replace(arrangement, restarts=np.array(kept, np.int64))


def _borders(part: SeriesSlice) -> list[int]:
    """Return the positions at which the segments of one stream begin, and its length."""
    return [0, *part.borders, part.length]


def _pieces(part: SeriesSlice, borders: Sequence[int]) -> list[Indices]:
    """Return the segments between the borders of one stream without void points, each sorted by step."""
    steps, valid = part.steps, _valid(part)
    pieces: list[Indices] = []
    for low, high in pairwise(borders):
        rows = np.flatnonzero(valid[low:high]) + low
        row_steps = steps[rows]
        if (row_steps[1:] < row_steps[:-1]).any():
            rows = rows[np.argsort(row_steps, kind="stable")]
        pieces.append(rows)
    return pieces


def has_valid(part: SeriesSlice) -> bool:
    """Return whether any point of a slice is not void. The last one seldom is, so that others are seldom examined."""
    if not part.length:
        return False
    last = part.series.columns.step_at(part.length - 1)
    is_kept = all(0 <= position < part.length or last < step for position, step in part.purges)
    return is_kept or bool(_valid(part).any())


def _valid(part: SeriesSlice) -> npt.NDArray[np.bool_]:
    """Return which points are not void."""
    steps = part.steps
    valid = np.ones(part.length, np.bool_)
    for position, step in part.purges:
        before = slice(None) if position < 0 else slice(0, position)
        valid[before] &= steps[before] < step
    return valid


def _without_early(segments: Sequence[Indices], begins: Sequence[int | None], steps: Steps) -> list[Indices]:
    """Return the segments without the points that a resumed job logged before its training began, as a validation at
    step 0. begins: first step of the training of each segment, where it is known.

    A step that no earlier segment has reached is kept: a log may be rotated before a validation. A metric that counts
    something else, such as epochs, has no step near that of the training.
    """
    kept: list[Indices] = []
    highest, stride = None, 1
    for rows, begin in zip(segments, begins, strict=True):
        if len(rows):
            last = int(steps[rows[-1]])
            reached = last if highest is None else max(last, highest)
            if begin is not None and highest is not None and reached + stride >= begin:
                rows = rows[np.searchsorted(steps[rows], min(begin, highest + 1), "left") :]
            highest, stride = reached, max(stride, usual_stride(steps[rows]))
        kept.append(rows)
    return kept


def training_begin(stream: StreamView, length_of: Callable[[int], int]) -> int | None:
    """Return the first step of the metric with most points in a stream, which is one of the training; None without
    points. It is determined again once the stream has twice as many points."""
    data = stream.data
    if data.leader is None or stream.point_count >= 2 * data.leader_points:
        most = max(list(data.series.values()), key=lambda series: length_of(series.id), default=None)
        data.leader, data.leader_points = most, stream.point_count
    if data.leader is None or not (length := length_of(data.leader.id)):
        return None
    columns = data.leader.columns
    return int(columns.steps[0] if columns.ordered >= length else columns.steps[:length].min())


def _take_over(segments: Sequence[Indices], steps: Steps) -> list[Indices]:
    """Return each segment cut off where a later one begins."""
    kept: list[Indices] = []
    limit: int | None = None
    for rows in reversed(segments):
        if len(rows) == 0:
            continue
        row_steps = steps[rows]
        kept.append(rows if limit is None else rows[: np.searchsorted(row_steps, limit, "left")])
        limit = int(row_steps[0]) if limit is None else min(limit, int(row_steps[0]))
    return kept[::-1]


def _concatenated(rows: Sequence[Indices]) -> Indices:
    return np.concatenate(rows) if rows else np.empty(0, np.int64)
