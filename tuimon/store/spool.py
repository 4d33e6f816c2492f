"""Columns kept in a temporary file, for exports of any size in little memory.

Points are collected in memory until there are a million of them over all metrics and then appended to the file, each
metric's steps, values and wall times in turn. A metric is read back on demand, whole or piece by piece. The file is
unlinked from the start, so it disappears however the program ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
import weakref
from collections.abc import Iterator
from io import BufferedRandom
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from tuimon.errors import TuimonError
from tuimon.model.points import Floats, Steps
from tuimon.platform_support import temp_dir
from tuimon.store.columns import PointColumns

POINTS = 1 << 20
"""Maximum number of points in memory (24 MiB)."""
_LARGE_FILES = "/var/tmp"
"""Directory for large temporary files, by file-hierarchy(7); /tmp is often a RAM disk."""
_BUFFER = 1 << 20
_STEPS, _VALUES, _WALL_TIMES = range(3)
_TYPES = (np.dtype("<i8"), np.dtype("<f8"), np.dtype("<f8"))

Extent: TypeAlias = tuple[int, int, int]
"""(row of the column, byte offset in the file, rows): three consecutive arrays of 8-byte numbers."""


class Spool:
    """The temporary file, and the columns with points not yet written to it. Not thread-safe."""

    def __init__(self, points: int = POINTS) -> None:
        """points: maximum number of points in memory."""
        self._most = points
        self._count = 0
        self._waiting: dict[SpooledColumns, None] = {}
        self._file: BufferedRandom | None = None
        self._end = 0

    def columns(self) -> SpooledColumns:
        """Return new, empty columns."""
        return SpooledColumns(self)

    def add(self, columns: SpooledColumns, count: int) -> None:
        """Count points added to some columns, and write all columns to the file if the memory limit is reached.

        Raises TuimonError if the disk is full.
        """
        self._waiting[columns] = None
        self._count += count
        if self._count >= self._most:
            for waiting in self._waiting:
                waiting.move_out()
            self._waiting.clear()
            self._count = 0

    def write(self, arrays: tuple[npt.NDArray[Any], ...]) -> int:
        """Append arrays to the file and return the byte offset of the first."""
        begin = self._end
        with _reporting_errors():
            if self._file is None:
                self._file = _temporary_file()
                weakref.finalize(self, _close, self._file)
            self._file.seek(begin)
            for array, kind in zip(arrays, _TYPES, strict=True):
                self._end += self._file.write(np.ascontiguousarray(array, kind).data)
        return begin

    def read(self, offset: int, into: npt.NDArray[Any]) -> None:
        """Fill an array with the bytes from `offset` on."""
        assert self._file is not None
        with _reporting_errors():
            self._file.seek(offset)
            if self._file.readinto(into.data) != into.nbytes:
                raise OSError(errno.EIO, os.strerror(errno.EIO))


class SpooledColumns(PointColumns):
    """Columns whose first rows are in a file. Whole arrays read back are kept only while they are in use."""

    __slots__ = ("_extents", "_kept", "_moved", "_spool", "_tail")

    def __init__(self, spool: Spool) -> None:
        super().__init__()
        self._spool = spool
        self._tail = PointColumns()
        self._moved = 0
        """Rows in the file; the tail holds the others."""
        self._extents: list[Extent] = []
        self._kept: dict[int, weakref.ref[npt.NDArray[Any]]] = {}

    @property
    def steps(self) -> Steps:
        return self._whole(_STEPS)

    @property
    def values(self) -> Floats:
        return self._whole(_VALUES)

    @property
    def wall_times(self) -> Floats:
        return self._whole(_WALL_TIMES)

    def append(self, step: int, value: float, wall_time: float) -> None:
        self.extend(np.array([step], np.int64), np.array([value]), np.array([wall_time]))

    def extend(self, steps: Steps, values: Floats, wall_times: Floats) -> None:
        count = len(steps)
        if count:
            self._track_order(steps)
            self._tail.extend(steps, values, wall_times)
            self.length += count
            self._spool.add(self, count)

    def move_out(self) -> None:
        """Write the rows in memory to the file."""
        tail, count = self._tail, self._tail.length
        offset = self._spool.write((tail.steps[:count], tail.values[:count], tail.wall_times[:count]))
        self._extents.append((self._moved, offset, count))
        self._moved += count
        self._tail = PointColumns()

    def step_at(self, row: int) -> int:
        return int(self._read(_STEPS, row, row + 1)[0])

    def pieces(self, length: int, rows: int) -> Iterator[tuple[Steps, Floats, Floats]]:
        for start in range(0, length, rows):
            stop = min(start + rows, length)
            steps, values, wall_times = (self._read(which, start, stop) for which in range(3))
            yield steps, values, wall_times

    def _whole(self, which: int) -> npt.NDArray[Any]:
        if not self._extents:
            return self._of_tail(which)
        known = self._kept.get(which)
        array = known() if known is not None else None
        if array is None or len(array) < self.length:
            array = self._read(which, 0, self.length)
            self._kept[which] = weakref.ref(array)
        return array

    def _read(self, which: int, start: int, stop: int) -> npt.NDArray[Any]:
        """Return rows start:stop of the steps, values or wall times."""
        result = np.empty(stop - start, _TYPES[which])
        for row, offset, count in self._extents:
            low, high = max(start, row), min(stop, row + count)
            if low < high:
                self._spool.read(offset + 8 * (which * count + low - row), result[low - start : high - start])
        if stop > self._moved:
            low = max(start, self._moved)
            result[low - start :] = self._of_tail(which)[low - self._moved : stop - self._moved]
        return result

    def _of_tail(self, which: int) -> npt.NDArray[Any]:
        return (self._tail.steps, self._tail.values, self._tail.wall_times)[which]


def _temporary_file() -> BufferedRandom:
    configured = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    large = temp_dir() if configured or not os.access(_LARGE_FILES, os.W_OK | os.X_OK) else _LARGE_FILES
    return cast(BufferedRandom, tempfile.TemporaryFile(buffering=_BUFFER, dir=large))


def _close(file: BufferedRandom) -> None:
    with contextlib.suppress(OSError):  # a failed write has been reported
        file.close()


@contextlib.contextmanager
def _reporting_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = f"set TMPDIR to a directory with room: a point takes {3 * 8} bytes"
        raise TuimonError(f"cannot write temporary file: {error.strerror}", hint) from error
