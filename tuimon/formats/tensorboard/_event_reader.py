"""Decoding of the records of an event file: known events many at once, others one by one, all in their order."""

from __future__ import annotations

import numpy as np

from tuimon.errors import FormatError
from tuimon.formats._shared.crc32c import Offsets
from tuimon.formats.tensorboard._event_content import EventContent
from tuimon.formats.tensorboard._event_message import read_event
from tuimon.formats.tensorboard._known_events import Known, KnownEvents
from tuimon.formats.tensorboard._records import is_intact
from tuimon.model.points import Damage, Floats, Ids, Item, Points, Steps

DAMAGED, NO_EVENT = "data checksum wrong", "not an event"
MAX_METRICS = 1 << 18
"""Metric names per file; points of further metrics are counted as lost."""


class EventReader:
    """Reads events in the order of the file and collects their points until `take_points`."""

    def __init__(self) -> None:
        self.names: list[str] = []
        """Names of the metrics; their ids count from 0 in order of appearance."""
        self._ids: dict[str, int] = {}
        self._known = KnownEvents()
        self._content = EventContent()
        self._lost_points = 0
        self._columns: list[tuple[Ids, Steps, Floats, Floats]] = []
        self._points: list[tuple[int, int, float, float]] = []

    def read(self, data: bytes, starts: Offsets, ends: Offsets, items: list[Item]) -> tuple[int, str]:
        """Read events data[starts[i]:ends[i]], each followed by its checksum.

        Return (number of events read, reason why the next one cannot be read); the reason is "" if all were read. Items
        other than points are appended to `items`, after the points that precede them.
        """
        known = self._known.recognise(data, starts, ends)
        others = np.flatnonzero(known.counts < 0)
        position = 0
        for other in others.tolist():
            self._add_known(known, position, other)
            start, end = int(starts[other]), int(ends[other])
            if not is_intact(data, start, end):
                return other, DAMAGED
            try:
                self.read_one(data, start, end, items)
            except FormatError:
                return other, NO_EVENT
            position = other + 1
        self._add_known(known, position, len(starts))
        return len(starts), ""

    def read_one(self, data: bytes, start: int, end: int, items: list[Item]) -> None:
        """Read an event without verifying its checksum. Raises FormatError if it is not an Event."""
        event = read_event(data, start, end)
        scalars = self._content.scalars(data, event)
        if new_items := self._content.other_items(data, event):
            items += [*self.take_points(), *new_items]
        metric = []
        for tag, value, _, _ in scalars:
            index = self._id(tag)
            if index is None:
                self._lost_points += 1
                continue
            metric.append(index)
            self._points.append((index, event.step, value, event.wall_time))
        self._known.learn(data, start, end, event, scalars, metric)

    def take_points(self) -> list[Item]:
        """Return the points collected so far as [Points], or []."""
        self._join_points()
        columns, self._columns = self._columns, []
        return [Points(self.names, *map(np.concatenate, zip(*columns, strict=True)))] if columns else []

    def take_lost(self, offset: int) -> list[Item]:
        """Return the points lost because there are too many metrics as [Damage], or []."""
        lost, self._lost_points = self._lost_points, 0
        return [Damage(offset, 0, "too many metric names", lost)] if lost else []

    def _add_known(self, known: Known, first: int, end: int) -> None:
        """Add the points of the events first … end - 1, all of which were recognised."""
        if first == end:
            return
        self._join_points()
        events = slice(first, end)
        counts = known.counts[events]
        firsts, steps, walls = known.firsts[events], known.steps[events], known.walls[events]
        if (counts != 1).any():
            before = np.cumsum(counts) - counts
            firsts = np.arange(int(counts.sum())) + np.repeat(firsts - before, counts)
            steps, walls = np.repeat(steps, counts), np.repeat(walls, counts)
        self._columns.append((known.metric[firsts], steps, known.values[firsts], walls))

    def _join_points(self) -> None:
        if self._points:
            points, self._points = self._points, []
            metric, steps, values, walls = zip(*points, strict=True)
            self._columns.append(
                (np.array(metric, np.uint32), np.array(steps, np.int64), np.array(values), np.array(walls))
            )

    def _id(self, tag: bytes) -> int | None:
        """Return the id of a tag's metric, assigned on first sight; None if there are too many metrics."""
        name = tag.decode("utf-8", "replace")
        metric = self._ids.get(name)
        if metric is None and len(self.names) < MAX_METRICS:
            metric = self._ids[name] = len(self.names)
            self.names.append(name)
        return metric
