"""Decoding of many equal rows of records with numpy: a training loop writes the same records in every step.

A template is made from one row, a sequence of adjacent records. From row to row only the wall time, step, values and
checksum of each record may differ; all other bytes, including lengths, tags and metadata, must be equal. The following
rows that agree with the template are decoded as columns.

The checksum of every record is verified: as CRC-32C is linear, it is the checksum of the fixed bytes combined with the
contributions of the bytes that differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.formats._shared.crc32c import Bytes, Offsets, Words, contributions, crc32c_many, unmasked
from tuimon.formats.tensorboard._records import FOOTER, HEADER
from tuimon.model.points import Floats, Ids, Steps

Bits: TypeAlias = npt.NDArray[np.int64]

MAX_ROW = 1 << 20
"""Maximum size (bytes) of a row."""
_AT_ONCE = 256 << 10  # bytes decoded at once: they and the arrays made from them fit the processor's cache
_TABULATED = 13  # records of up to 2**13 bytes are checked with the table of contributions, longer ones as a whole


class RowLayout(NamedTuple):
    """Positions of the fields in the records of a row, relative to the data that contains it."""

    starts: Offsets
    """Start of each record's data, after the header."""
    ends: Offsets
    """End of each record's data."""
    walls: Offsets
    """Positions of the wall times; negative if absent."""
    steps: Offsets
    """Positions of the steps."""
    step_sizes: Offsets
    """Bytes of the steps' varints; 0 if absent."""
    metrics: Ids
    """Metric id of each value."""
    records: Offsets
    """Index of the record of each value."""
    values: Offsets
    """Position of each value; negative if it has no fixed position."""
    kinds: npt.NDArray[np.str_]
    """Type of each value, see TensorScalar.dtype."""


class Rows(NamedTuple):
    """Points of whole rows, in file order."""

    used: int
    """Bytes that were decoded."""
    metric: Ids
    steps: Steps
    values: Floats
    wall_times: Floats


class _ValueGroup(Struct, frozen=True):
    """The values of one dtype."""

    dtype: str
    positions: Offsets  # positions in the row
    columns: Offsets  # indices among the points of the row
    records: Offsets  # indices of their records in the row
    places: Offsets  # (bytes of a value, values): see RowTemplate._places


class RowTemplate:
    """Decoder of the rows that have one layout; created by `learn`."""

    def __init__(self, row: bytes, layout: RowLayout, first: int) -> None:
        """`row` holds the records; it begins at position `first` of the data that `layout` refers to."""
        self.size = len(row)
        self._starts = layout.starts - first
        self._ends = layout.ends - first
        self._walls = layout.walls - first
        self._steps = layout.steps - first
        self._step_size = int(layout.step_sizes[0])
        self._head = row[:HEADER]
        self._last = int(self._starts[-1]) - HEADER
        self._last_head = row[self._last : self._last + HEADER]
        self.points = len(layout.metrics)
        """Points in a row."""
        self._metrics = layout.metrics
        self._records = layout.records
        self._one_each = self.points == len(layout.starts)

        longest = int((self._ends - self._starts).max())
        power = longest.bit_length()
        self._table = contributions(power).ravel() if power <= _TABULATED else None
        all_records = np.arange(len(self._starts))
        self._wall_places = self._places(self._walls, all_records, 8)
        self._step_places = self._places(self._steps, all_records, self._step_size)
        self._groups = []
        for dtype in sorted(set(layout.kinds.tolist())):
            columns = np.flatnonzero(layout.kinds == dtype)
            positions, owners = layout.values[columns] - first, layout.records[columns]
            self._groups.append(
                _ValueGroup(dtype, positions, columns, owners, self._places(positions, owners, _kind(dtype).itemsize))
            )
        self._build_masks(np.frombuffer(row, np.uint8))

    def _places(self, positions: Offsets, records: Offsets, size: int) -> Offsets:
        """(size, n): indices into the table of contributions for the bytes of fields at the row positions
        `positions`."""
        distance = (self._ends[records] - 1 - positions)[None, :] - np.arange(size)[:, None]
        return distance * 256

    def _build_masks(self, row: Bytes) -> None:
        differs = np.zeros(self.size, bool)
        for positions, size in ((self._walls, 8), (self._ends, FOOTER), (self._steps, self._step_size)):
            differs[(positions[:, None] + np.arange(size)).ravel()] = True
        for group in self._groups:
            differs[(group.positions[:, None] + np.arange(_kind(group.dtype).itemsize)).ravel()] = True
        fixed = np.where(differs, 0, row).astype(np.uint8)
        self._fixed_crc = crc32c_many(fixed, self._starts, self._ends - self._starts)
        self._mask: Bytes = np.where(differs, 0, 255).astype(np.uint8)
        # The length of a varint must not differ, so its continuation bits are compared.
        self._mask[(self._steps[:, None] + np.arange(self._step_size)).ravel()] = 128
        self._fixed: Bytes = row & self._mask

    def may_begin(self, data: bytes, start: int) -> bool:
        """Return whether the header of the first record is at `start`."""
        return data.startswith(self._head, start)

    def may_fit(self, data: bytes, start: int) -> bool:
        """Return whether the headers of the first and the last record are where a row at `start` would have them."""
        return data.startswith(self._head, start) and data.startswith(self._last_head, start + self._last)

    def take(self, data: bytes, start: int) -> Rows | None:
        """Decode the rows from `start` on up to the first that differs or is damaged; None without any."""
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
        """Return the number of leading rows that have the template's fixed bytes."""
        equal = ((block & self._mask) == self._fixed).all(axis=1)
        return len(equal) if equal.all() else int(np.argmin(equal))

    def _decode(self, flat: Bytes, steps: Steps, values: Floats, walls: Floats) -> int:
        """Fill the columns from the rows in `flat`, and return the number of leading rows that are undamaged."""
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
        raw = [_field(flat, _kind(group.dtype), rows + group.positions) for group in self._groups]
        with np.errstate(invalid="ignore"):  # signalling NaNs are valid values
            for group, column in zip(self._groups, raw, strict=True):
                numbers = (column.astype(np.uint32) << 16).view(np.float32) if group.dtype == "bf" else column
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
        """Return the checksum of each record's data as uint32 (rows, records)."""
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
        for group, column in zip(self._groups, raw, strict=True):
            bits = column.view(f"u{column.dtype.itemsize}").astype(np.int64)
            if self._one_each and len(self._groups) == 1:
                self._add(crc, bits, group.places)
                continue
            part = np.zeros(bits.shape, np.uint32)
            self._add(part, bits, group.places)
            owners, first = np.unique(group.records, return_index=True)
            crc[:, owners] ^= np.bitwise_xor.reduceat(part, first, axis=1)
        return crc

    def _add(self, crc: Words, bits: Bits, places: Offsets) -> None:
        """Combine `crc` with the contributions of the bytes of `bits`, lowest byte first."""
        assert self._table is not None
        for byte, place in enumerate(places):
            crc ^= self._table.take((bits >> (8 * byte) & 255) + place)


def _kind(dtype: str) -> np.dtype[Any]:
    return np.dtype("<u2" if dtype == "bf" else dtype)


def _field(flat: Bytes, dtype: str | np.dtype[Any], positions: Offsets) -> npt.NDArray[Any]:
    """Return the values at the byte offsets `positions`, which need not be aligned."""
    kind = np.dtype(dtype)
    anywhere: npt.NDArray[Any] = np.ndarray((len(flat) - kind.itemsize + 1,), kind, flat, 0, (1,))
    return anywhere[positions]


def learn(data: bytes, layout: RowLayout) -> RowTemplate | None:
    """Return a template for the row in `data` with this layout, or None if templates cannot decode it."""
    first, last = int(layout.starts[0]) - HEADER, int(layout.ends[-1]) + FOOTER
    if last - first > MAX_ROW or (layout.step_sizes != layout.step_sizes[0]).any():
        return None
    if (layout.walls < 0).any() or (layout.values < 0).any():
        return None
    if not np.bincount(layout.records, minlength=len(layout.starts)).all():
        return None
    return RowTemplate(data[first:last], layout, first)
