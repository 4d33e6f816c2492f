"""A long line of columns (`{"prompt": ["…", …], "completion": ["…", …], …}`) whose cells are read one row at a time.

ms-swift and ROLL write a step as one line, of up to hundreds of megabytes; a parsed line takes several times its size.
The line is searched once, in blocks, for strings, lists of numbers, brackets and commas; offsets of cells are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats._shared.json import parse
from tuimon.samples.shapes._json_rows import SKIPPED
from tuimon.sources.files import Signature, open_regular

_BLOCK = 1 << 20
_MAX_CELLS = 1 << 20
"""Maximum number of cells of a column; a longer list contains no texts, but tokens."""
_MAX_SHARED = 1 << 20
"""Maximum size (bytes) of a value that is not a list and belongs to all rows; a larger one is left out."""
_MAX_KEY = 4096
_KEY = re.compile(rb'[ \t\r]*("(?:[^"\\]|\\.)*+")[ \t\r]*:[ \t\r]*', re.DOTALL)
_COMMA = ord(",")
_TABLES = {"data", "rowData", "samples"}
"""Lists that contain rows."""
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|\[[^\[\]{}"]*+\]|[\[\]{},"]', re.DOTALL)
"""A string, a list of numbers, a bracket, a comma, or the beginning of a string whose end is not in the block."""


class Column(NamedTuple):
    """A list in the line."""

    name: str
    separators: npt.NDArray[np.int64]
    """Offsets in the file of the opening bracket, of the commas, and of the closing bracket."""

    def cell(self, descriptor: int, row: int) -> bytes:
        """Read the JSON text of a cell."""
        start, end = int(self.separators[row]) + 1, int(self.separators[row + 1])
        return os.pread(descriptor, end - start, start)


class LargeLine(NamedTuple):
    """A line and the places of its cells."""

    end: int
    """Offset after the line."""
    columns: tuple[Column, ...] = ()
    """Lists of equal length, at least one of texts; empty if the line is something else, or incomplete."""
    shared: dict[str, Any] = {}  # noqa: RUF012
    """The other values."""

    def rows(self, descriptor: int, start: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows whose first cell is at offset `start` or after it, each with the offset of that cell."""
        first = self.columns[0].separators[:-1]
        for row in range(int(np.searchsorted(first, start)), len(first)):
            cells = b",".join([column.cell(descriptor, row) for column in self.columns])
            try:
                values = parse(b"[%b]" % cells)
            except FormatError:
                continue  # the file has changed meanwhile
            if len(values) == len(self.columns):
                yield int(first[row]), self.shared | dict(zip((c.name for c in self.columns), values, strict=True))


def find_line_start(descriptor: int, offset: int) -> int:
    """Return the offset of the beginning of the line that contains a byte."""
    size = 1  # mostly the offset is that of a line
    while offset > 0:
        before, size = max(offset - size, 0), _BLOCK
        newline = os.pread(descriptor, offset - before, before).rfind(b"\n")
        if newline >= 0:
            return before + newline + 1
        offset = before
    return 0


@lru_cache(maxsize=1)  # without it, each text of a line of 200 MB takes as long as the first: about 1 s
def large_line(path: str, start: int, file: Signature) -> LargeLine:
    """Search the line at offset `start` of a file. file: identifies the contents. Raises OSError."""
    descriptor, _ = open_regular(path)
    try:
        end = _line_end(descriptor, start)
        search = _Search(descriptor)
        columns = search.columns(start, end)
        return LargeLine(end, columns, search.shared)
    finally:
        os.close(descriptor)


def _line_end(descriptor: int, offset: int) -> int:
    while block := os.pread(descriptor, _BLOCK, offset):
        newline = block.find(b"\n")
        if newline >= 0:
            return offset + newline + 1
        offset += len(block)
    return offset


class _Search:
    """The search of a line, with its state between two blocks."""

    def __init__(self, descriptor: int) -> None:
        self.shared: dict[str, Any] = {}
        self._descriptor = descriptor
        self._depth = 0
        self._member = -1
        """Offset of the key of the current member of the object; -1 before the object."""
        self._inner: list[int] = []
        """Offsets of the brackets of the current member, if it has any, and of its commas."""
        self._columns: list[Column] = []

    def columns(self, start: int, end: int) -> tuple[Column, ...]:
        """Return the columns of the line from `start` to `end`; () if it is something else, or incomplete."""
        block = b""
        while start < end:
            at = start + len(block)
            block += os.pread(self._descriptor, min(max(_BLOCK, len(block)), end - at), at)
            used = self._read(block, start) if start + len(block) > at else -1
            if used < 0:
                return ()
            block, start = block[used:], start + used
        return self._equal_columns() if self._depth == 0 else ()

    def _equal_columns(self) -> tuple[Column, ...]:
        names = {column.name for column in self._columns}
        size = max((len(column.separators) for column in self._columns), default=0)
        equal = tuple(column for column in self._columns if len(column.separators) == size)
        if size < 3 or len(equal) < 2 or 2 * len(equal) <= len(self._columns) or names & _TABLES:
            return ()
        for column in self._columns:
            if column not in equal:
                self._share(column.name, int(column.separators[0]), int(column.separators[-1]) + 1)
        return equal if any(column.cell(self._descriptor, 0).lstrip()[:1] == b'"' for column in equal) else ()

    def _read(self, block: bytes, offset: int) -> int:
        """Read the tokens of a block, and return how many bytes they take; -1 if the line is no object."""
        for match in _TOKEN.finditer(block):
            token, place, is_whole = match[0][:1], offset + match.start(), len(match[0]) > 1
            if token == b'"':
                if not is_whole:
                    return match.start()
            elif is_whole and self._depth == 1:
                commas = np.flatnonzero(np.frombuffer(match[0], np.uint8) == _COMMA) + place
                self._inner = [place, *commas[:_MAX_CELLS].tolist(), place + len(match[0]) - 1]
            elif token in b"[{" and not is_whole:
                if self._depth == 0:
                    if token == b"[" or self._member >= 0:
                        return -1
                    self._member = place + 1
                elif self._depth == 1:
                    self._inner = [place]
                self._depth += 1
            elif self._depth == 0:
                return -1
            elif not is_whole:
                if self._depth == 2 and len(self._inner) <= _MAX_CELLS:
                    self._inner.append(place)
                elif self._depth == 1:
                    if not self._read_member(place):
                        return -1
                    self._member, self._inner = place + 1, []
                self._depth -= token != b","
        return len(block)

    def _read_member(self, end: int) -> bool:
        """Read the member that ends at an offset; return whether it has a key."""
        head = os.pread(self._descriptor, min(end - self._member, _MAX_KEY), self._member)
        key = _KEY.match(head)
        if key is None:
            return not head.strip()  # of an empty object
        name = str(parse(key[1]))
        separators = np.array(self._inner, np.int64)
        if head[key.end() : key.end() + 1] != b"[":
            self._share(name, self._member + key.end(), end)
        elif len(separators) <= _MAX_CELLS and name not in SKIPPED:
            self._columns.append(Column(name, separators))
        return True

    def _share(self, name: str, start: int, end: int) -> None:
        if end - start <= _MAX_SHARED:
            with suppress(FormatError):
                self.shared[name] = parse(os.pread(self._descriptor, end - start, start))
