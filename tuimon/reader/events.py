"""Convert the decoded items of a stream to events: names before they are used, points grouped by metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tuimon.model.equal import is_predictable
from tuimon.model.events import (
    AttemptStarted,
    Columns,
    Event,
    FactFound,
    MetricsFound,
    Preview,
    SegmentStarted,
    StreamReplaced,
)
from tuimon.model.points import Fact, Ids, Item, Points, Replaced, SegmentStart
from tuimon.reader.attempts import AttemptFinder

MAX_POINTS = 1 << 18
"""Maximum number of points in one event, unless a single batch has more."""


class EventEncoder:
    """Converts the items of one stream to events, and assigns ids to its metric names.

    A decoder that starts again has another table of names, possibly in another order. A name keeps the id that it was
    announced with, so that points logged after a restart belong to the same metric.
    """

    def __init__(self, stream: int, shown_names: Mapping[str, str] | None = None) -> None:
        """shown_names: names by which others are replaced."""
        self.stream = stream
        self._shown_names = shown_names or {}
        self._id_of: dict[str, int] = {}
        self._names: Sequence[str] = ()
        """The table of names of the current decoder."""
        self._ids: list[int] = []
        """Ids of the names in the table, as far as they were announced."""
        self._id_array: Ids | None = None
        """`_ids` as an array; None if each id equals the name's index in the table, as for the first decoder."""
        self.point_count = 0
        """Number of points since the stream began or was last replaced."""
        self._attempts = AttemptFinder()

    def events(self, items: Iterable[Item]) -> Iterator[Event]:
        """Yield the events of the items. Damage has none: it is counted in the status of the stream."""
        for item in join_batches(items):
            match item:
                case Points():
                    if item.names is not self._names:
                        self._names, self._ids, self._id_array = item.names, [], None
                    if len(item.names) > len(self._ids):
                        yield from self._announce(item.names[len(self._ids) :])
                    self.point_count += len(item)
                    ids = item.metric if self._id_array is None else self._id_array[item.metric]
                    yield group_by_metric(self.stream, item, ids)
                    for own in self._attempts.add(ids, item.steps):
                        counts = tuple(own.counts.tolist())
                        yield AttemptStarted(self.stream, own.step, own.highest, own.stride, counts)
                case SegmentStart():
                    yield SegmentStarted(self.stream, item.step, item.purge)
                case Replaced():
                    self.point_count = 0
                    self._attempts = AttemptFinder()
                    self._attempts.note_names([is_predictable(name) for name in self._id_of])
                    yield StreamReplaced(self.stream)
                case Fact():
                    yield FactFound(self.stream, item)

    @property
    def metric_count(self) -> int:
        """Number of metrics announced."""
        return len(self._id_of)

    def _announce(self, names: Sequence[str]) -> Iterator[MetricsFound]:
        """Announce the new ones of the next names in the table."""
        if self._shown_names:
            names = [self._shown_names.get(name, name) for name in names]
        first, index = len(self._id_of), len(self._ids)
        new = tuple(dict.fromkeys(name for name in names if name not in self._id_of))
        self._id_of.update(zip(new, range(first, first + len(new)), strict=True))
        ids = [self._id_of[name] for name in names]
        self._ids += ids
        if self._id_array is not None or ids != list(range(index, index + len(ids))):
            self._id_array = np.array(self._ids, np.uint32)
        if new:
            self._attempts.note_names([is_predictable(name) for name in new])
            yield MetricsFound(self.stream, first, new)


def join_batches(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, with consecutive batches of points joined: each batch costs the store work for each metric."""
    waiting: list[Points] = []
    count = 0
    for item in items:
        if isinstance(item, Points) and waiting and item.names is waiting[0].names and count + len(item) <= MAX_POINTS:
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
    """Join batches that share one table of names."""
    if len(batches) == 1:
        return batches[0]
    return Points(
        batches[0].names,
        np.concatenate([batch.metric for batch in batches]),
        np.concatenate([batch.steps for batch in batches]),
        np.concatenate([batch.values for batch in batches]),
        np.concatenate([batch.wall_times for batch in batches]),
    )


def group_by_metric(stream: int, points: Points, ids: Ids) -> Columns:
    """Points in file order as columns grouped by metric; the order within a metric is kept. ids: uint32 (n,)."""
    if len(ids) == 1 or (ids[1:] >= ids[:-1]).all():  # one metric, or a single step of several metrics
        steps, values, wall_times = points.steps, points.values, points.wall_times
    else:
        small = ids.astype(np.uint16) if ids.max() <= 0xFFFF else ids  # radix sort, several times as fast
        order = np.argsort(small, kind="stable")
        ids, steps = ids[order], points.steps[order]
        values, wall_times = points.values[order], points.wall_times[order]
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    counts = np.diff(np.append(starts, len(ids))).astype(np.uint32)
    return Columns(stream, ids[starts], counts, steps, values, wall_times)


def preview(stream: int, items: Iterable[Item]) -> Preview:
    """A preview with the points of the last attempt among the items, which share one table of names; may be empty."""
    batches = [item for item in items if isinstance(item, Points)]
    if not batches:
        empty = np.empty(0, np.uint32)
        return Preview(Columns(stream, empty, empty, np.empty(0, np.int64), np.empty(0), np.empty(0)), ())
    points = _joined(batches)
    if starts := list(AttemptFinder().add(points.metric, points.steps)):
        points = points.select(slice(int(starts[-1].counts.sum()), None))
    return Preview(group_by_metric(stream, points, points.metric), tuple(points.names))
