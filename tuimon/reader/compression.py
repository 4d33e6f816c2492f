"""Decompress logs that are compressed by gzip, in bounded memory (RFC 1952).

Only the checksum at the end of a member says whether its numbers are right. So a member that turns out to be damaged is
not read, nor is what follows it; the members before it are. A hole in a file can decompress without an error, so what
comes after zeros waits for the checksum.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress

from tuimon.errors import FormatError

PIECE = 1 << 20
"""Maximum number of decompressed bytes at a time."""
MAX_RATIO = 100
"""Decompressed bytes for each compressed one. Logs have 5 to 50; zeros and equal lines have 1000."""
_FREE = 16 << 20
"""Decompressed bytes for which the ratio does not count."""
_GZIP = 16 + zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b\x08"
_ZEROS = bytes(8)
_STEP = 64
"""Bytes of a beginning that are decompressed at a time, as a wrong checksum discards the output of a call."""


class ExpansionLimit(FormatError):
    """The data is larger than any log of that compressed size: MAX_RATIO times, and more than _FREE. What it gave so
    far is right."""


class GzipStream:
    """Decompresses a gzip file that is read in pieces. It may have several members; padding after them is ignored."""

    def __init__(self) -> None:
        self.member = 0
        """Offset of the present member."""
        self._member = zlib.decompressobj(_GZIP)
        self._given = self._taken = self._offset = 0
        self._held: list[bytes] | None = None
        """Pieces of a member with zeros, which wait for its checksum."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes hold, at most PIECE bytes at a time.

        Raises FormatError if the present member is damaged, or the log is too large.
        """
        self._given += len(data)
        while data:
            before = len(data)
            if self._member.eof:
                data = data.lstrip(b"\0")
                self._offset += before - len(data)
                self.member, self._member = self._offset, zlib.decompressobj(_GZIP) if data else self._member
                before = len(data)
            if not data:
                return
            if self._held is None and _ZEROS in data:
                self._held = []
            try:
                piece = self._member.decompress(data, PIECE)
            except zlib.error as error:
                is_checksum = "incorrect data check" in str(error)
                said = "has a wrong checksum, so its numbers may be wrong" if is_checksum else "damaged"
                raise FormatError(f"compressed data {said}") from None
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            self._offset += before - len(data)
            self._taken += len(piece)
            if self._taken > max(_FREE, MAX_RATIO * self._given):
                reason = f"compressed more than {MAX_RATIO} times: unpack it to read more than {self._taken >> 20} MiB"
                raise ExpansionLimit(reason)
            if self._held is None:
                yield from filter(None, (piece,))
                continue
            self._held.append(piece)
            if self._member.eof:
                yield from filter(None, self._held)
                self._held = None

    @property
    def is_unfinished(self) -> bool:
        """Whether the end of the present member has not been read."""
        return bool(self._taken) and not self._member.eof


def decompressed(data: bytes, limit: int) -> bytes:
    """Return a whole decompressed file. Raises FormatError for more than `limit` bytes, and for damage."""
    pieces: list[bytes] = []
    size = 0
    for piece in GzipStream().feed(data):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise FormatError(f"larger than {limit >> 20} MiB when decompressed")
    return b"".join(pieces)


def decompressed_head(data: bytes, limit: int) -> bytes:
    """Return the first decompressed bytes, at most `limit`, up to damage; b"" if the data is not gzip."""
    member, head = zlib.decompressobj(_GZIP), b""
    with suppress(zlib.error):
        for start in range(0, len(data), _STEP):
            head += member.decompress(data[start : start + _STEP], limit)
            if len(head) >= limit:
                break
    return head[:limit]


def reason_unreadable(data: bytes) -> str:
    """Return why the beginning of a file decompresses to nothing; "" if it does decompress."""
    if not data.startswith(_MAGIC[: len(data)]):
        return "not compressed by gzip, although its name ends in .gz"
    return "" if decompressed_head(data, 1) else "nothing can be decompressed"
