"""What is remembered of an event file's metrics: their names, and the bytes by which a record of one is known."""

from __future__ import annotations

import struct
from collections.abc import Callable

from msgspec import Struct, field

from tuimon.formats._event_content import Scalar
from tuimon.formats._tensorboard_event import Event

MAX_METRICS = 1 << 18
"""Metric names of one file; points of more are counted as lost."""
WALL_SIZE = 9
"""Bytes of an event's wall time with its key."""
_SUMMARY_KEY, _NESTED_KEY = 0x2A, 0x0A
_LEAST_PLAIN = 11
"""Bytes of a plain scalar's summary but its tag."""

_UNPACK = {
    numpy_name: struct.Struct(code).unpack_from
    for numpy_name, code in {"<f2": "<e", "<f4": "<f", "<f8": "<d", "<i4": "<i", "<i8": "<q", "<u1": "<B"}.items()
}


class Enclosed(Struct):
    """Single scalar events whose value is not their end (tensors): what is around the value -> the metric."""

    before_end: int
    """Bytes from the value's first one to the end of the event."""
    after: int
    """Bytes from the end of the value to the end of the event."""
    unpack: Callable[[bytes, int], tuple[float]]
    metrics: dict[bytes, int] = field(default_factory=dict)


class EventMetrics:
    """The metrics of one file."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.by_tag: dict[bytes, int] = {}
        self.plain: dict[bytes, int] = {}
        """Metrics by all that stands between the step and the value of a plain scalar's event."""
        self.enclosed: dict[int, list[Enclosed]] = {}
        """By the number of bytes after the step."""
        self._ids: dict[str, int] = {}
        self._unproved: list[tuple[int, bytes, bytes]] = []
        """(record, tag, key in `plain`) of metrics whose first record has not been checked yet."""
        self._memo = 0
        """Entries of `plain` and `enclosed` together."""

    def of_tag(self, tag: bytes) -> int | None:
        """Its metric, a new one if need be; None where there are too many."""
        metric = self.by_tag.get(tag)
        if metric is None:
            name = tag.decode("utf-8", "replace")
            metric = self._ids.get(name)
            if metric is None:
                if len(self.names) >= MAX_METRICS:
                    return None
                metric = self._ids[name] = len(self.names)
                self.names.append(name)
            if len(self.by_tag) < MAX_METRICS:
                self.by_tag[tag] = metric
        return metric

    def new_plain(self, data: bytes, at: int, end: int, record: int) -> int | None:
        """The metric of a plain scalar's event, with its summary at data[at:end], that is the first with this tag; None
        for any other. Its record is checked together with those around it: a run may have ten thousand metrics."""
        size = end - at
        if not _LEAST_PLAIN < size < 130 or self._memo >= MAX_METRICS or len(self.names) >= MAX_METRICS:
            return None
        if data[at : at + 6] != bytes(
            (_SUMMARY_KEY, size - 2, _NESTED_KEY, size - 4, _NESTED_KEY, size - _LEAST_PLAIN)
        ):
            return None
        tag = data[at + 6 : end - 5]
        if tag in self.by_tag or len(self.by_tag) >= MAX_METRICS:
            return None
        try:
            name = tag.decode()
        except UnicodeDecodeError:
            return None
        if name in self._ids:
            return None
        key = data[at : end - 4]
        metric = self._ids[name] = self.by_tag[tag] = self.plain[key] = len(self.names)
        self.names.append(name)
        self._memo += 1
        self._unproved.append((record, tag, key))
        return metric

    def proved(self) -> None:
        """The records so far are as they were written."""
        self._unproved.clear()

    def forget(self, first: int) -> None:
        """Metrics that were met first in this record, which is damaged, or later: what it says is not so. The records
        before it are as they were written."""
        while self._unproved and self._unproved[-1][0] >= first:
            _, tag, key = self._unproved.pop()
            del self._ids[self.names.pop()], self.by_tag[tag], self.plain[key]
            self._memo -= 1
        self.proved()

    def is_memorable(self, data: bytes, event: Event, scalars: list[Scalar], start: int) -> bool:
        """Is the event one scalar, laid out as nearly every writer does: wall time, step if not 0, summary?"""
        if len(event.values) != 1 or len(scalars) != 1 or event.session_status or event.writer:
            return False
        if self._memo >= MAX_METRICS:
            return False
        if event.values[0].plugin not in ("", "scalars") or scalars[0].dtype not in _UNPACK:
            return False
        if event.wall_offset != start + 1 or event.step_offset not in (-1, start + WALL_SIZE + 1):
            return False
        at = summary_offset(event, start)
        return data[at] == _SUMMARY_KEY and scalars[0].offset > at

    def remember(self, data: bytes, event: Event, scalar: Scalar, start: int, end: int) -> None:
        """What the bytes around a scalar's value stand for."""
        self._memo += 1
        metric = self.by_tag[scalar.tag]
        at = summary_offset(event, start)
        if scalar.offset == end - 4 and scalar.dtype == "<f4":
            self.plain[data[at : end - 4]] = metric
            return
        before_end = end - scalar.offset
        after = before_end - int(scalar.dtype[-1])
        unpack = _UNPACK[scalar.dtype]
        kinds = self.enclosed.setdefault(end - at, [])
        for kind in kinds:
            if (kind.before_end, kind.after, kind.unpack) == (before_end, after, unpack):
                break
        else:
            kind = Enclosed(before_end, after, unpack)
            kinds.append(kind)
        kind.metrics[data[at : scalar.offset] + data[end - after : end]] = metric


def summary_offset(event: Event, start: int) -> int:
    """Where what follows wall time and step begins, in an event that starts with them."""
    return start + WALL_SIZE if event.step_offset < 0 else event.step_offset + event.step_size
