"""Decoded items of one stream as events: names announced before they are used, points grouped by metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tuimon.model.events import Columns, Event, FactFound, MetricsFound, Preview, SegmentStarted, StreamReplaced
from tuimon.model.points import Fact, Item, Points, Replaced, SegmentStart

_MOST = 1 << 17
"""Points of one event, unless a batch has more."""
_SMALL = 0xFFFF
"""numpy sorts 16-bit numbers by their digits, several times as fast as longer ones."""


class Announcer:
    """Turns items into events; remembers which metric names have been told."""

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self._names: Sequence[str] = ()
        self._told = 0
        """How many of the names have been told."""
        self._first = 0
        """Id of the first of them: a decoder that begins anew has another table of names."""

    def events(self, items: Iterable[Item]) -> Iterator[Event]:
        """Damage gives no event of its own: it is counted in the stream's status."""
        for item in together(items):
            match item:
                case Points():
                    if item.names is not self._names:
                        if list(item.names[: self._told]) != list(self._names[: self._told]):
                            self._first, self._told = self._first + self._told, 0
                        self._names = item.names
                    if len(item.names) > self._told:
                        yield MetricsFound(self.stream, self._first + self._told, tuple(item.names[self._told :]))
                        self._told = len(item.names)
                    yield grouped(self.stream, item, self._first)
                case SegmentStart():
                    yield SegmentStarted(self.stream, item.step, item.purge)
                case Replaced():
                    yield StreamReplaced(self.stream)
                case Fact():
                    yield FactFound(self.stream, item)


def together(items: Iterable[Item]) -> Iterator[Item]:
    """Batches of points that follow each other as one: whoever takes them does much for each metric of each batch."""
    waiting: list[Points] = []
    count = 0
    for item in items:
        if isinstance(item, Points) and waiting and item.names is waiting[0].names and count + len(item) <= _MOST:
            waiting.append(item)
            count += len(item)
            continue
        if waiting:
            yield _joined(waiting)
            waiting = []
        if isinstance(item, Points):
            waiting, count = [item], len(item)
        else:
            yield item
    if waiting:
        yield _joined(waiting)


def _joined(batches: Sequence[Points]) -> Points:
    """Batches that share one table of names."""
    if len(batches) == 1:
        return batches[0]
    return Points(
        batches[0].names,
        np.concatenate([one.metric for one in batches]),
        np.concatenate([one.steps for one in batches]),
        np.concatenate([one.values for one in batches]),
        np.concatenate([one.wall_times for one in batches]),
    )


def grouped(stream: int, points: Points, first: int = 0) -> Columns:
    """Points in file order as columns grouped by metric; order within a metric is kept. `first` is added to the ids."""
    ids = points.metric + np.uint32(first) if first else points.metric
    if len(ids) == 1 or (ids[1:] >= ids[:-1]).all():  # one metric, or one step of many in their order
        steps, values, wall_times = points.steps, points.values, points.wall_times
    else:
        small = ids.astype(np.uint16) if ids.max() <= _SMALL else ids
        order = np.argsort(small, kind="stable")
        ids, steps = ids[order], points.steps[order]
        values, wall_times = points.values[order], points.wall_times[order]
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    counts = np.diff(np.append(starts, len(ids))).astype(np.uint32)
    return Columns(stream, ids[starts], counts, steps, values, wall_times)


def preview(stream: int, items: Iterable[Item]) -> Preview:
    """The points among the items, which share one table of names, as a preview; an empty one where there are none."""
    batches = [item for item in items if isinstance(item, Points)]
    if not batches:
        none = np.empty(0, np.uint32)
        return Preview(Columns(stream, none, none, np.empty(0, np.int64), np.empty(0), np.empty(0)), ())
    points = _joined(batches)
    return Preview(grouped(stream, points), tuple(points.names))
