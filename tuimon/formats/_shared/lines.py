"""Logs of one record per line: splitting into lines, parsing of JSON lines, reports of broken lines.

A line ends with LF, CR LF or CR. Blank lines are skipped. A line longer than MAX_LINE is not kept in memory; it is
skipped and reported as one Damage.

NUL bytes are a hole that a crash or a truncation has left: the bytes in front of it and after it are the remains of two
lines, which must not be joined. So a line that contains one is reported as Damage, and of it only complete JSON objects
are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import orjson

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import StreamDecoder
from tuimon.formats._shared.json import UTF16, is_utf16, parse, parse_refused, whole_values
from tuimon.model.points import Damage, Item, PointsBuilder

MAX_LINE = 16 << 20
"""Bytes. A row of 100 000 metrics has about 4 MB."""
_PIECE = 1 << 20  # bytes of lines returned together: bounds the memory of their parsed values. Less than MAX_LINE.
_BLANK = b" \t\r\n\0"
ROWS_COMPARED = 16
"""Number of complete lines that an unfinished last line is compared with."""
_TORN = (b".", b"e", b"E", b"+", b"-", b"=", b":", b",", b"(", b"[", b"{")
"""Ends of lines within a number, or before one."""
_LONE_RETURN = re.compile(rb"\r(?![\r\n])")
HOLE = "NUL bytes within a line"
"""Reason of the Damage for a line with a hole."""


def may_be_cut(end: bytes, known: Sequence[bytes]) -> bool:
    """Return whether the number that an unfinished line ends with may be the beginning of a longer one.

    known: the ends of up to ROWS_COMPARED complete lines, the newest last. The decimals of full precision vary in
    number, so only a fraction with fewer of them than all other fractions is in doubt; an integer is if it is shorter
    than the newest, and an exponent if it has a single digit.
    """
    if not known:
        return False
    if b"e" in end.lower():
        return len(end.lower().rpartition(b"e")[2].lstrip(b"+-")) < 2
    if b"." not in end:
        return len(end) < len(known[-1])
    fractions = [other for other in known if not other.strip().lstrip(b"+-").isdigit()]
    return len(end) - end.rfind(b".") < min((len(other) - other.rfind(b".") for other in fractions), default=0)


class LineSplitter:
    """Splits a growing log into lines, independently of how its bytes are split."""

    def __init__(self, keep_holes: bool = False) -> None:
        """keep_holes: also return lines with NUL bytes, for which the caller reports Damage."""
        self._pending = bytearray()
        self._offset = 0  # file offset of the first pending byte
        self._skipped = 0  # bytes already skipped of a line that is too long
        self._return = b""  # a carriage return at the end of the bytes so far: a newline may follow
        self._holed = False  # whether the pending bytes contain NUL
        self._keep_holes = keep_holes
        self._reported = -1  # offset of the line whose hole was reported by `hole_at_end`

    def feed(self, data: bytes) -> Iterator[tuple[int, list[bytes]] | Damage]:
        """Yield (file offset of the first line, complete lines without their newlines) in pieces, and Damage for lines
        that are too long or have holes.

        The iterator must be exhausted before the next call.
        """
        if self._return or b"\r" in data:
            data, self._return = self._return + data, b""
            if data.endswith(b"\r"):
                data, self._return = data[:-1], b"\r"
            data = _LONE_RETURN.sub(b"\n", data)
        holed = self._holed or b"\0" in data
        for part in self._split(data):
            if holed and not isinstance(part, Damage):
                yield from self._around_holes(*part)
            else:
                yield part

    def last_line(self) -> Iterator[tuple[int, list[bytes]] | Damage]:
        """Yield the last line if a carriage return ends it, as `feed` does. To be called when no more bytes come."""
        if self._return:
            self._return = b""
            yield from self.feed(b"\n")

    def hole_at_end(self) -> list[Item]:
        """Return Damage for NUL bytes in the incomplete last line, once for each line."""
        if self._reported == self._offset or not self._holed:
            return []
        self._reported = self._offset
        return [Damage(self._offset, len(self._pending), HOLE)]

    def is_reported(self, offset: int) -> bool:
        """Return whether the hole in the line at this offset was returned by `hole_at_end`."""
        return offset == self._reported

    def _around_holes(self, offset: int, lines: list[bytes]) -> Iterator[tuple[int, list[bytes]] | Damage]:
        begin, begun = 0, offset
        for index, line in enumerate(lines):
            if b"\0" in line and not (self._keep_holes and line.strip(_BLANK)):
                if begin < index:
                    yield begun, lines[begin:index]
                if not self.is_reported(offset):
                    yield Damage(offset, len(line) + 1, HOLE)
                begin, begun = index + 1, offset + len(line) + 1
            offset += len(line) + 1
        if begin < len(lines):
            yield begun, lines[begin:]

    def _split(self, data: bytes) -> Iterator[tuple[int, list[bytes]] | Damage]:
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep(data)
            return
        begin = data.find(b"\n") + 1
        yield from self._first_line(data[:begin])
        while begin < end:
            cut = data.rfind(b"\n", begin, min(begin + _PIECE, end)) + 1 or data.find(b"\n", begin) + 1
            piece = data[begin:cut]
            offset, self._offset = self._offset, self._offset + len(piece)
            if len(piece) > MAX_LINE + 1:  # a single line
                yield _too_long(offset, len(piece))
            else:
                lines = piece.split(b"\n")
                lines.pop()
                yield offset, lines
            begin = cut
        self._keep(data[end:])

    def pending(self) -> bytes:
        """Return the incomplete last line; b"" if it is too long."""
        return bytes(self._pending) + self._return

    def can_end(self) -> bool:
        """Return whether there is an incomplete last line that does not end within a number."""
        line = bytes(self._pending[-256:]).rstrip()
        return bool(line) and not line.endswith(_TORN) and not self._holed

    def take(self) -> int:
        """Forget the pending bytes, as they have been used as a line, and return their offset."""
        offset, reported = self._offset, self._reported == self._offset
        self._offset += len(self._pending) + len(self._return)
        self._pending.clear()
        self._return, self._holed = b"", False
        if reported:  # what follows on the same line belongs to that hole
            self._reported = self._offset
        return offset

    def _keep(self, data: bytes) -> None:
        if self._skipped:
            self._skipped += len(data)
        elif len(self._pending) + len(data) > MAX_LINE:
            self._skipped = len(self._pending) + len(data)
            self._pending.clear()
            self._holed = False
        else:
            self._pending += data
            self._holed = self._holed or b"\0" in data

    def _first_line(self, rest: bytes) -> Iterator[tuple[int, list[bytes]] | Damage]:
        """Yield the line that ends with `rest`, which includes the newline."""
        self._keep(rest[:-1])
        offset, length = self._offset, self._skipped or len(self._pending)
        self._offset += length + 1
        if self._skipped:
            self._skipped = 0
            yield _too_long(offset, length + 1)
        else:
            line = bytes(self._pending)
            self._pending.clear()
            self._holed = False
            yield offset, [line]


def _too_long(offset: int, length: int) -> Damage:
    return Damage(offset, length, f"line longer than {MAX_LINE >> 20} MiB")


class LineDecoder(StreamDecoder):
    """Base class of decoders of lines."""

    def __init__(self, keep_holes: bool = False) -> None:
        """keep_holes: see LineSplitter."""
        self._lines = LineSplitter(keep_holes)

    def feed(self, data: bytes) -> list[Item]:
        return self._items(self._lines.feed(data))

    def flush(self) -> list[Item]:
        return [*self._items(self._lines.last_line()), *self._lines.hole_at_end()]

    def _items(self, parts: Iterable[tuple[int, list[bytes]] | Damage]) -> list[Item]:
        items: list[Item] = []
        for part in parts:
            items += [part] if isinstance(part, Damage) else self._read_lines(*part)
        return items

    def _read_lines(self, offset: int, lines: list[bytes]) -> Iterable[Item]:
        """Read lines, the first of which begins at a file offset."""
        raise NotImplementedError


class SingleLineDecoder(LineDecoder):
    """Base class of decoders that read line by line, each of which adds points to `_points`."""

    def __init__(self) -> None:
        super().__init__()
        self._points = PointsBuilder()

    def _items(self, parts: Iterable[tuple[int, list[bytes]] | Damage]) -> list[Item]:
        damage = super()._items(parts)
        return [*self._points.take(), *damage]

    def _read_lines(self, offset: int, lines: list[bytes]) -> Iterator[Item]:
        for line in lines:
            if reason := self._read(line.rstrip(b"\r")):
                yield Damage(offset, len(line) + 1, reason)
            offset += len(line) + 1

    def _read(self, line: bytes) -> str:
        """Read a line and return why it is damaged, or ""."""
        raise NotImplementedError


class JSONLines(LineDecoder):
    """StreamDecoder of JSON lines. `read` converts the values of lines, in file order, to items."""

    def __init__(self, read: Callable[[list[Any]], list[Item]], remark: Callable[[], str] = str) -> None:
        """remark: returns the value of `remark`."""
        super().__init__(keep_holes=True)
        self._read = read
        self._remark = remark
        self._last: list[Any] = []
        """The last value, if there is one."""

    @property
    def remark(self) -> str:
        return self._remark()

    def flush(self) -> list[Item]:
        damage = self._lines.hole_at_end()
        line = self._lines.pending().strip(_BLANK)
        if not line.endswith((b"}", b"]")):
            return damage
        try:
            values = whole_values(line)[0] if b"\0" in line else [parse(line)]
        except FormatError:
            return damage
        self._lines.take()
        return self._given(values) + damage

    def _read_lines(self, offset: int, lines: list[bytes]) -> list[Item]:
        values: list[Any] = []
        damage: list[Item] = []
        index = 0
        remaining = iter(lines)
        while True:
            before = len(values)
            try:
                values.extend(map(orjson.loads, remaining))
                break
            except orjson.JSONDecodeError:  # raised by the last line taken
                parsed = lines[index : index + len(values) - before]
                offset += sum(map(len, parsed)) + len(parsed)
                index += len(parsed) + 1
                line = lines[index - 1]
                if stripped := line.strip(_BLANK):
                    salvaged, reason = self._salvage(stripped, line, values[-1:] or self._last)
                    values += salvaged
                    if reason and not (reason == HOLE and self._lines.is_reported(offset)):
                        damage.append(Damage(offset, len(line) + 1, reason))
                offset += len(line) + 1
        return self._given(values) + damage

    def _given(self, values: list[Any]) -> list[Item]:
        self._last = values[-1:] or self._last
        return self._read(values) if values else []

    def _salvage(self, stripped: bytes, line: bytes, before: list[Any]) -> tuple[list[Any], str]:
        """Return (values that can be read of a line that is not plain JSON, reason if something is lost, else "").

        stripped: the line without the blanks around it. before: the value before it, if there is one."""
        reason = UTF16 if is_utf16(line) else HOLE
        if b"\0" not in line:
            try:
                return [parse_refused(line) if len(stripped) == len(line) else parse(stripped)], ""
            except FormatError as error:
                reason = error.message
        values, lost = whole_values(stripped)
        if lost and not values:
            values = _after_torn(stripped, before)
        return values, reason if lost or b"\0" in line else ""


def _after_torn(line: bytes, before: list[Any]) -> list[Any]:
    """Return the row that follows a torn one on its line, as a killed writer leaves it: `{"step": 2, "lo{"step": 3}`.

    It begins with the first key of the row before, and has the same keys."""
    row = before[0] if before else None
    if not isinstance(row, dict) or not row:
        return []
    begin = line.rfind(b'{"%s"' % next(iter(row)).encode("utf-8", "replace"))
    try:
        found = parse(line[begin:]) if begin > 0 else None
    except FormatError:
        return []
    return [found] if isinstance(found, dict) and found.keys() == row.keys() else []
