"""Decoded items of one stream as events: names announced before they are used, points grouped by metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tuimon.model.events import Columns, Event, FactFound, MetricsFound, Preview, SegmentStarted, StreamReplaced
from tuimon.model.points import Fact, Ids, Item, Points, Replaced, SegmentStart

_MOST = 1 << 18
"""Points of one event, unless a batch has more."""
_SMALL = 0xFFFF
"""numpy sorts 16-bit numbers by their digits, several times as fast as longer ones."""


class Announcer:
    """Turns items into events; remembers which metric names have been told.

    A decoder that begins anew has another table of names, in another order perhaps: a name keeps the id that it was
    told with, so that what is logged of it after a restart is known to be of the same metric.
    """

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self._told: dict[str, int] = {}
        """The id of each name."""
        self._names: Sequence[str] = ()
        self._ids: list[int] = []
        """Of the names in the table, as far as it has been looked at …"""
        self._places: Ids | None = None
        """… as an array; None where each is its name's place in the table, as it is of the first one."""

    def events(self, items: Iterable[Item]) -> Iterator[Event]:
        """Damage gives no event of its own: it is counted in the stream's status."""
        for item in together(items):
            match item:
                case Points():
                    if item.names is not self._names:
                        self._names, self._ids, self._places = item.names, [], None
                    if len(item.names) > len(self._ids):
                        yield from self._tell(item.names[len(self._ids) :])
                    ids = item.metric if self._places is None else self._places[item.metric]
                    yield grouped(self.stream, item, ids)
                case SegmentStart():
                    yield SegmentStarted(self.stream, item.step, item.purge)
                case Replaced():
                    yield StreamReplaced(self.stream)
                case Fact():
                    yield FactFound(self.stream, item)

    @property
    def metrics(self) -> int:
        """How many have been told."""
        return len(self._told)

    def _tell(self, names: Sequence[str]) -> Iterator[MetricsFound]:
        """The next names of the table: those that are new."""
        first, place = len(self._told), len(self._ids)
        new = tuple(dict.fromkeys(name for name in names if name not in self._told))
        self._told.update(zip(new, range(first, first + len(new)), strict=True))
        ids = [self._told[name] for name in names]
        self._ids += ids
        if self._places is not None or ids != list(range(place, place + len(ids))):
            self._places = np.array(self._ids, np.uint32)
        if new:
            yield MetricsFound(self.stream, first, new)


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


def grouped(stream: int, points: Points, ids: Ids) -> Columns:
    """Points in file order as columns grouped by metric; order within a metric is kept. ids: the metric of each."""
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
    return Preview(grouped(stream, points, points.metric), tuple(points.names))
