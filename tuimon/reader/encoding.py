"""Texts in UTF-16 as UTF-8, which is what the decoders read. PowerShell's `>` writes UTF-16 with a byte order mark.

Another program may append to such a file: from varied ASCII on (`_PLAIN`), the rest of it is UTF-8.
"""

from __future__ import annotations

import codecs

from tuimon import lazy_re as re

_PLAIN = re.compile(rb"[\t\n\r -~]{24,}")
"""Text of another encoding, if it is varied: in UTF-16 each character of ASCII has a zero byte."""
_ASCII = bytes((*b"\t\n\r", *range(0x20, 0x7F)))
_MARKS = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


class UTF8Stream:
    """Converts the bytes of one growing file, split anywhere. A file without the byte order mark is left as it is."""

    def __init__(self) -> None:
        self._begun = False
        self._first = b""
        self._big_endian = False
        """Whether the last byte of a character of ASCII is not the zero."""
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, data: bytes) -> bytes:
        """Return the next bytes in UTF-8."""
        if not self._begun:
            data = self._first + data
            if len(data) < len(_MARKS[0]) and any(mark.startswith(data) for mark in _MARKS):
                self._first = data
                return b""
            self._begun = True
            if data.startswith(_MARKS):
                self._big_endian = data.startswith(codecs.BOM_UTF16_BE)
                self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
            self._first = b""
        return data if self._decoder is None else self._from_utf16(self._decoder, self._first + data)

    def _from_utf16(self, decoder: codecs.IncrementalDecoder, data: bytes) -> bytes:
        """Return bytes in UTF-8 up to a possible change of the encoding, which is kept until it is certain."""
        rest, self._first = b"", b""
        if plain := next(filter(_is_varied, _PLAIN.finditer(data)), None):
            self._decoder, rest = None, data[plain.start() :]
            data = data[: plain.start()]
        else:
            end = len(data.rstrip(_ASCII))
            if len(data) - end > self._big_endian:
                data, self._first = data[:end], data[end:]
        return decoder.decode(data).encode("utf-8", "replace") + rest


def _is_varied(plain: re.Match[bytes]) -> bool:
    """Return whether bytes are not a repeated character of UTF-16, such as "═", whose two bytes are those of "P%"."""
    return all(len({*plain[0][place::2]}) > 3 for place in (0, 1))


def is_marked_utf16(head: bytes) -> bool:
    """Return whether a file that begins with these bytes has the byte order mark of UTF-16."""
    return head.startswith(_MARKS)


def utf8(data: bytes) -> bytes:
    """Return a whole text, or its beginning, in UTF-8."""
    return UTF8Stream().feed(data)
