"""Texts in UTF-16 as UTF-8, which is what the decoders read. PowerShell's `>` writes UTF-16 with a byte order mark."""

from __future__ import annotations

import codecs

_MARKS = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


class UTF8Stream:
    """Converts the bytes of one growing file, split anywhere. A file without the byte order mark is left as it is."""

    def __init__(self) -> None:
        self._begun = False
        self._first = b""
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
                self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        return data if self._decoder is None else self._decoder.decode(data).encode("utf-8", "replace")


def is_marked_utf16(head: bytes) -> bool:
    """Return whether a file that begins with these bytes has the byte order mark of UTF-16."""
    return head.startswith(_MARKS)


def utf8(data: bytes) -> bytes:
    """Return a whole text, or its beginning, in UTF-8."""
    return UTF8Stream().feed(data)
