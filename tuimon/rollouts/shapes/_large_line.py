"""A long line of columns (`{"prompt": ["…", …], "completion": ["…", …], …}`) whose cells are read one row at a time.

ms-swift and ROLL write a step as one line, of up to hundreds of megabytes; a parsed line takes several times its size.
The line is searched once, in blocks, for the commas and brackets outside of strings; the offsets of the cells are kept.
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
from tuimon.rollouts.shapes._decoding import SKIPPED
from tuimon.sources.files import Signature, open_regular

_BLOCK = 1 << 20
_MAX_CELLS = 1 << 20
"""Maximum number of cells of a column; a longer list contains no texts, but tokens."""
_MAX_SHARED = 1 << 20
"""Maximum size (bytes) of a value that is not a list and belongs to all rows; a larger one is left out."""
_MAX_KEY = 4096
_KEY = re.compile(rb'[ \t\r]*("(?:[^"\\]|\\.)*+")[ \t\r]*:[ \t\r]*', re.DOTALL)
_QUOTE, _BACKSLASH, _OBJECT = b'"\\{'
_TABLES = {"data", "rowData", "samples"}
"""Lists that contain rows."""
_DEPTH = np.zeros(256, np.int8)
_DEPTH[list(b"[{")], _DEPTH[list(b"]}")] = 1, -1
_IS_TOKEN = _DEPTH != 0
_IS_TOKEN[list(b'",')] = True


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
        return _Search(descriptor, start).run()
    finally:
        os.close(descriptor)


class _Search:
    """The search of a line, with its state between two blocks."""

    def __init__(self, descriptor: int, start: int) -> None:
        self._descriptor, self._start = descriptor, start
        self._depth = 0
        self._in_string = False
        self._escaped = False
        """Whether the next block begins with a character that is escaped."""
        self._member = -1
        """Offset of the key of the current member of the object; -1 before the object."""
        self._inner: list[npt.NDArray[np.int64]] = []
        """Offsets of the brackets of the current member, if it has any, and of its commas."""
        self._columns: list[Column] = []
        self._shared: dict[str, Any] = {}

    def run(self) -> LargeLine:
        offset, valid, complete = self._start, True, False
        while not complete and (block := os.pread(self._descriptor, _BLOCK, offset)):
            text, newline, _ = block.partition(b"\n")
            complete = bool(newline)
            valid = valid and self._search(text, offset)
            offset += len(text) + len(newline)
        columns = self._equal_columns() if valid and self._depth == 0 and not self._in_string else ()
        return LargeLine(offset, columns, self._shared)

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

    def _search(self, block: bytes, offset: int) -> bool:
        """Search a block; return whether the line may be an object so far."""
        codes = np.frombuffer(block, np.uint8)
        places = np.flatnonzero(_IS_TOKEN[codes])
        tokens = codes[places]
        is_quote = tokens == _QUOTE
        if b"\\" in block or self._escaped:
            is_quote &= ~np.isin(places, self._escaped_places(codes), assume_unique=True)
        in_string = (np.cumsum(is_quote) + self._in_string) % 2 == 1
        if len(in_string):
            self._in_string = bool(in_string[-1])
        outside = ~in_string & (tokens != _QUOTE)
        places, tokens = places[outside] + offset, tokens[outside]
        steps = _DEPTH[tokens]
        depths = np.cumsum(steps, dtype=np.int64) + self._depth
        if len(depths):
            self._depth = int(depths[-1])
        levels = np.where(steps < 0, depths + 1, depths)  # depth inside the bracket that a token opens, closes or is in
        chosen = levels <= 2
        return self._read_members(places[chosen], tokens[chosen], levels[chosen])

    def _escaped_places(self, codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """Return the offsets of the characters that follow an odd number of backslashes."""
        slashes = np.flatnonzero(codes == _BACKSLASH)
        if self._escaped:  # the first character is escaped, whatever it is
            slashes = slashes[slashes > 0]
        begins = np.flatnonzero(np.diff(slashes, prepend=-2) != 1)
        lengths = np.diff(begins, append=len(slashes))
        places: npt.NDArray[np.int64] = (slashes[begins] + lengths)[lengths % 2 == 1]
        if self._escaped:
            places = np.concatenate(([0], places))
        self._escaped = bool(len(places)) and int(places[-1]) == len(codes)
        return places

    def _read_members(
        self, places: npt.NDArray[np.int64], tokens: npt.NDArray[np.uint8], levels: npt.NDArray[np.int64]
    ) -> bool:
        """Read the members of the object that end in a block; return False if the line is not an object."""
        begin = 0
        for index in np.flatnonzero(levels <= 1).tolist():
            self._inner.append(places[begin:index])
            begin, place = index + 1, int(places[index])
            if tokens[index] in b"{[":
                if tokens[index] != _OBJECT or self._member >= 0:
                    return False
            elif self._member < 0 or not self._read_member(place):
                return False
            self._member, self._inner = place + 1, []
        self._inner.append(places[begin:])
        if sum(map(len, self._inner)) > _MAX_CELLS:
            self._inner = [np.concatenate(self._inner)[: _MAX_CELLS + 1]]
        return True

    def _read_member(self, end: int) -> bool:
        """Read the member that ends at an offset; return whether it has a key."""
        head = os.pread(self._descriptor, min(end - self._member, _MAX_KEY), self._member)
        key = _KEY.match(head)
        if key is None:
            return not head.strip()  # of an empty object
        name = str(parse(key[1]))
        separators = np.concatenate(self._inner)
        if head[key.end() : key.end() + 1] != b"[":
            self._share(name, self._member + key.end(), end)
        elif len(separators) <= _MAX_CELLS and name not in SKIPPED:
            self._columns.append(Column(name, separators))
        return True

    def _share(self, name: str, start: int, end: int) -> None:
        if end - start <= _MAX_SHARED:
            with suppress(FormatError):
                self._shared[name] = parse(os.pread(self._descriptor, end - start, start))
