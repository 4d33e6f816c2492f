"""Decoding of the records of an event file: known events many at once, others one by one, all in their order."""

from __future__ import annotations

import numpy as np

from tuimon.errors import FormatError
from tuimon.formats._shared.crc32c import Offsets
from tuimon.formats.tensorboard._event_content import EventContent
from tuimon.formats.tensorboard._event_message import read_event
from tuimon.formats.tensorboard._known_events import Known, KnownEvents
from tuimon.formats.tensorboard._records import is_intact
from tuimon.model.points import Damage, Item, PointsBuilder

DAMAGED, NO_EVENT = "data checksum wrong", "not an event"
MAX_METRICS = 1 << 18
"""Metric names per file; points of further metrics are counted as lost."""


class EventReader:
    """Reads events in the order of the file and collects their points until `take_points`."""

    def __init__(self) -> None:
        self._points = PointsBuilder()
        self._known = KnownEvents()
        self._content = EventContent()
        self._lost_points = 0

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
            name = tag.decode("utf-8", "replace")
            if len(self._points.names) < MAX_METRICS or self._points.has(name):
                metric.append(self._points.add(name, event.step, value, event.wall_time))
            else:
                self._lost_points += 1
        self._known.learn(data, start, end, event, scalars, metric)

    def take_points(self) -> list[Item]:
        """Return the points collected so far as [Points], or []."""
        return self._points.take()

    def take_lost(self, offset: int) -> list[Item]:
        """Return the points lost because there are too many metrics as [Damage], or []."""
        lost, self._lost_points = self._lost_points, 0
        return [Damage(offset, 0, "too many metric names", lost)] if lost else []

    def _add_known(self, known: Known, first: int, end: int) -> None:
        """Add the points of the events first … end - 1, all of which were recognised."""
        if first == end:
            return
        events = slice(first, end)
        counts = known.counts[events]
        firsts, steps, walls = known.firsts[events], known.steps[events], known.walls[events]
        if (counts != 1).any():
            before = np.cumsum(counts) - counts
            firsts = np.arange(int(counts.sum())) + np.repeat(firsts - before, counts)
            steps, walls = np.repeat(steps, counts), np.repeat(walls, counts)
        self._points.add_columns(known.metric[firsts], steps, known.values[firsts], walls)
