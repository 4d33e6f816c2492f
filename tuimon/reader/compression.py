"""Decompress logs that are compressed by gzip, in bounded memory (RFC 1952).

Damage to compressed data is noticed late: at the checksum at the end of a member, or at a code that does not exist,
some way behind it. So what was decompressed is held back until WINDOW more bytes have been read without an error, or
the member has ended with the right checksum; what is held when damage is noticed is dropped.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterator

from tuimon.errors import FormatError
from tuimon.model.points import Damage

PIECE = 1 << 20
"""Maximum number of decompressed bytes at a time."""
MAX_RATIO = 100
"""Decompressed bytes for each compressed one. Logs have 5 to 50; zeros and equal lines have 1000."""
WINDOW = 1 << 17
"""Compressed bytes: two of the blocks that zlib writes."""
HOLE = b"\0"
"""Returned in place of what is lost, as decoders of text take NUL bytes for a hole."""
_MAX_HELD = 8
"""Pieces held back at most."""
_FREE = 16 << 20
"""Decompressed bytes for which the ratio does not count."""
_GZIP = 16 + zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b\x08"
_ZEROS = bytes(8)
_WRONG = "incorrect"
"""In the message of zlib for a wrong checksum or length."""
_WRONG_CHECKSUM = "compressed data has a wrong checksum, so its numbers may be wrong"
_WRONG_LENGTH = "incorrect length check"
"""In the message of zlib for a wrong length. The checksum, which precedes it, was right then, and so is the data."""


class WrongChecksum(FormatError):
    """The checksum of a member of which a part has been returned already is wrong."""


class GzipStream:
    """Decompresses a gzip file that is read in pieces. It may have several members; padding after them is ignored."""

    def __init__(self, without: frozenset[int] = frozenset()) -> None:
        """without: offsets of members to leave out, because they are damaged."""
        self._without = without
        self._rest = b""
        self._offset = 0
        self._searching = self._found_again = 0 in without
        """Whether the next member is being searched for, and whether the present one was found by a search, so that it
        may not be a member."""
        self._given = 0
        self._taken = 0
        self.damage: list[Damage] = []
        """Damage since this list was emptied."""
        self._begin()

    def _begin(self) -> None:
        """Begin a member at the present offset."""
        self.member = self._offset
        """Offset of the present member."""
        self._member = zlib.decompressobj(_GZIP)
        self._held: deque[tuple[int, bytes]] = deque()
        self._released = False
        self._holed = False
        """Whether the member has enough zeros that it probably has a hole; a hole may decompress."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes hold, at most PIECE bytes at a time. Raises FormatError."""
        self._given += len(data)
        data, self._rest = self._rest + data, b""
        self._holed = self._holed or _ZEROS in data
        while data:
            if self._searching or self._member.eof:
                if not self._searching and not data.lstrip(b"\0"):
                    self._offset += len(data)
                    return
                known = len(self.damage)
                data = self._next_member(data)
                if len(self.damage) > known:
                    yield HOLE
                if self._searching:
                    self._rest = data
                    return
            before = len(data)
            earlier = self._member.copy()
            try:
                piece = self._member.decompress(data, PIECE)
            except zlib.error as error:
                if _WRONG_LENGTH in str(error):
                    rest, piece = _before_error(earlier, data)
                    self._offset += before - len(rest)
                    self._held.append((self._offset, piece))
                    yield from (held for _, held in self._held)
                    self.damage.append(
                        Damage(self.member, self._offset - self.member, "incorrect length of compressed data")
                    )
                    self._searching = self._found_again = True
                    self._held.clear()
                    data = rest
                    continue
                self._lose(str(error))
                yield HOLE
                data = data[1:]
                self._offset += 1
                continue
            self._taken += len(piece)
            if self._taken > max(_FREE, MAX_RATIO * self._given):
                raise FormatError(f"compressed more than {MAX_RATIO} times, as no log is; unpack it to read all of it")
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            self._offset += before - len(data)
            if self._member.eof:
                self._found_again = False
            if piece:
                self._held.append((self._offset, piece))
            while self._held and (
                self._member.eof or self._held[0][0] + WINDOW <= self._offset or len(self._held) > _MAX_HELD
            ):
                self._released = True
                yield self._held.popleft()[1]

    def release(self) -> Iterator[bytes]:
        """Yield what is held back, as no more bytes come for now, unless it is in doubt."""
        while self._held and not self._found_again and not self._holed:
            self._released = True
            yield self._held.popleft()[1]

    @property
    def is_unfinished(self) -> bool:
        """Whether the end of the present member has not been read."""
        return bool(self._taken) and not self._searching and not self._member.eof

    def _next_member(self, data: bytes) -> bytes:
        """Begin the next member and return the data from there on; if there is none, keep searching."""
        if not self._searching and not data.startswith(_MAGIC[: len(data)]):
            self.damage.append(Damage(self._offset, len(data), "compressed data followed by other bytes"))
            self._found_again = True
        start = 0
        while True:
            place = data.find(_MAGIC, start)
            if place < 0 and data.startswith(_MAGIC[: len(data)]) and not self._found_again:
                place = 0
            if place < 0:
                self._searching = True
                kept = data[max(start, len(data) - len(_MAGIC) + 1) :]
                self._offset += len(data) - len(kept)
                return kept
            if self._offset + place not in self._without:
                break
            self.damage.append(Damage(self._offset + place, len(data) - place, _WRONG_CHECKSUM))
            start = place + 1
            self._found_again = True
        self._searching = False
        self._offset += place
        self._begin()
        self._holed = _ZEROS in data[place:]
        return data[place:]

    def _lose(self, message: str) -> None:
        reason = _WRONG_CHECKSUM if "incorrect data check" in message else "compressed data damaged"
        if not self._taken and not self.member and not self._found_again:
            raise FormatError(reason)
        if not self._found_again or self._released:
            self.damage.append(Damage(self.member, self._offset - self.member, reason))
        wrong = _WRONG in message and self._released
        self._held.clear()
        self._searching = self._found_again = True
        if wrong:
            raise WrongChecksum(reason)


def _before_error(member: zlib._Decompress, data: bytes) -> tuple[bytes, bytes]:
    """Return (the bytes after the one at which `member` fails in `data`, what the bytes before it hold)."""
    low, high = 0, len(data)  # the first `low` bytes have no error, the first `high` have one
    while high - low > 1:
        middle = (low + high) // 2
        try:
            member.copy().decompress(data[:middle], PIECE)
        except zlib.error:
            high = middle
        else:
            low = middle
    return data[high:], member.decompress(data[:low], PIECE)


def decompressed(data: bytes, limit: int) -> bytes:
    """Return a whole decompressed file. Raises FormatError for more than `limit` bytes, and for damage."""
    pieces: list[bytes] = []
    size = 0
    stream = GzipStream()
    for source in (stream.feed(data), stream.release()):
        for piece in source:
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise FormatError(f"larger than {limit >> 20} MiB when decompressed")
    if stream.damage:
        raise FormatError(stream.damage[0].reason)
    return b"".join(pieces)


def decompressed_head(data: bytes, limit: int) -> bytes:
    """Return the first decompressed bytes, at most `limit`, without checking them; b"" if the data is not gzip."""
    try:
        return zlib.decompressobj(_GZIP).decompress(data, limit)
    except zlib.error:
        return _before_error(zlib.decompressobj(_GZIP), data)[1][:limit]


def reason_unreadable(data: bytes) -> str:
    """Return why the beginning of a file decompresses to nothing; "" if it does decompress."""
    if not data.startswith(_MAGIC[: len(data)]):
        return "not compressed by gzip, although its name ends in .gz"
    return "" if decompressed_head(data, 1) else "nothing can be decompressed"
