"""Decoding of many scalar events at once: nearly all of a file differ from an earlier one only in a few bytes.

    09 <wall time> 10 <step> 2a .. 0a .. 0a 04 "loss" 15 <value>       the bytes in <> differ, the step may be absent

The summary after the step is recognised by its checksum: CRC-32C is linear, so the stored checksum combined with the
contributions of all bytes that differ is that of the lengths, tags and metadata. Those that are known by this checksum
are then compared byte for byte, so that neither the metric nor the checksum of an event is ever assumed. The order of
the events does not matter.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tuimon.formats._shared.crc32c import Bytes, Offsets, Words, contributions, register, unmasked
from tuimon.formats.tensorboard._event_content import Scalar
from tuimon.formats.tensorboard._event_message import Event
from tuimon.model.points import Floats, Ids, Steps

MAX_KNOWN = 1 << 18
"""Summaries that are remembered; events with others are decoded one by one."""
_LONGEST = 1 << 12  # bytes of an event; the contributions to the checksum of the longest one are tabulated
_MAX_LAYOUTS = 8  # layouts of summaries of the same length
_LEAST = 4  # events of the same length below which decoding them one by one is faster
_WALL_KEY, _STEP_KEY = 0x09, 0x10
_WALL, _NO_STEP, _STEP = 1, 9, 10
"""Positions of the wall time, of the summary without a step, and of the step in an event."""
_PADDING = bytes(32)  # read beyond the last event

Place = tuple[int, str]
"""Position of a value in a summary, and its numpy dtype."""


class Known:
    """The events of a block that were recognised. All arrays but the last two have one element for each event of the
    block."""

    def __init__(self, events: int) -> None:
        self.counts: Offsets = np.full(events, -1, np.int64)
        """Number of values, -1 for an event that was not recognised."""
        self.firsts: Offsets = np.zeros(events, np.int64)
        """Index of the first value of each event in `metric` and `values`."""
        self.steps: Steps = np.zeros(events, np.int64)
        self.walls: Floats = np.zeros(events)
        self.metric: Ids = np.zeros(0, np.uint32)
        self.values: Floats = np.zeros(0)


class KnownEvents:
    """The events that were decoded one by one, and the decoding of those that are like them."""

    def __init__(self) -> None:
        self._count = 0
        self._layouts: dict[int, list[_Layout]] = {}
        """Layouts by the length of the summary."""

    def learn(self, data: bytes, start: int, end: int, event: Event, scalars: list[Scalar], metric: list[int]) -> None:
        """Remember an event whose values are all scalars of fixed size, in the usual order: wall time, step, values.

        metric: the ids of the scalars.
        """
        if not scalars or len(scalars) != len(event.values) or len(metric) != len(scalars):
            return
        if event.wall_offset != start + _WALL or event.step_offset not in (-1, start + _STEP):
            return
        if event.session_status or event.writer or end - start >= _LONGEST or self._count >= MAX_KNOWN:
            return
        summary = start + (_STEP + event.step_size if event.step_size else _NO_STEP)
        layouts = self._layouts.setdefault(end - summary, [])
        places = tuple((scalar.offset - summary, scalar.dtype) for scalar in scalars)
        layout = next((known for known in layouts if known.places == places), None)
        if layout is None:
            if len(layouts) >= _MAX_LAYOUTS:
                return
            layout = _Layout(end - summary, places)
            layouts.append(layout)
        self._count += layout.learn(data[summary:end], metric)

    def recognise(self, data: bytes, starts: Offsets, ends: Offsets) -> Known:
        """Return what is known of the events data[starts[i]:ends[i]]; their checksums are verified."""
        known = Known(len(starts))
        if not self._layouts or len(starts) < _LEAST:
            return known
        buffer = np.frombuffer(data + _PADDING, np.uint8)
        heads = _Heads(buffer, starts, ends)
        known.steps, known.walls = heads.steps, heads.walls
        order = np.argsort(heads.sizes, kind="stable")
        bounds = [0, *(np.flatnonzero(np.diff(heads.sizes[order])) + 1).tolist(), len(order)]
        metric: list[Ids] = []
        values: list[Floats] = []
        count = 0
        for begin, end in pairwise(bounds):
            rows = order[begin:end]
            for layout in self._layouts.get(int(heads.sizes[rows[0]]), ()):
                if len(rows) < _LEAST:
                    break
                found, ids, numbers = layout.decode(buffer, ends[rows], heads.checksums[rows])
                chosen, rows = (rows, rows[:0]) if found.all() else (rows[found], rows[~found])
                width = ids.shape[1]
                known.counts[chosen] = width
                known.firsts[chosen] = np.arange(count, count + ids.size, width)
                metric.append(ids.ravel())
                values.append(numbers.ravel())
                count += ids.size
        if metric:
            known.metric, known.values = np.concatenate(metric), np.concatenate(values)
        return known


class _Heads:
    """Wall times and steps of events, and the checksums of their summaries without an initial value."""

    def __init__(self, buffer: Bytes, starts: Offsets, ends: Offsets) -> None:
        self.steps: Steps = np.zeros(len(starts), np.int64)
        lengths = ends - starts
        fits = (buffer[starts] == _WALL_KEY) & (lengths < _LONGEST)
        last = np.where(fits, lengths - 1, _STEP + 10)
        table = contributions(max(_STEP + 10, int(last.max())).bit_length()).ravel()
        last <<= 8  # place of byte 0 in the table
        self.walls: Floats = _gathered(buffer, "<f8", starts + _WALL)
        self.checksums: Words = ~unmasked(_gathered(buffer, "<u4", ends)) ^ table.take(last + (_WALL_KEY ^ 255))
        for place, column in enumerate(self.walls.view(np.uint8).reshape(-1, 8).T, _WALL):
            inverted = 255 if place < 4 else 0  # see `register`
            self.checksums ^= table.take(last - (place << 8) + (column ^ inverted))
        going = buffer[starts + _NO_STEP] == _STEP_KEY
        sizes = 1 + going
        self.checksums ^= np.where(going, table.take(last - (_NO_STEP << 8) + _STEP_KEY), np.uint32(0))
        for byte in range(10):
            if not going.any():
                break
            column = buffer[starts + (_STEP + byte)]
            self.checksums ^= np.where(going, table.take(last - (_STEP + byte << 8) + column), np.uint32(0))
            self.steps |= np.where(going, (column & 127).astype(np.int64) << (7 * byte), 0)
            sizes += going
            going &= column > 127
        self.sizes = np.where(fits & ~going, np.maximum(lengths - _WALL - 7 - sizes, 0), 0).astype(np.uint16)
        """Bytes of the summary; 0 if the event does not begin with a wall time, or is too long."""


class _Layout:
    """Summaries of one length with their values at the same places; of each known one the bytes that do not differ."""

    def __init__(self, length: int, places: tuple[Place, ...]) -> None:
        self.places = places
        self._length = length
        self._words = -(-length // 8)
        fields = [(place, np.dtype(kind).itemsize) for place, kind in places]
        mask = np.zeros(8 * self._words, np.uint8)
        mask[:length] = 255
        for place, size in fields:
            mask[place : place + size] = 0
        self._mask = mask.view(np.uint64)
        self._table = contributions(length.bit_length())
        self._differing = [byte for place, size in fields for byte in range(place, place + size)]
        edges = [0, *(edge for place, size in sorted(fields) for edge in (place, place + size)), length]
        self._fixed = list(zip(edges[::2], edges[1::2], strict=True))
        self._known: set[bytes] = set()
        self._learned: list[tuple[bytes, list[int]]] = []
        self._rests = np.zeros((0, self._words), np.uint64)
        self._checksums = np.zeros(0, np.uint32)
        self._metric = np.zeros((0, len(places)), np.uint32)

    def learn(self, summary: bytes, metric: list[int]) -> bool:
        """Remember a summary; return False if it is known."""
        rest = b"".join([summary[begin:end] for begin, end in self._fixed])
        if rest in self._known:
            return False
        self._known.add(rest)
        self._learned.append((summary, metric))
        return True

    def decode(self, buffer: Bytes, ends: Offsets, checksums: Words) -> tuple[npt.NDArray[np.bool_], Ids, Floats]:
        """Return (which of the summaries that end there are known; of these: metric ids and values)."""
        self._add_learned()
        rows = np.ndarray((len(buffer) - 8 * self._words + 1, self._words), "<u8", buffer, 0, (1, 8))
        words: npt.NDArray[np.uint64] = rows[ends - self._length]
        data = words.view(np.uint8)
        checksums = self._without_values(data, checksums)
        index = np.minimum(np.searchsorted(self._checksums, checksums), len(self._checksums) - 1)
        same = (words & self._mask) == self._rests.take(index, axis=0)
        found = self._checksums.take(index) == checksums
        if not same.all() or not found.all():
            found &= same.all(axis=1)
            index, data = index[found], data[found]
        values = np.empty((len(index), len(self.places)))
        with np.errstate(invalid="ignore"):  # signalling NaNs are valid values
            for column, (place, kind) in enumerate(self.places):
                raw = np.ascontiguousarray(data[:, place : place + np.dtype(kind).itemsize])
                values[:, column] = raw.view(kind)[:, 0]
        return found, self._metric.take(index, axis=0), values

    def _without_values(self, summaries: Bytes, checksums: Words) -> Words:
        """Remove the contributions of the values from checksums."""
        for place in self._differing:
            checksums = checksums ^ self._table[self._length - 1 - place][summaries[:, place]]
        return checksums

    def _add_learned(self) -> None:
        """Add the summaries learned since the last call to the arrays, which are sorted by checksum."""
        if not self._learned:
            return
        size, count = 8 * self._words, len(self._learned)
        padded = b"".join(summary.ljust(size, b"\0") for summary, _ in self._learned)
        words = np.frombuffer(padded, np.uint64).reshape(count, -1)
        checksums = np.array([register(summary) for summary, _ in self._learned], np.uint32)
        checksums = self._without_values(words.view(np.uint8), checksums)
        checksums = np.concatenate((self._checksums, checksums))
        order = np.argsort(checksums, kind="stable")
        self._checksums = checksums[order]
        self._rests = np.concatenate((self._rests, words & self._mask))[order]
        self._metric = np.concatenate((self._metric, np.array([ids for _, ids in self._learned], np.uint32)))[order]
        self._learned.clear()


def _gathered(buffer: Bytes, kind: str, positions: Offsets) -> npt.NDArray[Any]:
    """Return the numbers at byte offsets, which need not be aligned."""
    size = np.dtype(kind).itemsize
    anywhere: npt.NDArray[Any] = np.ndarray((len(buffer) - size + 1,), kind, buffer, 0, (1,))
    return anywhere[positions]
