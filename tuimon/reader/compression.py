"""Decompress logs that are compressed by gzip, in bounded memory (RFC 1952).

Only the checksum at the end of a member says whether its numbers are right. So a member that turns out to be damaged is
not read, nor is what follows it; the members before it are.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress

from tuimon.errors import FormatError
from tuimon.formats import StreamDecoder
from tuimon.model.points import Damage, Item, Replaced
from tuimon.reader.encoding import UTF8Stream

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


class CutShort(FormatError):
    """The data ends early, is damaged, or is larger than any log: what is before `offset` can be read."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


class CompressedText:
    """A log that is compressed by gzip, as a document: it is decoded from its beginning when it has changed."""

    def __init__(self, new_decoder: Callable[[], StreamDecoder]) -> None:
        self._new_decoder = new_decoder

    def load(self, data: bytes) -> Iterator[Item]:
        """Yield all items, and Damage for what cannot be read."""
        most = max(_FREE, MAX_RATIO * len(data))
        end, reason = len(data), ""
        try:
            for _ in unpacked(data, most):
                pass
        except CutShort as error:
            end, reason = error.offset, error.message
        yield Replaced()
        decoder, text = self._new_decoder(), UTF8Stream()
        with suppress(CutShort):
            for piece in unpacked(data[:end], most):
                yield from decoder.feed(text.feed(piece))
        yield from decoder.flush()
        if reason:
            yield Damage(end, len(data) - end, reason)


def unpacked(data: bytes, most: int) -> Iterator[bytes]:
    """Yield what a gzip file holds, at most PIECE bytes at a time. It may have several members, and padding at its end.

    most: bytes of the whole. Raises CutShort.
    """
    rest, taken = data, 0
    while rest := rest.lstrip(b"\0"):
        begin, member = len(data) - len(rest), zlib.decompressobj(_GZIP)
        while rest and not member.eof:
            try:
                piece = member.decompress(rest, PIECE)
            except zlib.error as error:
                is_checksum = "incorrect data check" in str(error)
                said = "has a wrong checksum, so its numbers may be wrong" if is_checksum else "damaged"
                raise CutShort(begin, f"compressed data {said}") from None
            rest = member.unused_data if member.eof else member.unconsumed_tail
            taken += len(piece)
            if taken > most:
                raise CutShort(len(data) - len(rest), f"larger than {most >> 20} MiB when decompressed: unpack it")
            yield piece
        if not member.eof:  # a hole in a file can decompress without an error
            raise CutShort(begin if _ZEROS in data[begin:] else len(data), "compressed data ends early")


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
