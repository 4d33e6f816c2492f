"""Follow a file that is rewritten as a whole: a JSON document that its writer truncates and writes again.

A reader can find such a file half-written. Its content is returned at the first look, and later once it has changed and
its last character closes a document, or it is unchanged at two looks.
"""

from __future__ import annotations

import os

from tuimon.sources.files import FileStatus, Signature, fresh, opened, signature

LIMIT = 1 << 30
"""Maximum size (bytes) of a document unless a smaller limit is set. Reading takes about twice the size in memory."""


class DocumentFile(FileStatus):
    """Follow the document at `path`; it need not exist yet. No descriptor is held between two calls.

    The caller parses the bytes that `poll` returns and calls `loaded` or `failed`.
    """

    def __init__(self, path: str, remote: bool = False, limit: int = LIMIT) -> None:
        super().__init__(path, remote)
        self._limit = limit
        self._last: Signature | None = None
        """Signature at the last look."""
        self._read: Signature | None = None
        """Signature of the content that was read last."""
        self._was_fresh = False
        """Whether that content may have changed under the same signature."""
        self._digest = self._loaded_digest = b""
        """Of the content that was read last, and of the one that was accepted last."""

    def poll(self) -> bytes | None:
        """Return the content if it should be parsed now, else None."""
        try:
            status = self._look()
            if status.st_size > self._limit:
                limit = f"{self._limit >> 20} MiB" if self._limit >> 20 else f"{self._limit >> 10} KiB"
                self.state, self.message, self.hint = "unreadable", f"larger than {limit}", "it is not read"
                return None
            if not self._due(status):
                return None
            data = self._content()
        except OSError as error:
            self._failed(error)
            self._last = None
            return None
        if data is None:
            return None  # it changed while it was read
        import hashlib  # loads OpenSSL

        self._digest = hashlib.blake2b(data, digest_size=16).digest()
        return None if self._digest == self._loaded_digest else data

    def loaded(self) -> None:
        """Accept the content that `poll` returned last: it is not returned again."""
        self._loaded_digest = self._digest

    def failed(self) -> None:
        """Reject the content that `poll` returned last. Any content is returned once the file has changed, also what
        was accepted before."""
        self._loaded_digest = b""

    def _due(self, status: os.stat_result) -> bool:
        now, last, self._last = signature(status), self._last, signature(status)
        if now == self._read:
            return self._was_fresh and not fresh(status)
        return self._read is None or now == last or self._closed(status)

    def _closed(self, status: os.stat_result) -> bool:
        """Does the last character that is not white space close an object or a list?"""
        with opened(self.path) as (descriptor, _):
            end = os.pread(descriptor, 256, max(0, status.st_size - 256)).rstrip()
        return end.endswith((b"}", b"]"))

    def _content(self) -> bytes | None:
        """All bytes, or None if the file changed while it was read."""
        with opened(self.path) as (descriptor, before):
            parts, offset = [], 0
            while part := os.pread(descriptor, before.st_size + 1 - offset, offset):
                parts.append(part)
                offset += len(part)
                if offset > before.st_size:
                    return None
            if signature(os.fstat(descriptor)) != signature(before):
                return None
        self._read, self._was_fresh = signature(before), fresh(before)
        return b"".join(parts)
