"""Decoding of event records one after the other, of any kind and in any order.

A record that differs from an earlier one only in wall time, step and value, as nearly all do, costs one or two
dictionary look-ups; others are decoded field by field. No item of a record is returned before its checksum has been
verified: at once for a record with something new (a metric, a restart, a text), else for a batch of records together.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping
from enum import Enum, auto

import numpy as np

from tuimon.errors import FormatError
from tuimon.formats._shared.protobuf import varint
from tuimon.formats.tensorboard._event_content import EventContent, Scalar
from tuimon.formats.tensorboard._event_message import Event, read_event
from tuimon.formats.tensorboard._event_metrics import WALL_SIZE, EventMetrics
from tuimon.formats.tensorboard._large_event import LARGE
from tuimon.formats.tensorboard._records import FOOTER, HEADER, Lengths, first_damaged, is_intact
from tuimon.formats.tensorboard._row_template import RowLayout
from tuimon.model.points import Damage, Item, Points

_WALL_KEY, _STEP_KEY = 0x09, 0x10

_MAX_EMPTY_BYTES = 1 << 20  # approximate number of bytes remembered of events without items
_POINTS_A_RECORD = 8  # a walk ends after this many points per requested record

_double = struct.Struct("<d").unpack_from
_float = struct.Struct("<f").unpack_from


class Stop(Enum):
    """Reason why a walk ended. It refers to the record at the position that the walk returned."""

    END = auto()
    """The bytes end before the end of the record."""
    NO_HEADER = auto()
    """The header is invalid."""
    DAMAGED = auto()
    """The checksum of the record's data is wrong."""
    NOT_AN_EVENT = auto()
    """The checksum is right, but the data is not an Event."""
    LARGE = auto()
    """The record is to be read by LargeEvent."""
    TEMPLATE = auto()
    """A row template may fit from here on."""
    LIMIT = auto()
    """As many records as requested have been read."""


class EventWalker:
    """Holds the state from record to record and collects points until `take_points`."""

    def __init__(self) -> None:
        self.metrics = EventMetrics()
        self.names = self.metrics.names
        self.shapes: list[Hashable] = []
        """One per record of the last walk and of those that it resumed: equal shapes usually mean equal layouts. None
        if a template cannot hold the record."""
        self.starts: list[int] = []
        """Start of the data of each of these records."""
        self.ends: list[int] = []
        """End of the data of each of these records."""
        self.resumed = 0
        """Number of these records that were read by earlier walks."""
        self._checked = 0  # number of leading records whose checksum has been verified
        self._damaged = -1  # position of the first damaged record of the walk, or -1
        self._stopped: tuple[bytes, int] = b"", 0
        """Data and position where the last walk stopped, if it reached its limit."""
        self._points_before: list[int] = []
        self._lengths = Lengths()
        self._content = EventContent()
        self._empty_events: set[bytes] = set()  # results of `_after_step` for events without items
        self._lost_points = 0
        self._metric: list[int] = []
        self._steps: list[int] = []
        self._values: list[float] = []
        self._walls: list[float] = []

    def take_points(self) -> list[Item]:
        """Return the points collected so far as [Points], or []."""
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
        """Return the points lost because there are too many metrics as [Damage], or []."""
        lost, self._lost_points = self._lost_points, 0
        return [Damage(offset, 0, "too many metric names", lost)] if lost else []

    def walk(
        self,
        data: bytes,
        position: int,
        limit: int,
        heads: Mapping[Hashable, int],
        items: list[Item],
        resume: bool = False,
    ) -> tuple[int, Stop]:
        """Read at most `limit` records from data[position:], fewer if they hold many values.

        Return the position of the first unread record and the reason for stopping. `heads` maps the shape of a row
        template's first record to the number of bytes that must be left for using it. Items other than points are
        appended to `items`, after the points that precede them. `resume`: keep the records of a walk that stopped here
        at its limit.
        """
        if not resume or self._stopped[0] is not data or self._stopped[1] != position:
            self._reset()
        shapes, starts, ends, before = self.shapes, self.starts, self.ends, self._points_before
        metrics, steps, values, walls = self._metric, self._steps, self._values, self._walls
        lengths, plain, enclosed = self._lengths, self.metrics.plain, self.metrics.enclosed
        size = len(data)
        most_points = len(metrics) + _POINTS_A_RECORD * limit
        first = self.resumed = len(starts)
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
                after_step = start + WALL_SIZE
                step = 0
                if data[after_step] == _STEP_KEY:
                    step = data[after_step + 1]
                    after_step += 2
                    if step >= 128:
                        step &= 127
                        for shift in range(7, 70, 7):
                            byte = data[after_step]
                            after_step += 1
                            step |= (byte & 127) << shift
                            if byte < 128:
                                break
                        if step >> 63:
                            step = (step & 0xFFFF_FFFF_FFFF_FFFF) - (1 << 64)
                metric = plain.get(data[after_step : end - 4])
                if metric is not None:
                    value = _float(data, end - 4)[0]
                    shape = metric << 4 | after_step - start - WALL_SIZE
                elif end - after_step in enclosed:
                    for layout in enclosed[end - after_step]:
                        place = end - layout.before_end
                        metric = layout.metrics.get(data[after_step:place] + data[end - layout.after : end])
                        if metric is not None:
                            value = float(layout.unpack(data, place)[0])
                            shape = (metric, after_step - start, place - start)
                            break
            if metric is None:
                stop = self._read_other(data, start, end, heads, items)
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
        if not self._check_records(data):
            return self._damaged, Stop.DAMAGED
        self._stopped = (data, position) if stop is Stop.LIMIT else (b"", 0)
        return position, stop or Stop.LIMIT

    def read_checked(self, event_bytes: bytes, items: list[Item]) -> None:
        """Read an Event without verifying a checksum. Raises FormatError if it is not an Event."""
        self._reset()
        event = read_event(event_bytes, 0, len(event_bytes))
        scalars = self._content.scalars(event_bytes, event)
        has_items = self._read_other_items(event_bytes, event, items)
        self._add(event, scalars)
        if not scalars and not has_items and len(self._empty_events) * len(event_bytes) < _MAX_EMPTY_BYTES:
            self._empty_events.add(_after_step(event_bytes))

    def is_known_empty(self, event_bytes: bytes) -> bool:
        """Return whether the event differs only in wall time and step from one without items."""
        return _after_step(event_bytes) in self._empty_events

    def layout(self, data: bytes, first: int) -> RowLayout:
        """Return the layout of the records of the last walk from index `first` on, all of which have a shape."""
        starts, ends = np.array(self.starts[first:], np.int64), np.array(self.ends[first:], np.int64)
        shapes = self.shapes[first:]
        all_records = np.arange(len(shapes))
        if all(type(shape) is int for shape in shapes):
            plain = np.array(shapes, np.int64)
            sizes = np.maximum((plain & 15) - 1, 0)
            steps = starts + (WALL_SIZE + 1)
            kinds = np.full(len(plain), "<f4")
            return RowLayout(
                starts, ends, starts + 1, steps, sizes, (plain >> 4).astype(np.uint32), all_records, ends - 4, kinds
            )
        events = [read_event(data, start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        scalars = [self._content.scalars(data, event) for event in events]
        all_scalars = [scalar for row in scalars for scalar in row]
        return RowLayout(
            starts,
            ends,
            np.array([event.wall_offset for event in events]),
            np.array([event.step_offset for event in events]),
            np.array([event.step_size for event in events]),
            np.array([self.metrics.by_tag[scalar.tag] for scalar in all_scalars], np.uint32),
            np.repeat(all_records, [len(row) for row in scalars]),
            np.array([scalar.offset for scalar in all_scalars]),
            np.array([scalar.dtype for scalar in all_scalars]),
        )

    def _reset(self) -> None:
        for records in (self.shapes, self.starts, self.ends, self._points_before):
            records.clear()
        self._checked = 0
        self._damaged = -1
        self._stopped = b"", 0

    def _check_records(self, data: bytes) -> bool:
        """Verify the checksums not verified yet, drop the records from the first damaged one on, and return whether all
        are right."""
        if self._damaged >= 0:
            return False
        damaged = first_damaged(data, self.starts[self._checked :], self.ends[self._checked :])
        if damaged < 0:
            self._checked = len(self.starts)
            return True
        first = self._checked + damaged
        self._damaged = self.starts[first] - HEADER
        kept = self._points_before[first]
        for column in (self._metric, self._steps, self._values, self._walls):
            del column[kept:]
        for records in (self.shapes, self.starts, self.ends, self._points_before):
            del records[first:]
        return False

    def _read_other(
        self, data: bytes, start: int, end: int, heads: Mapping[Hashable, int], items: list[Item]
    ) -> Stop | None:
        """Read a record that is not known to be a plain scalar. Return None if it has been read."""
        try:
            event = read_event(data, start, end)
            scalars = self._content.scalars(data, event)
        except FormatError:
            return Stop.NOT_AN_EVENT if is_intact(data, start, end) else Stop.DAMAGED
        shape: Hashable = None
        cacheable = self.metrics.is_cacheable(data, event, scalars, start)
        if (
            cacheable
            or self._content.has_other_items(event)
            or not all(scalar.tag in self.metrics.by_tag for scalar in scalars)
        ):
            if not self._check_records(data) or not is_intact(data, start, end):
                return Stop.DAMAGED
            try:
                self._read_other_items(data, event, items)
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
        if cacheable and scalars[0].tag in self.metrics.by_tag:
            self.metrics.cache(data, event, scalars[0], start, end)
        return None

    def _shape(self, event: Event, scalars: list[Scalar], length: int) -> Hashable:
        if not scalars or len(scalars) < len(event.values) or event.wall_offset < 0:
            return None
        if any(scalar.offset < 0 for scalar in scalars):
            return None
        return length, event.step_size, *(self.metrics.by_tag[scalar.tag] for scalar in scalars)

    def _read_other_items(self, data: bytes, event: Event, items: list[Item]) -> bool:
        """Append segment starts and facts of the event to `items`, and return whether there are any."""
        if self._content.has_other_items(event):
            self._empty_events.clear()  # the plugin of a tag may have changed
        new_items = self._content.other_items(data, event)
        if new_items:
            items += self.take_points()
            items += new_items
        return bool(new_items)

    def _add(self, event: Event, scalars: list[Scalar]) -> None:
        for tag, value, _, _ in scalars:
            metric = self.metrics.id_of(tag)
            if metric is None:
                self._lost_points += 1
                continue
            self._metric.append(metric)
            self._steps.append(event.step)
            self._values.append(value)
            self._walls.append(event.wall_time)


def _after_step(event: bytes) -> bytes:
    """Return the event without wall time and step if it begins with them, as is usual, else the whole event."""
    position = WALL_SIZE
    if event[:1] != bytes([_WALL_KEY]) or len(event) <= position:
        return event
    if event[position] == _STEP_KEY:
        position = varint(event, position + 1, len(event))[1]
    return event[position:]
