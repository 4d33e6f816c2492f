"""Event records one after the other: any kind, any order, few or many.

A record that differs from one seen before only in wall time, step and value, which nearly all do, costs one or two
look-ups; any other is taken apart. Nothing is told of a record before its data's checksum has been checked: at once
when it says something new (a metric, a restart, a text), else for a batch of records together.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping
from enum import Enum, auto

import numpy as np

from tuimon.errors import FormatError
from tuimon.formats._event_content import EventContent, Scalar
from tuimon.formats._event_metrics import WALL_SIZE, EventMetrics
from tuimon.formats._large_event import LARGE
from tuimon.formats._protobuf import varint
from tuimon.formats._records import FOOTER, HEADER, Lengths, first_damaged, is_intact
from tuimon.formats._row_template import RowLayout
from tuimon.formats._tensorboard_event import Event, read_event
from tuimon.model.points import Damage, Item, Points

_WALL_KEY, _STEP_KEY, _SIMPLE_KEY = 0x09, 0x10, 0x15

_SILENT_BYTES = 1 << 20
"""About so many bytes are remembered of events that say nothing."""
_POINTS_A_RECORD = 8
"""With more points than this times the number of records asked for a walk has done its share."""

_double = struct.Struct("<d").unpack_from
_float = struct.Struct("<f").unpack_from


class Stop(Enum):
    """Why a walk ended. What it is about begins where the walk says it stopped."""

    END = auto()
    """No further whole record is there."""
    NO_HEADER = auto()
    DAMAGED = auto()
    """A record whose data's checksum is wrong."""
    NOT_AN_EVENT = auto()
    """A record whose checksum is right, but which is no Event."""
    LARGE = auto()
    """A record for LargeEvent."""
    TEMPLATE = auto()
    """A row template may fit from here on."""
    LIMIT = auto()
    """As many records have been read as were asked for."""


class EventWalker:
    """Owns what has to be remembered from record to record; collects points until `take_points`."""

    def __init__(self) -> None:
        self.metrics = EventMetrics()
        self.names = self.metrics.names
        self.shapes: list[Hashable] = []
        """Of the last walk and those it went on from, one a record: equal shapes mostly mean equal layouts. None: a
        template cannot hold it."""
        self.starts: list[int] = []
        """Where the data of these records begin …"""
        self.ends: list[int] = []
        """… and end."""
        self.kept = 0
        """So many of them are of those earlier walks."""
        self._checked = 0
        """So many of them are known to have the right checksum."""
        self._damaged = -1
        """Where the first damaged record of the walk begins."""
        self._stopped: tuple[bytes, int] = b"", 0
        """Where the last walk stopped, if only for its limit."""
        self._points_before: list[int] = []
        self._lengths = Lengths()
        self._content = EventContent()
        self._silent: set[bytes] = set()
        """What `_after_step` gives of events that gave nothing."""
        self._too_many = 0
        self._metric: list[int] = []
        self._steps: list[int] = []
        self._values: list[float] = []
        self._walls: list[float] = []

    def take_points(self) -> list[Item]:
        """The points collected so far as [Points], or []."""
        if not self._steps:
            return []
        points = Points(
            self.names,
            np.array(self._metric, np.uint32),
            np.array(self._steps, np.int64),
            np.array(self._values, np.float64),
            np.array(self._walls, np.float64),
        )
        for column in (self._metric, self._steps, self._values, self._walls):
            column.clear()
        return [points]

    def take_lost(self, offset: int) -> list[Item]:
        """The points that were lost because there are too many metrics, as [Damage], or []."""
        lost, self._too_many = self._too_many, 0
        return [Damage(offset, 0, "too many metric names", lost)] if lost else []

    def walk(
        self,
        data: bytes,
        position: int,
        limit: int,
        heads: Mapping[Hashable, int],
        items: list[Item],
        onward: bool = False,
    ) -> tuple[int, Stop]:
        """Reads at most `limit` records from data[position:], fewer if they hold many values.

        Gives where the first unread record begins, and why it ended.
        `heads`: shape of a row template's first record -> how many bytes must be left for it to be worth while.
        `items` gets what is no point, and the points before it.
        onward: the records of a walk that stopped here for its limit are kept.
        """
        if not onward or self._stopped[0] is not data or self._stopped[1] != position:
            self._begin()
        shapes, starts, ends, before = self.shapes, self.starts, self.ends, self._points_before
        metrics, steps, values, walls = self._metric, self._steps, self._values, self._walls
        lengths, plain, enclosed = self._lengths, self.metrics.plain, self.metrics.enclosed
        size = len(data)
        most_points = len(metrics) + _POINTS_A_RECORD * limit
        first = self.kept = len(starts)
        limit += first
        stop: Stop | None = Stop.LIMIT
        while len(starts) < limit:
            start = position + HEADER
            if start > size:
                stop = Stop.END
                break
            length = lengths[data[position:start]]
            end = start + length
            if length < 0:
                stop = Stop.NO_HEADER
                break
            if length > LARGE:
                stop = Stop.LARGE
                break
            if end + FOOTER > size:
                stop = Stop.END
                break
            metric = None
            shape: Hashable = None
            if length > 20 and data[start] == _WALL_KEY:
                at = start + WALL_SIZE
                step = 0
                if data[at] == _STEP_KEY:
                    step = data[at + 1]
                    at += 2
                    if step >= 128:
                        step &= 127
                        for shift in range(7, 70, 7):
                            byte = data[at]
                            at += 1
                            step |= (byte & 127) << shift
                            if byte < 128:
                                break
                        if step >> 63:
                            step = (step & 0xFFFF_FFFF_FFFF_FFFF) - (1 << 64)
                metric = plain.get(data[at : end - 4])
                if metric is not None:
                    value = _float(data, end - 4)[0]
                    shape = metric << 4 | at - start - WALL_SIZE
                elif end - at in enclosed:
                    for kind in enclosed[end - at]:
                        place = end - kind.before_end
                        metric = kind.metrics.get(data[at:place] + data[end - kind.after : end])
                        if metric is not None:
                            value = float(kind.unpack(data, place)[0])
                            shape = (metric, at - start, place - start)
                            break
                if metric is None and data[end - 5] == _SIMPLE_KEY:
                    metric = self.metrics.new_plain(data, at, end, len(starts))
                    if metric is not None:
                        value = _float(data, end - 4)[0]
                        shape = metric << 4 | at - start - WALL_SIZE
            if metric is None:
                stop = self._other(data, start, end, heads, items)
                if stop:
                    break
                if len(metrics) >= most_points:
                    limit = 0
            else:
                if len(starts) > first and shape in heads and size - position >= heads[shape]:
                    stop = Stop.TEMPLATE
                    break
                before.append(len(metrics))
                shapes.append(shape)
                starts.append(start)
                ends.append(end)
                metrics.append(metric)
                steps.append(step)
                walls.append(_double(data, start + 1)[0])
                values.append(value)
            position = end + FOOTER
            stop = Stop.LIMIT
        if not self._settle(data):
            return self._damaged, Stop.DAMAGED
        self._stopped = (data, position) if stop is Stop.LIMIT else (b"", 0)
        return position, stop or Stop.LIMIT

    def read_checked(self, event_bytes: bytes, items: list[Item]) -> None:
        """One Event that needs no check. Raises FormatError when it is none."""
        self._begin()
        event = read_event(event_bytes, 0, len(event_bytes))
        scalars = self._content.scalars(event_bytes, event)
        told = self._tell(event_bytes, event, items)
        self._add(event, scalars)
        if not scalars and not told and len(self._silent) * len(event_bytes) < _SILENT_BYTES:
            self._silent.add(_after_step(event_bytes))

    def is_silent(self, event_bytes: bytes) -> bool:
        """Is all but wall time and step as in an Event that gave nothing, and would again?"""
        return _after_step(event_bytes) in self._silent

    def layout(self, data: bytes, first: int) -> RowLayout:
        """Where things are in the records of the last walk from the one with the index `first` on; all have a shape."""
        starts, ends = np.array(self.starts[first:], np.int64), np.array(self.ends[first:], np.int64)
        shapes = self.shapes[first:]
        everyone = np.arange(len(shapes))
        if all(type(shape) is int for shape in shapes):
            plain = np.array(shapes, np.int64)
            sizes = np.maximum((plain & 15) - 1, 0)
            steps = starts + (WALL_SIZE + 1)
            kinds = np.full(len(plain), "<f4")
            return RowLayout(
                starts, ends, starts + 1, steps, sizes, (plain >> 4).astype(np.uint32), everyone, ends - 4, kinds
            )
        events = [read_event(data, start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        scalars = [self._content.scalars(data, event) for event in events]
        every = [scalar for found in scalars for scalar in found]
        return RowLayout(
            starts,
            ends,
            np.array([event.wall_offset for event in events]),
            np.array([event.step_offset for event in events]),
            np.array([event.step_size for event in events]),
            np.array([self.metrics.by_tag[scalar.tag] for scalar in every], np.uint32),
            np.repeat(everyone, [len(found) for found in scalars]),
            np.array([scalar.offset for scalar in every]),
            np.array([scalar.dtype for scalar in every]),
        )

    def _begin(self) -> None:
        for records in (self.shapes, self.starts, self.ends, self._points_before):
            records.clear()
        self._checked = 0
        self._damaged = -1
        self._stopped = b"", 0

    def _settle(self, data: bytes) -> bool:
        """Checks the records that have not been; from the first damaged one on they are forgotten. Is all well?"""
        if self._damaged >= 0:
            return False
        damaged = first_damaged(data, self.starts[self._checked :], self.ends[self._checked :])
        if damaged < 0:
            self._checked = len(self.starts)
            self.metrics.proved()
            return True
        first = self._checked + damaged
        self.metrics.forget(first)
        self._damaged = self.starts[first] - HEADER
        kept = self._points_before[first]
        for column in (self._metric, self._steps, self._values, self._walls):
            del column[kept:]
        for records in (self.shapes, self.starts, self.ends, self._points_before):
            del records[first:]
        return False

    def _other(
        self, data: bytes, start: int, end: int, heads: Mapping[Hashable, int], items: list[Item]
    ) -> Stop | None:
        """Takes a record apart that is not known to be a plain scalar. None when it has been read."""
        try:
            event = read_event(data, start, end)
            scalars = self._content.scalars(data, event)
        except FormatError:
            return Stop.NOT_AN_EVENT if is_intact(data, start, end) else Stop.DAMAGED
        shape: Hashable = None
        memorable = self.metrics.is_memorable(data, event, scalars, start)
        if (
            memorable
            or self._content.is_news(event)
            or not all(scalar.tag in self.metrics.by_tag for scalar in scalars)
        ):
            if not self._settle(data) or not is_intact(data, start, end):
                return Stop.DAMAGED
            try:
                self._tell(data, event, items)
            except FormatError:
                return Stop.NOT_AN_EVENT
            self._checked += 1
        else:
            shape = self._shape(event, scalars, end - start)
            if shape in heads and self.starts and len(data) - start + HEADER >= heads[shape]:
                return Stop.TEMPLATE
        self.shapes.append(shape)
        self.starts.append(start)
        self.ends.append(end)
        self._points_before.append(len(self._metric))
        self._add(event, scalars)
        if memorable and scalars[0].tag in self.metrics.by_tag:
            self.metrics.remember(data, event, scalars[0], start, end)
        return None

    def _shape(self, event: Event, scalars: list[Scalar], length: int) -> Hashable:
        if not scalars or len(scalars) < len(event.values) or event.wall_offset < 0:
            return None
        if any(scalar.offset < 0 for scalar in scalars):
            return None
        return length, event.step_size, *(self.metrics.by_tag[scalar.tag] for scalar in scalars)

    def _tell(self, data: bytes, event: Event, items: list[Item]) -> bool:
        """Has it told something?"""
        if self._content.is_news(event):
            self._silent.clear()  # what a tag's values are may be another thing now
        told = self._content.tell(data, event)
        if told:
            items += self.take_points()
            items += told
        return bool(told)

    def _add(self, event: Event, scalars: list[Scalar]) -> None:
        for tag, value, _, _ in scalars:
            metric = self.metrics.of_tag(tag)
            if metric is None:
                self._too_many += 1
                continue
            self._metric.append(metric)
            self._steps.append(event.step)
            self._values.append(value)
            self._walls.append(event.wall_time)


def _after_step(event: bytes) -> bytes:
    """All but wall time and step of an event that begins with them, as nearly every one does; else all."""
    at = WALL_SIZE
    if event[:1] != bytes([_WALL_KEY]) or len(event) <= at:
        return event
    if event[at] == _STEP_KEY:
        at = varint(event, at + 1, len(event))[1]
    return event[at:]
