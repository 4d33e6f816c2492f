"""Columns that wait on disk, for who goes through all points once: an export of any size in little memory.

What comes is held until it is a million points, over all metrics, and then written behind what is in the file already:
of each metric its steps, its values and its wall times. A metric is read back when it is asked for, whole or piece by
piece. The file has no name from the start, so nothing of it is left behind, however the program ends.
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
from tuimon.scratch import scratch
from tuimon.store.columns import PointColumns

POINTS = 1 << 20
"""Held in memory at most: 24 MiB."""
_LARGE_FILES = "/var/tmp"
"""Where large temporary files belong, by file-hierarchy(7): /tmp is often memory itself."""
_BUFFER = 1 << 20
_STEPS, _VALUES, _WALL_TIMES = range(3)
_TYPES = (np.dtype("<i8"), np.dtype("<f8"), np.dtype("<f8"))

Extent: TypeAlias = tuple[int, int, int]
"""(row of the column, byte of the file, rows): three arrays of 8-byte numbers, one behind the other."""


class Spool:
    """The file, and what waits to be written to it. For one thread."""

    def __init__(self, points: int = POINTS) -> None:
        """points: held in memory at most."""
        self._most = points
        self._count = 0
        self._waiting: dict[SpooledColumns, None] = {}
        self._file: BufferedRandom | None = None
        self._end = 0

    def columns(self) -> SpooledColumns:
        """New ones, without a point."""
        return SpooledColumns(self)

    def holds(self, columns: SpooledColumns, count: int) -> None:
        """So many points more wait in these. Raises TuimonError when there is no room for them on disk."""
        self._waiting[columns] = None
        self._count += count
        if self._count >= self._most:
            for one in self._waiting:
                one.move_out()
            self._waiting.clear()
            self._count = 0

    def write(self, arrays: tuple[npt.NDArray[Any], ...]) -> int:
        """Puts them one behind the other; the byte at which the first begins."""
        begin = self._end
        with _failing_in_words():
            if self._file is None:
                self._file = _nameless()
                weakref.finalize(self, _close, self._file)
            self._file.seek(begin)
            for array, kind in zip(arrays, _TYPES, strict=True):
                self._end += self._file.write(np.ascontiguousarray(array, kind).data)
        return begin

    def read(self, at: int, into: npt.NDArray[Any]) -> None:
        """The bytes from there on that fill the array."""
        assert self._file is not None
        with _failing_in_words():
            self._file.seek(at)
            if self._file.readinto(into.data) != into.nbytes:
                raise OSError(errno.EIO, os.strerror(errno.EIO))


class SpooledColumns(PointColumns):
    """Columns whose first rows are in a file. What is read back of them is kept no longer than it is used."""

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
            self._follow(steps)
            self._tail.extend(steps, values, wall_times)
            self.length += count
            self._spool.holds(self, count)

    def move_out(self) -> None:
        """Into the file."""
        tail, count = self._tail, self._tail.length
        at = self._spool.write((tail.steps[:count], tail.values[:count], tail.wall_times[:count]))
        self._extents.append((self._moved, at, count))
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
        """Rows start:stop of one of the columns."""
        found = np.empty(stop - start, _TYPES[which])
        for row, at, count in self._extents:
            low, high = max(start, row), min(stop, row + count)
            if low < high:
                self._spool.read(at + 8 * (which * count + low - row), found[low - start : high - start])
        if stop > self._moved:
            low = max(start, self._moved)
            found[low - start :] = self._of_tail(which)[low - self._moved : stop - self._moved]
        return found

    def _of_tail(self, which: int) -> npt.NDArray[Any]:
        return (self._tail.steps, self._tail.values, self._tail.wall_times)[which]


def _nameless() -> BufferedRandom:
    named = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    large = scratch() if named or not os.access(_LARGE_FILES, os.W_OK | os.X_OK) else _LARGE_FILES
    return cast(BufferedRandom, tempfile.TemporaryFile(buffering=_BUFFER, dir=large))


def _close(file: BufferedRandom) -> None:
    with contextlib.suppress(OSError):  # what could not be written has been told
        file.close()


@contextlib.contextmanager
def _failing_in_words() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f"set TMPDIR to a directory with room: a point takes {3 * 8} bytes"
        raise TuimonError(f"points cannot be put aside: {error.strerror}", where) from error
