"""Logs of one record a line: the bytes are cut into lines, each line of JSON is parsed, broken ones are named.

A line ends with "\n" ("\r\n" too); blank lines and the NUL padding that a crash leaves are passed over. A line longer
than MAX_LINE is not kept in memory: it is passed over to its end and told as one damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from tuimon.errors import FormatError
from tuimon.formats import StreamDecoder
from tuimon.formats._json import parse, parse_broken, parse_refused
from tuimon.model.points import Damage, Item

MAX_LINE = 16 << 20
"""Bytes. A row of 100 000 metrics has about 4 MB."""
_PIECE = 1 << 20
"""Bytes of lines that are handed on together: bounds the memory that their parsed values take. Less than MAX_LINE."""
_BLANK = b" \t\r\n\0"


class LineSplitter:
    """Cuts a growing log into lines, whatever the cutting of what it is fed."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._offset = 0  # of the first pending byte
        self._passing = 0  # bytes already passed over of a line that is too long

    def feed(self, data: bytes) -> Iterator[tuple[int, list[bytes]] | Damage]:
        """(offset of the first line, whole lines without their "\\n"), in pieces; Damage for a line that is too long.
        The iterator must be used up before the next call."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep(data)
            return
        begin = data.find(b"\n") + 1
        yield from self._first_line(data[:begin])
        while begin < end:
            cut = data.rfind(b"\n", begin, min(begin + _PIECE, end)) + 1 or data.find(b"\n", begin) + 1
            piece = data[begin:cut]
            at, self._offset = self._offset, self._offset + len(piece)
            if len(piece) > MAX_LINE + 1:  # then it is one line
                yield _too_long(at, len(piece))
            else:
                lines = piece.split(b"\n")
                lines.pop()
                yield at, lines
            begin = cut
        self._keep(data[end:])

    def pending(self) -> bytes:
        """The last line as far as it is there; b"" for one that is passed over."""
        return bytes(self._pending)

    def take(self) -> int:
        """The pending bytes have been used as a line: forget them. Returns their offset."""
        at = self._offset
        self._offset += len(self._pending)
        self._pending.clear()
        return at

    def _keep(self, data: bytes) -> None:
        if self._passing:
            self._passing += len(data)
        elif len(self._pending) + len(data) > MAX_LINE:
            self._passing = len(self._pending) + len(data)
            self._pending.clear()
        else:
            self._pending += data

    def _first_line(self, rest: bytes) -> Iterator[tuple[int, list[bytes]] | Damage]:
        """The line that ends with `rest`, newline included."""
        self._keep(rest[:-1])
        at, length = self._offset, self._passing or len(self._pending)
        self._offset += length + 1
        if self._passing:
            self._passing = 0
            yield _too_long(at, length + 1)
        else:
            line = bytes(self._pending)
            self._pending.clear()
            yield at, [line]


def _too_long(offset: int, length: int) -> Damage:
    return Damage(offset, length, f"line longer than {MAX_LINE >> 20} MiB")


class JSONLines(StreamDecoder):
    """A StreamDecoder of JSON lines. `read` turns the values of lines, in file order, into items."""

    def __init__(self, read: Callable[[list[Any]], list[Item]]) -> None:
        self._read = read
        self._lines = LineSplitter()
        self._first_key: str | None = None

    def feed(self, data: bytes) -> list[Item]:
        items: list[Item] = []
        for part in self._lines.feed(data):
            if isinstance(part, Damage):
                items.append(part)
            else:
                items.extend(self._parse(*part))
        return items

    def flush(self) -> list[Item]:
        line = self._lines.pending().strip(_BLANK)
        if not line.endswith((b"}", b"]")):
            return []
        try:
            value = parse(line)
        except FormatError:
            return []
        self._lines.take()
        return self._values([value])

    def _parse(self, offset: int, lines: list[bytes]) -> list[Item]:
        values: list[Any] = []
        damage: list[Item] = []
        noted = at = 0
        left = iter(lines)
        while True:
            before = len(values)
            try:
                values.extend(map(orjson.loads, left))
                break
            except orjson.JSONDecodeError:  # of the one that was taken last
                whole_ones = lines[at : at + len(values) - before]
                offset += sum(map(len, whole_ones)) + len(whole_ones)
                at += len(whole_ones) + 1
                line = lines[at - 1]
                if stripped := line.strip(_BLANK):
                    self._note(values[noted:])
                    noted = len(values)
                    whole, reason = self._mend(stripped, refused=len(stripped) == len(line))
                    values += whole
                    if reason:
                        damage.append(Damage(offset, len(line) + 1, reason))
                offset += len(line) + 1
        return self._values(values) + damage

    def _values(self, values: list[Any]) -> list[Item]:
        self._note(values)
        return self._read(values) if values else []

    def _note(self, values: list[Any]) -> None:
        """Remembers how the latest record begins."""
        row = next((value for value in reversed(values) if value and isinstance(value, dict)), None)
        if row is not None:
            self._first_key = next(iter(row))

    def _mend(self, line: bytes, refused: bool) -> tuple[list[Any], str]:
        """What can be read of a line that is not plain JSON, and what is wrong with the rest ("" when nothing is lost).

        refused: by orjson, as it is."""
        try:
            return [parse_refused(line) if refused else parse(line)], ""
        except FormatError as error:
            reason = error.message
        try:
            whole, lost = parse_broken(line, self._first_key)
        except FormatError:
            return [], reason
        return list(whole), reason if lost else ""
