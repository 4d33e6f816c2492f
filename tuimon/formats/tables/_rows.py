"""Conversion of the rows below one header of a separated table into points."""

from __future__ import annotations

import numpy as np

from tuimon.formats._shared.cells import Mask, read_cells, text_cells
from tuimon.formats._shared.row_steps import RowSteps, StepBatch, StepUnit
from tuimon.formats._shared.rows import BATCH_KEYS, is_clock, seconds
from tuimon.formats.tables._header import EPISODES, EXACT, Header
from tuimon.model.points import Floats, Names, Points
from tuimon.text import decoded

_ROW_STARTS = b"0123456789+-.,;|\t "
"""First bytes of lines that cannot be a header."""
_STARTS_ROW = np.zeros(256, np.bool_)
_STARTS_ROW[list(_ROW_STARTS)] = True
_NAMED = 5
"""Number of columns that a remark names."""
_SHOWN = 40
"""Bytes of a cell that a remark quotes."""
_UNITS_FROM, _UNITS = np.array([1e11, 1e14, 1e17]), np.array([1.0, 1e3, 1e6, 1e9])
"""Timestamps from which on the next unit is assumed, and the units of a timestamp (parts of a second)."""
_BLOCK = 32
"""Minimum number of lines for which checking them together is faster."""


class Rows:
    """The rows below one header."""

    def __init__(self, header: Header, names: Names, start_time: float, unit: StepUnit | None = None) -> None:
        self.header = header
        self._names = names
        self._ids = np.full(len(header.names), -1, np.int64)
        self._times = list(header.times)
        self._date: int | None = None
        """Column that is the time because of the date in its first row; its numbers are points."""
        self._is_first = True
        """Whether the first row is still to be read."""
        self._clocks = list(header.clocks)
        """Columns in CLOCK_KEYS without a cell so far."""
        self._texts: dict[int, tuple[int, bytes]] = {}
        """Number of cells with text by column, and the first of them."""
        self._with_numbers = np.zeros(len(header.names), np.bool_)
        """Whether a column has had a number."""
        self._no_points = np.flatnonzero(~np.array(header.numeric))
        self._step_columns = list(header.steps)
        self._separators = len(header.names) - 1
        self._starts = _ROW_STARTS if header.names[0] else _ROW_STARTS.replace(header.separator, b"")
        """First bytes of plain rows, after blanks; a header without a first name begins with a separator."""
        self.steps = RowSteps(unit=unit)
        lower = [name.lower() for name in header.names]
        self._epoch = lower.index("epoch") if "epoch" in lower else None
        self._batch: int | None = None
        """Column of a counter within an epoch, until its first value shows whether it is one."""
        if [lower[column] for column in header.steps] == ["epoch"]:
            self._batch = next((lower.index(key) for key in BATCH_KEYS if key in lower), None)
        self._start_time = start_time
        self._elapsed = header.names.index("t") if "t" in header.names and start_time == start_time else None

    def plain(self, lines: list[bytes]) -> list[bytes] | None:
        """Return the lines without "\\r" if all of them are plain rows (see `is_row`); None if one may not be, or if
        they are too few to be checked together."""
        if len(lines) < _BLOCK or self.header.line[:1] in _ROW_STARTS:
            return None
        flat = b"\n".join(lines)
        if flat.endswith(b"\r"):
            flat = flat[:-1].replace(b"\r\n", b"\n")
            if flat.endswith(b"\r"):
                flat = flat[:-1].replace(b"\r\n", b"\n")
            lines = flat.split(b"\n")
        if flat.endswith(b"\n") or b'"' in flat or b"\r" in flat or b"\0" in flat:
            return None
        buffer = np.frombuffer(flat, np.uint8)
        marks = np.flatnonzero((buffer == ord(self.header.separator)) | (buffer == ord(b"\n")))
        cells = self._separators + 1
        if len(marks) != len(lines) * cells - 1:
            return None
        ends = marks[cells - 1 :: cells]
        good = (buffer[ends] == ord(b"\n")).all() and _STARTS_ROW[buffer[np.append(0, ends + 1)]].all()
        return lines if good else None

    def is_row(self, line: bytes) -> bool:
        """Return True for a plain row: the right number of cells, no quotes, no NUL, not a header."""
        return (
            line.count(self.header.separator) == self._separators
            and line.lstrip(b" ")[:1] in self._starts  # an empty line too, but it has no separators
            and b'"' not in line
            and b"\0" not in line
            and line != self.header.line
        )

    def is_like(self, other: Header) -> bool:
        """Return True if another header has mostly the same columns."""
        shared = len(set(self.header.names) & set(other.names))
        return 2 * shared > min(len(self.header.names), len(other.names))

    def points(self, rows: list[bytes]) -> Points | None:
        """Convert the next rows; return None if they hold no points."""
        values, present = read_cells(rows, self.header.separator, len(self.header.names))
        texts = text_cells(rows, self.header.separator, present)
        self._find_times(values, present, texts)
        self._with_numbers |= present.any(axis=0)
        for place, (more, _, cell) in texts.items():
            count, first = self._texts.get(place, (0, cell))
            self._texts[place] = count + more, first
        present[:, self._no_points] = False
        wall_times = self._wall_times(rows, values, present)
        batch = self._named_steps(values, present)
        steps = self.steps.fill(batch, np.asarray(present.any(axis=1)))
        if self.header.key is not None:
            present &= np.arange(len(self.header.names)) == self.header.value
        counts = present.sum(axis=0)
        whole = np.flatnonzero(counts)
        if not len(whole):
            return None
        for index in whole[self._ids[whole] < 0].tolist() if self.header.key is None else ():
            self._ids[index] = self._names.id(self.header.names[index])
        if self.header.key is None and (counts[whole] == len(rows)).all():  # a seventh of the time of what follows
            count, width = len(rows), len(whole)
            metric = np.tile(self._ids[whole].astype(np.uint32), count)
            columns = np.repeat(steps, width), values[:, whole].ravel(), np.repeat(wall_times, width)
            return Points(self._names.names, metric, *columns)
        row, column = np.nonzero(present)
        if self.header.key is None:
            ids = self._ids[column]
        else:
            names = [self.header.split(rows[index])[self.header.key] for index in row.tolist()]
            ids = np.array([self._names.id(decoded(name.strip())) for name in names])
        return Points(self._names.names, ids.astype(np.uint32), steps[row], values[row, column], wall_times[row])

    @property
    def remark(self) -> str:
        """Note for the user about cells that are not numbers, and rows without a step; "" without one."""
        mixed = [
            f"{count} cell{'s'[: count > 1]} of {self.header.names[column]} "
            f"{'are not numbers' if count > 1 else 'is not a number'}: {decoded(first[:_SHOWN])}"
            for column, (count, first) in sorted(self._texts.items())
            if self._with_numbers[column] and self.header.numeric[column] and column not in self._times
        ]
        return "; ".join([*mixed[:_NAMED], *filter(None, [self._step_remark])])

    @property
    def _step_remark(self) -> str:
        return "" if self.header.names[:3] == EPISODES else self.steps.missing.remark

    def _find_times(self, values: Floats, present: Mask, texts: dict[int, tuple[int, int, bytes]]) -> None:
        """Decide which columns are times besides those with the name of a time: by their first cells."""
        for column in list(self._clocks):
            if (known := np.flatnonzero(present[:, column])).size:
                self._clocks.remove(column)
                if is_clock(float(values[known[0], column])):
                    self._times.append(column)
        if self._is_first and not self.header.times:
            dates = [
                column for column, (_, row, cell) in texts.items() if row == 0 and seconds(decoded(cell)) is not None
            ]
            self._times += dates[:1]
            self._date = dates[0] if dates else None
        self._is_first = False

    def _wall_times(self, rows: list[bytes], values: Floats, present: Mask) -> Floats:
        """Return the wall time of each row (NaN if unknown), and clear the cells it came from in `present`."""
        wall_times = np.full(len(rows), np.nan)
        for column in self._times:
            is_number = present[:, column] & (column != self._date)
            times = _seconds(np.where(is_number, values[:, column], np.nan))
            for index in np.flatnonzero(~present[:, column]).tolist():
                text = self.header.split(rows[index])[column]
                times[index] = seconds(text.decode("utf-8", "replace").strip()) or np.nan
            fresh = np.isnan(wall_times) & ~np.isnan(times)
            wall_times[fresh] = times[fresh]
            present[fresh, column] = False
        if self._elapsed is not None:
            elapsed = np.where(present[:, self._elapsed], values[:, self._elapsed], np.nan)
            wall_times = np.where(np.isnan(wall_times), self._start_time + elapsed, wall_times)
        return wall_times

    def _named_steps(self, values: Floats, present: Mask) -> StepBatch:
        """Return the steps that the rows name, and clear the cells they came from in `present`."""
        if self._batch is not None and self._epoch is not None:
            self._decide_batch(values, present, self._batch, self._epoch)
        batch = StepBatch(len(values))
        if self._epoch is not None:
            batch.epochs = np.where(present[:, self._epoch], values[:, self._epoch], np.nan)
        for column in list(self._step_columns):
            numbers, name = values[:, column], self.header.names[column]
            known = present[:, column] & (np.abs(numbers) < EXACT)  # excludes NaN and infinities
            fractions = np.flatnonzero(known & (numbers != np.floor(numbers)))
            if len(fractions):
                known[fractions[0] :] = False
                self._step_columns.remove(column)
            known &= ~batch.has_step
            if name.lower() in BATCH_KEYS:
                known &= ~np.isnan(batch.epochs)
            rows = np.flatnonzero(known)
            batch.steps[rows] = numbers[rows]
            batch.set(rows, name)
            if "/" not in name:
                present[rows, column] = False
        of_epoch = self.steps.over_epochs(batch)
        if self._epoch is not None:
            present[of_epoch, self._epoch] = True
        return batch

    def _decide_batch(self, values: Floats, present: Mask, batch: int, epoch: int) -> None:
        """Decide from the first row with an epoch whether `batch` is a counter."""
        first = np.flatnonzero(present[:, epoch])[:1]
        if len(first):
            self._batch = None
            if present[first[0], batch] and values[first[0], batch] == 0:
                self._step_columns.insert(0, batch)


def _seconds(numbers: Floats) -> Floats:
    """Convert timestamps in s, ms, µs or ns to seconds since the epoch (NaN if out of range), as `rows.seconds`."""
    unit = _UNITS[np.searchsorted(_UNITS_FROM, numbers, side="right")]
    return np.where((numbers > 1e9) & (numbers < 1e20), numbers / unit, np.nan)
