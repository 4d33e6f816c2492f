"""What each source of a run holds of a metric, as one snapshot knows it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.store.index import Candidate, Entry, SourceOrder, order_sources, part
from tuimon.store.join import Joined, join, untouched
from tuimon.store.preview import previewed
from tuimon.store.records import StreamView, ViewCache
from tuimon.store.segments import Part


class Table(Struct, frozen=True, eq=False):
    """One row a series: what the owner has published."""

    lengths: npt.NDArray[np.int64]
    last_steps: npt.NDArray[np.int64]


_MANY = 8
"""Streams of a source from which on it pays to keep what they hold of a metric."""


class KeptParts(Struct, frozen=True, eq=False):
    """The shares of a candidate's streams, and what they were made of."""

    candidate: Candidate
    order: SourceOrder
    rows: npt.NDArray[np.int64]
    """Of its series, in the table."""
    lengths: npt.NDArray[np.int64]
    every: list[Part]
    """Those without a point, too."""
    present: tuple[Part, ...]


class Shares:
    """Frozen; knows no curve, so that what is kept of it keeps no curve alive."""

    def __init__(self, streams: Sequence[StreamView], table: Table, cache: ViewCache) -> None:
        self._streams = streams
        self._table = table
        self._cache = cache

    def ranked(self, entry: Entry) -> list[Candidate]:
        """The candidates that have points, the best first."""
        found = [candidate for candidate in entry.candidates.values() if candidate.previews or self.count(candidate)]
        return found if len(found) < 2 else sorted(found, key=lambda one: (-one.rank, -self.count(one)))

    def count(self, candidate: Candidate) -> int:
        """Points as logged, as far as they have been read."""
        return sum(self._length(series.id) for _, series in candidate.series)

    def extent(self, candidate: Candidate) -> tuple[int, int, int] | None:
        """(points, first step, last step) of a candidate of one series in order of its steps, at no cost; else None."""
        if len(candidate.series) != 1 or candidate.previews:
            return None
        _, series = candidate.series[0]
        columns, length = series.columns, self._length(series.id)
        if not 0 < length <= columns.ordered:
            return None
        steps = columns.steps
        return length, int(steps[0]), int(steps[length - 1])

    def parts(self, candidate: Candidate) -> tuple[Part, ...]:
        """Its streams' shares, in the order in which they were begun. Those of many streams are kept: what has not
        grown costs nothing."""
        if len(candidate.series) < _MANY:
            return self._present([self._part(candidate, at) for at in range(len(candidate.series))])
        key, order = (candidate.source, candidate.name), self.sources[candidate.source]
        with self._cache.lock:
            kept = self._cache.parts.get(key)
            if kept is None or kept.candidate is not candidate or kept.order is not order:
                rows = np.array([series.id for _, series in candidate.series])
                lengths = self._lengths(rows)
                every = [self._part(candidate, at) for at in range(len(rows))]
            else:
                rows, lengths, every = kept.rows, self._lengths(kept.rows), kept.every
                changed = np.flatnonzero(lengths != kept.lengths).tolist()
                if not changed:
                    return kept.present
                every = every.copy()
                for at in changed:
                    every[at] = self._part(candidate, at)
            present = self._present(every)
            self._cache.parts[key] = KeptParts(candidate, order, rows, lengths, every, present)
            return present

    def _part(self, candidate: Candidate, at: int) -> Part:
        position, series = candidate.series[at]
        order = self.sources[candidate.source]
        number = order.place[position]
        stream, writer = self._streams[position], order.writers[number]
        return part(series, self._length(series.id), stream, writer, order.purge_behind[number])

    @staticmethod
    def _present(parts: Sequence[Part]) -> tuple[Part, ...]:
        return tuple(part for part in parts if part.length)

    def as_logged(self, ranked: Sequence[Candidate]) -> Part | None:
        """The one share of a metric that is its curve just as it was logged; None where something must be joined."""
        if len(ranked) != 1 or ranked[0].previews:
            return None
        parts = self.parts(ranked[0])
        return parts[0] if untouched(parts) is not None else None

    def joined(self, candidate: Candidate) -> Joined:
        """Its points as one curve; kept from snapshot to snapshot."""
        key, parts = (candidate.source, candidate.name), self.parts(candidate)
        with self._cache.lock:
            joined: Joined | None = None
            if parts or not candidate.previews:
                before = self._cache.joined.get(key)
                joined = join(parts, before, self._cache.shared[candidate.source])
                if before is None or not before.is_newer(parts):
                    self._cache.joined[key] = joined
            return self._with_preview(candidate, joined)

    def _with_preview(self, candidate: Candidate, history: Joined | None) -> Joined:
        """The history with the preview of its last stream behind it. Under the cache's lock."""
        key = candidate.source, candidate.name
        place, series = candidate.previews[-1] if candidate.previews else (-1, None)
        if history is not None and (series is None or self._order(place) < self._order(self._last_read(candidate))):
            self._cache.previewed.pop(key, None)
            return history
        assert series is not None
        if history is not None:
            history.index.prepare(history.columns.values[: history.length])
        found = self._cache.previewed[key] = previewed(history, series, self._cache.previewed.get(key))
        return found.joined

    def _last_read(self, candidate: Candidate) -> int:
        """The position of the last of its streams that has a point in the history."""
        return next(position for position, series in reversed(candidate.series) if self._length(series.id))

    def _order(self, position: int) -> tuple[int, int]:
        return self._streams[position].found.order, position

    def _length(self, row: int) -> int:
        return int(self._table.lengths[row]) if row < len(self._table.lengths) else 0

    def _lengths(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        lengths = self._table.lengths
        known = rows < len(lengths)
        if known.all():
            return lengths[rows]
        found = np.zeros(len(rows), np.int64)
        found[known] = lengths[rows[known]]
        return found

    @cached_property
    def sources(self) -> dict[str, SourceOrder]:
        """The streams of every source, by its name."""
        found, kept = order_sources(self._streams), self._cache.orders
        with self._cache.lock:
            for source, order in found.items():
                if kept.get(source) == order:
                    found[source] = kept[source]
            self._cache.orders = found
        return found
