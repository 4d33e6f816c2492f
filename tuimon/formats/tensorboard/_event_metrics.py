"""The metrics of an event file, and the byte patterns by which their records are identified without decoding."""

from __future__ import annotations

import struct
from collections.abc import Callable

from msgspec import Struct, field

from tuimon.formats.tensorboard._event_content import Scalar
from tuimon.formats.tensorboard._event_message import Event

MAX_METRICS = 1 << 18
"""Metric names per file; points of further metrics are counted as lost."""
WALL_SIZE = 9
"""Bytes of an event's wall time including its key."""
_SUMMARY_KEY = 0x2A

_UNPACK = {
    numpy_name: struct.Struct(code).unpack_from
    for numpy_name, code in {"<f2": "<e", "<f4": "<f", "<f8": "<d", "<i4": "<i", "<i8": "<q", "<u1": "<B"}.items()
}


class Enclosed(Struct):
    """Layout of events with a single scalar that is not at their end (tensors): the bytes around the value identify
    it."""

    before_end: int
    """Bytes from the start of the value to the end of the event."""
    after: int
    """Bytes from the end of the value to the end of the event."""
    unpack: Callable[[bytes, int], tuple[float]]
    metrics: dict[bytes, int] = field(default_factory=dict)


class EventMetrics:
    """The metrics of one file. Ids count from 0 in order of appearance."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.by_tag: dict[bytes, int] = {}
        self.plain: dict[bytes, int] = {}
        """Metric id by the bytes between the step and the value of a plain scalar event."""
        self.enclosed: dict[int, list[Enclosed]] = {}
        """Layouts by the number of bytes after the step."""
        self._ids: dict[str, int] = {}
        self._cached = 0  # number of entries in `plain` and `enclosed` together

    def id_of(self, tag: bytes) -> int | None:
        """Return the id of a tag's metric, assigned on first sight; None if there are too many metrics."""
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

    def is_cacheable(self, data: bytes, event: Event, scalars: list[Scalar], start: int) -> bool:
        """Return whether the event is a single scalar in the usual order: wall time, step if not 0, summary."""
        if len(event.values) != 1 or len(scalars) != 1 or event.session_status or event.writer:
            return False
        if self._cached >= MAX_METRICS:
            return False
        if event.values[0].plugin not in ("", "scalars") or scalars[0].dtype not in _UNPACK:
            return False
        if event.wall_offset != start + 1 or event.step_offset not in (-1, start + WALL_SIZE + 1):
            return False
        summary = summary_offset(event, start)
        return data[summary] == _SUMMARY_KEY and scalars[0].offset > summary

    def cache(self, data: bytes, event: Event, scalar: Scalar, start: int, end: int) -> None:
        """Remember that the bytes around a scalar's value identify its metric."""
        self._cached += 1
        metric = self.by_tag[scalar.tag]
        summary = summary_offset(event, start)
        if scalar.offset == end - 4 and scalar.dtype == "<f4":
            self.plain[data[summary : end - 4]] = metric
            return
        before_end = end - scalar.offset
        after = before_end - int(scalar.dtype[-1])
        unpack = _UNPACK[scalar.dtype]
        layouts = self.enclosed.setdefault(end - summary, [])
        for layout in layouts:
            if (layout.before_end, layout.after, layout.unpack) == (before_end, after, unpack):
                break
        else:
            layout = Enclosed(before_end, after, unpack)
            layouts.append(layout)
        layout.metrics[data[summary : scalar.offset] + data[end - after : end]] = metric


def summary_offset(event: Event, start: int) -> int:
    """Position after wall time and step, in an event that starts with them."""
    return start + WALL_SIZE if event.step_offset < 0 else event.step_offset + event.step_size
