"""Data that the writer thread appends to: points of one metric of a stream, and the stream's segments and facts."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from tuimon.model.points import Fact
from tuimon.store.columns import PointColumns, SharedColumns

MOST_ARRIVALS = 256
"""Number of arrivals kept of a stream: more than the intervals that a pace is computed from."""
PREVIEW_ID = 1 << 62
"""Series.id of a preview, which has no row in the table of lengths."""
NO_PURGE = 1 << 62
"""A step that no point has."""


class AttemptStart(NamedTuple):
    """The place in a stream at which a later attempt of the training begins, with steps that were logged before."""

    step: int
    """First step of the attempt."""
    highest: int
    """Highest step before."""
    stride: int
    """Usual distance of steps before."""
    positions: Mapping[int, int]
    """Number of points before that place by id of the series; series without any are missing."""


class SegmentLayout(NamedTuple):
    """Places where the log starts segments of a metric; see segments.SeriesSlice for `borders` and `purges`."""

    cut_count: int
    purge_after: int | None
    start_count: int
    min_length: int
    """The layout holds while the series has at least this many points."""
    borders: tuple[int, ...]
    purges: tuple[tuple[int, int], ...]


class Series:
    """One metric of one stream. Only the writer thread appends to it."""

    __slots__ = ("_finite", "_single_until", "columns", "cuts", "cuts_seen", "id", "layout", "name")

    def __init__(self, id: int, name: str, columns: PointColumns) -> None:
        self.id = id
        """Row in the store's table of lengths; ascends in the order in which series appear."""
        self.name = name
        """Prefix of the stream + name as written."""
        self.columns = columns
        self.cuts: list[tuple[int, int]] = []
        """(count, position): `count` segment starts of the stream precede the point at `position`; there is an entry
        for each point that has more of them than the previous point."""
        self.cuts_seen = 0
        self.layout: SegmentLayout | None = None
        """Layout computed last, by any reader: with 300 segment starts a redraw of 12 metrics takes 14 ms, not 54."""
        self._finite = (0, 0)
        """(number of points at the beginning that were examined, number of finite ones among them)."""
        self._single_until = 0
        """Number of points at the beginning that were found to be of single precision."""

    def position(self, cut: int, length: int) -> int:
        """Return how many of the first `length` points precede segment start number `cut` (from 0) of the stream."""
        index = bisect_right(self.cuts, cut, key=lambda entry: entry[0])
        return min(self.cuts[index][1], length) if index < len(self.cuts) else length

    def count_finite(self, length: int) -> int:
        """Count the finite values among the first `length`; each point is examined once.

        Any thread may call it: two that examine the same points find the same.
        """
        examined, finite = self._finite if self._finite[0] <= length else (0, 0)
        if examined < length:
            finite += int(np.count_nonzero(np.isfinite(self.columns.values[examined:length])))
            self._finite = max(self._finite, (length, finite))
        return finite

    def is_single(self, length: int) -> bool:
        """Return whether the first `length` values are of single precision, such as those of event files.

        Points are examined once, up to the first that is not; NaN and infinity are of any precision.
        """
        begin = self._single_until  # read once: another thread may move it meanwhile
        if begin >= length:
            return True
        values = self.columns.values[begin:length]
        with np.errstate(over="ignore"):
            single = (values.astype(np.float32) == values) | ~np.isfinite(values)
        is_whole = bool(single.all())
        self._single_until = length if is_whole else begin + int(single.argmin())
        return is_whole


class StreamData(Struct, eq=False, weakref=True):
    """Data read from a stream since it began or was last replaced. Its lists only grow; snapshots keep lengths."""

    series: dict[int, Series] = field(default_factory=dict)
    """Series by the stream's own metric id."""
    shared: SharedColumns = field(default_factory=SharedColumns)
    cuts: list[int | None] = field(default_factory=list)
    """For each segment start the step from which on earlier points are void; NO_PURGE if the log names its first step,
    None if it does not: then it is an attempt only if the steps go back."""
    starts: list[AttemptStart] = field(default_factory=list)
    leader: Series | None = None
    """Series with most points when there were `leader_points` points (segments.training_begin)."""
    leader_points: int = 0
    facts: dict[str, list[tuple[int, Fact]]] = field(default_factory=dict)
    """(sequence number over the whole store, fact) by topic."""
    point_count: int = 0
    first_wall_time: float = float("nan")
    last_wall_time: float = float("nan")
    newest_step: int | None = None
    """Highest step of the points that arrived last; None without points."""
    seen_step: int | None = None
    """`newest_step` at the last call of `note_arrival`."""
    arrivals: tuple[tuple[int, float], ...] = ()
    """(step, time at which the file was seen to grow to it), both ascending; the newest MOST_ARRIVALS. Replaced as a
    whole, never modified."""

    def note_arrival(self, grown: float) -> None:
        """Note that the file was seen to grow to its newest step. grown: seconds since the epoch; NaN if it was not."""
        step, before, self.seen_step = self.newest_step, self.seen_step, self.newest_step
        last_step, last_time = self.arrivals[-1] if self.arrivals else (-math.inf, -math.inf)
        if step is not None and before is not None and step > max(before, last_step) and grown > last_time:
            self.arrivals = (*self.arrivals[1 - MOST_ARRIVALS :], (step, grown))


def without_replaced(facts: list[tuple[int, Fact]]) -> list[tuple[int, Fact]]:
    """Return the facts of one topic without those whose next one has a value for each of their keys."""
    kept = [fact for fact, later in pairwise(facts) if not fact[1].value.keys() <= later[1].value.keys()]
    return kept + facts[-1:]
