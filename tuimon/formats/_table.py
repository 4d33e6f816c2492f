"""A separated table that grows at its end, as a stream of points; see _table_header for what its columns mean.

- An empty cell, NA, and any other text is no point; nan, inf and -inf in any case are. Rows need not be full: several
  may share a step, each with other cells (Lightning).
- A row without a step has the step of the row before it, and in a table without any its number among those rows.
  A step with a fraction is none (an epoch of 0.5), nor is anything in that column from there on.
- The header again, or one that shares its names, says that another writer goes on from here: a new segment.
- A row with more or fewer cells than the header is damage. The last line waits for its end: nothing tells whether its
  last number is whole.
- A table that is rewritten with a longer header gives only the rows that are new; see _rewrites. Rows that differ from
  those given before open a new segment, unless the file turns out to have been in the middle of being rewritten.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tuimon.errors import FormatError
from tuimon.formats import RestartableDecoder
from tuimon.formats._json import BOM, parse
from tuimon.formats._lines import LineSplitter
from tuimon.formats._rewrites import RowMemory, row_hashes
from tuimon.formats._row_reader import UNKNOWN_STEP, Names
from tuimon.formats._rows import seconds
from tuimon.formats._table_cells import unquoted
from tuimon.formats._table_header import Header, read_header
from tuimon.formats._table_rows import Batch, Rows
from tuimon.model.points import Damage, Item, Points, SegmentStart


class TableDecoder(RestartableDecoder):
    """A RestartableDecoder of one table."""

    def __init__(self) -> None:
        self._names = Names()
        self._memory = RowMemory()
        self.restart()

    def restart(self) -> None:
        """See RestartableDecoder."""
        self._lines = LineSplitter()
        self._table: Rows | None = None
        self._start_time = math.nan
        self._first = True
        self._held: list[Item] | None = None
        """Rows unlike those told before, until it is sure that they will stay."""
        self._memory.restart()

    def feed(self, data: bytes) -> list[Item]:
        items = self._release() if data else []  # the file grows behind what is held, so that was no passing state
        for part in self._lines.feed(data):
            if isinstance(part, Damage):
                self._tell(part, items)
                continue
            for item in self._read(*part):
                if isinstance(item, Batch):
                    self._tell_points(*item, items)
                else:
                    self._tell(item, items)
        return items

    def flush(self) -> list[Item]:
        return self._release()

    def jump(self) -> bool:
        """What is fed next is whole lines from further down; rows without a step before the first that has one get
        UNKNOWN_STEP. False while no header has been read."""
        if self._table is not None:
            self._table.last_step = UNKNOWN_STEP
        self._lines = LineSplitter()
        return self._table is not None

    def _release(self) -> list[Item]:
        items, self._held = self._held or [], None
        self._memory.accept()
        return items

    def _tell(self, item: Item, items: list[Item]) -> None:
        if not self._memory.behind:  # else it was told before the table was rewritten
            (items if self._held is None else self._held).append(item)

    def _tell_points(self, points: Points, starts: npt.NDArray[np.intp], items: list[Item]) -> None:
        same = self._memory.repeated(row_hashes(points, starts))
        if same == len(starts):
            return
        if self._memory.apart and self._held is None:
            self._held = [SegmentStart(None, purge=False)]
        new = slice(int(starts[same]), None)
        columns = points.metric[new], points.steps[new], points.values[new], points.wall_times[new]
        (items if self._held is None else self._held).append(Points(points.names, *columns))

    def _read(self, offset: int, lines: list[bytes]) -> Iterator[Batch | Damage | SegmentStart]:
        """What whole lines hold, in their order."""
        plain = self._table.plain(lines) if self._table is not None else None
        if plain is not None:
            yield from self._batch(plain)
            return
        rows: list[bytes] = []
        for line in lines:
            row = line[:-1] if line.endswith(b"\r") else line
            if self._table is None or not self._table.is_row(row):
                odd = self._read_odd(row.strip(b"\0"), offset, len(line) + 1)
                row = odd if isinstance(odd, bytes) else b""
                if isinstance(odd, Header | Damage):
                    yield from self._batch(rows)
                    rows = []
                if isinstance(odd, Damage):
                    yield odd
                elif isinstance(odd, Header):
                    if self._table is not None:
                        yield SegmentStart(None, purge=False)
                    self._table = Rows(odd, self._names, self._start_time)
            if row:
                rows.append(row)
            offset += len(line) + 1
        yield from self._batch(rows)

    def _batch(self, rows: list[bytes]) -> Iterator[Batch]:
        batch = self._table.points(rows) if self._table is not None and rows else None
        if batch is not None:
            yield batch

    def _read_odd(self, line: bytes, offset: int, length: int) -> bytes | Header | Damage | None:
        """A line that is not a plain row: a row without its quotes, a header, damage, or nothing."""
        if self._first:
            self._first, line = False, line.removeprefix(BOM)
        if not line.strip():
            return None
        if line.startswith(b"#"):
            self._start_time = _start_time(line)
            return None
        table = self._table
        header = read_header(line)
        if header is not None and (table is None or table.is_like(header)):
            return header
        if table is None:
            return Damage(offset, length, "no header before this row")
        if b"\0" in line:
            return Damage(offset, length, "NUL bytes within a row")
        row = unquoted(line, table.header.separator) if b'"' in line else line
        if row is None:
            return Damage(offset, length, "quote without its end")
        cells = row.count(table.header.separator) + 1
        if cells != len(table.header.names):
            return Damage(offset, length, f"row with {cells} cells below {len(table.header.names)} names")
        return row


def _start_time(line: bytes) -> float:
    """Of Stable-Baselines3's '#{"t_start": 1795224133.48, "env_id": "CartPole-v1"}'; NaN for any other comment."""
    try:
        comment = parse(line.lstrip(b"#"))
    except FormatError:
        return math.nan
    start = seconds(comment.get("t_start")) if isinstance(comment, dict) else None
    return math.nan if start is None else start
