"""Many event records at once: a training loop writes the same records every step, only some bytes of them differ.

A template is made of one row, some records that follow each other. The bytes that may differ from row to row are each
record's wall time, step and values and the checksum of its data; all others, lengths, tags and metadata with them, must
be equal. The rows that follow and agree are then columns, taken out by numpy.

The data's checksum is checked for every record: as CRC-32C is linear, by what the bytes that differ add to the checksum
of those that do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.formats._crc32c import Bytes, Offsets, Words, contributions, crc32c_many, unmasked
from tuimon.formats._records import FOOTER, HEADER
from tuimon.model.points import Floats, Ids, Steps

Bits: TypeAlias = npt.NDArray[np.int64]

MAX_ROW = 1 << 20
"""Bytes of a row at most."""
_AT_ONCE = 256 << 10
"""Bytes worked on at once: they and the arrays made of them fit the processor's cache."""
_TABULATED = 13
"""Records of up to 2**13 bytes are checked by the table of contributions, longer ones as a whole."""


class Slot(NamedTuple):
    """A value in a record: where its bytes are (offset in the row), and what they are."""

    metric: int
    offset: int
    dtype: str


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Where things are in one record of the row. Offsets are from the start of the row."""

    start: int
    """Of the data, after the header."""
    end: int
    wall_offset: int
    step_offset: int
    step_size: int
    """Bytes of the step's varint; 0 if the record has none."""
    slots: tuple[Slot, ...]


class Rows(NamedTuple):
    """Points of whole rows, in file order."""

    used: int
    """Bytes."""
    metric: Ids
    steps: Steps
    values: Floats
    wall_times: Floats


@dataclass(frozen=True, slots=True)
class _ValueGroup:
    """The values of one dtype."""

    dtype: str
    at: Offsets
    """Where they are in the row."""
    columns: Offsets
    """Which of the row's points they are."""
    records: Offsets
    """Which of the row's records they are in."""
    places: Offsets
    """(bytes of a value, values): see _places."""


class RowTemplate:
    """Made by `learn`."""

    def __init__(self, row: bytes, records: list[RecordLayout]) -> None:
        self.size = len(row)
        self._head = row[:HEADER]
        self._last = records[-1].start - HEADER
        self._last_head = row[self._last : self._last + HEADER]
        slots = [(index, slot) for index, record in enumerate(records) for slot in record.slots]
        self.points = len(slots)
        """Points in a row."""
        self._metrics = np.array([slot.metric for _, slot in slots], np.uint32)
        self._records = np.array([index for index, _ in slots])
        self._one_each = len(slots) == len(records)
        self._step_size = records[0].step_size
        self._starts = np.array([record.start for record in records])
        self._ends = np.array([record.end for record in records])
        self._walls = np.array([record.wall_offset for record in records])
        self._steps = np.array([record.step_offset for record in records])

        longest = int((self._ends - self._starts).max())
        power = longest.bit_length()
        self._table = contributions(power).ravel() if power <= _TABULATED else None
        everyone = np.arange(len(records))
        self._wall_places = self._places(self._walls, everyone, 8)
        self._step_places = self._places(self._steps, everyone, self._step_size)
        self._groups = []
        for dtype in sorted({slot.dtype for _, slot in slots}):
            columns = np.array([column for column, (_, slot) in enumerate(slots) if slot.dtype == dtype])
            at = np.array([slots[column][1].offset for column in columns.tolist()])
            owners = self._records[columns]
            self._groups.append(
                _ValueGroup(dtype, at, columns, owners, self._places(at, owners, _kind(dtype).itemsize))
            )
        self._build_masks(np.frombuffer(row, np.uint8))

    def _places(self, at: Offsets, records: Offsets, size: int) -> Offsets:
        """(size, n): where in the table of contributions the bytes of fields at row offsets `at` are looked up."""
        distance = (self._ends[records] - 1 - at)[None, :] - np.arange(size)[:, None]
        return distance * 256

    def _build_masks(self, row: Bytes) -> None:
        differs = np.zeros(self.size, bool)
        for at, size in ((self._walls, 8), (self._ends, FOOTER), (self._steps, self._step_size)):
            differs[(at[:, None] + np.arange(size)).ravel()] = True
        for group in self._groups:
            differs[(group.at[:, None] + np.arange(_kind(group.dtype).itemsize)).ravel()] = True
        fixed = np.where(differs, 0, row).astype(np.uint8)
        self._fixed_crc = crc32c_many(fixed, self._starts, self._ends - self._starts)
        self._mask: Bytes = np.where(differs, 0, 255).astype(np.uint8)
        # A varint is as long as its bytes say: the bit that says "more follows" may not differ.
        self._mask[(self._steps[:, None] + np.arange(self._step_size)).ravel()] = 128
        self._fixed: Bytes = row & self._mask

    def may_fit(self, data: bytes, start: int) -> bool:
        """Do the headers of the first and the last record stand where they should?"""
        return data.startswith(self._head, start) and data.startswith(self._last_head, start + self._last)

    def take(self, data: bytes, start: int) -> Rows | None:
        """The rows from `start` on up to the first that does not agree or is damaged; None if there are none."""
        count = (len(data) - start) // self.size
        buffer = np.frombuffer(data, np.uint8, count * self.size, start)
        if not count or not self._agreeing(buffer[: self.size].reshape(1, -1)):
            return None
        steps = np.empty((count, self.points), np.int64)
        values = np.empty((count, self.points), np.float64)
        walls = np.empty((count, self.points), np.float64)
        at_once = max(1, _AT_ONCE // self.size)
        rows = 0
        while rows < count:
            block = buffer[rows * self.size : (rows + at_once) * self.size].reshape(-1, self.size)
            good = self._agreeing(block)
            if good:
                into = slice(rows, rows + good)
                good = self._decode(block[:good].ravel(), steps[into], values[into], walls[into])
            rows += good
            if good < len(block):
                break
        if not rows:
            return None
        metric = np.tile(self._metrics, rows)
        return Rows(rows * self.size, metric, steps[:rows].ravel(), values[:rows].ravel(), walls[:rows].ravel())

    def _agreeing(self, block: Bytes) -> int:
        """How many rows from the first on have the template's fixed bytes."""
        equal = ((block & self._mask) == self._fixed).all(axis=1)
        return len(equal) if equal.all() else int(np.argmin(equal))

    def _decode(self, flat: Bytes, steps: Steps, values: Floats, walls: Floats) -> int:
        """Fills the columns of the rows that `flat` holds; how many rows from the first on are undamaged."""
        rows = np.arange(len(steps))[:, None] * self.size
        wall = _field(flat, "<f8", rows + self._walls)
        step_bits: Bits | None = None
        step: Steps | int = 0
        if 0 < self._step_size <= 8:
            step_bits = _field(flat, "<i8", rows + self._steps)
            step = step_bits & 127
            for byte in range(1, self._step_size):
                step |= (step_bits >> (8 * byte) & 127) << (7 * byte)
        elif self._step_size:
            for byte in range(self._step_size):
                step = step | (flat[rows + (self._steps + byte)].astype(np.int64) & 127) << (7 * byte)
        if self._one_each:
            walls[:] = wall
            steps[:] = step
        else:
            walls[:] = wall[:, self._records]
            steps[:] = step[:, self._records] if isinstance(step, np.ndarray) else step
        raw = [_field(flat, _kind(group.dtype), rows + group.at) for group in self._groups]
        with np.errstate(invalid="ignore"):  # a signalling NaN is a value like any other
            for group, found in zip(self._groups, raw, strict=True):
                numbers = (found.astype(np.uint32) << 16).view(np.float32) if group.dtype == "bf" else found
                if len(self._groups) == 1:
                    values[:] = numbers
                else:
                    values[:, group.columns] = numbers
        crc = self._checksums(flat, rows, wall.view(np.int64), step_bits, raw)
        right = (crc == unmasked(_field(flat, "<u4", rows + self._ends))).all(axis=1)
        return len(right) if right.all() else int(np.argmin(right))

    def _checksums(
        self, flat: Bytes, rows: Offsets, wall: Bits, step: Bits | None, raw: list[npt.NDArray[Any]]
    ) -> Words:
        """uint32 (rows, records): the checksum of each record's data."""
        lengths = self._ends - self._starts
        if self._table is None or (step is None and self._step_size):
            starts = (rows + self._starts).ravel()
            return crc32c_many(flat, starts, np.tile(lengths, len(rows))).reshape(len(rows), -1)
        crc = np.tile(self._fixed_crc, (len(rows), 1))
        self._add(crc, wall, self._wall_places[:4])
        high = wall >> 32
        # The upper half of a wall time stays the same for a quarter of an hour.
        self._add(crc, high[:1] if (high == high[0]).all() else high, self._wall_places[4:])
        if step is not None:
            self._add(crc, step, self._step_places)
        for group, found in zip(self._groups, raw, strict=True):
            bits = found.view(f"u{found.dtype.itemsize}").astype(np.int64)
            if self._one_each and len(self._groups) == 1:
                self._add(crc, bits, group.places)
                continue
            part = np.zeros(bits.shape, np.uint32)
            self._add(part, bits, group.places)
            owners, first = np.unique(group.records, return_index=True)
            crc[:, owners] ^= np.bitwise_xor.reduceat(part, first, axis=1)
        return crc

    def _add(self, crc: Words, bits: Bits, places: Offsets) -> None:
        """Adds to `crc` what the bytes of `bits` contribute, the lowest first."""
        assert self._table is not None
        for byte, place in enumerate(places):
            crc ^= self._table.take((bits >> (8 * byte) & 255) + place)


def _kind(dtype: str) -> np.dtype[Any]:
    return np.dtype("<u2" if dtype == "bf" else dtype)


def _field(flat: Bytes, dtype: str | np.dtype[Any], at: Offsets) -> npt.NDArray[Any]:
    """What stands at the byte offsets `at`, which need not be aligned."""
    kind = np.dtype(dtype)
    anywhere: npt.NDArray[Any] = np.ndarray((len(flat) - kind.itemsize + 1,), kind, flat, 0, (1,))
    return anywhere[at]


def learn(data: bytes, records: list[RecordLayout]) -> RowTemplate | None:
    """A template of the row that the records are (offsets from the start of `data`); None if it cannot be one."""
    first, last = records[0].start - HEADER, records[-1].end + FOOTER
    if last - first > MAX_ROW or len({record.step_size for record in records}) > 1:
        return None
    if any(record.wall_offset < 0 or not record.slots for record in records):
        return None
    if any(slot.offset < 0 for record in records for slot in record.slots):
        return None
    shifted = [
        RecordLayout(
            record.start - first,
            record.end - first,
            record.wall_offset - first,
            record.step_offset - first,
            record.step_size,
            tuple(Slot(slot.metric, slot.offset - first, slot.dtype) for slot in record.slots),
        )
        for record in records
    ]
    return RowTemplate(data[first:last], shifted)
