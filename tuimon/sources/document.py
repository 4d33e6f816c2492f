"""Follow a file that is rewritten as a whole: a JSON document that its writer truncates and writes again.

A reader can find such a file half-written. Its content is returned at the first look. Later it is returned once it is
unchanged at two looks and its last character closes a document, or unchanged at three. The looks can fall into a pause
of the writer, so content that failed to parse is returned again at growing intervals.
"""

from __future__ import annotations

import os

from tuimon.sources.files import FileStatus, Signature, fresh, opened, signature

LIMIT = 1 << 30
"""Maximum size (bytes) of a document unless a smaller limit is set. Reading takes about twice the size in memory."""
PATIENCE = 8
"""Number of looks after which a document is returned although it changes at every look."""
_CALM = 2
"""Number of looks without a change after which a document is returned although nothing closes it."""
MAX_DISTANCE = 64
"""Maximum number of looks between two attempts at a document that cannot be parsed."""


class DocumentFile(FileStatus):
    """Follow the document at `path`; it need not exist yet. No descriptor is held between two calls.

    The caller parses the bytes that `poll` returns and calls `loaded` or `failed`.
    """

    def __init__(self, path: str, remote: bool = False, limit: int = LIMIT) -> None:
        super().__init__(path, remote)
        self._limit = limit
        self._last: Signature | None = None
        self._unchanged_looks = 0
        """Consecutive checks at which the file was unchanged."""
        self._changed_looks = 0
        """Checks at which the file had changed since its content was last returned."""
        self._next_attempt = 0
        self._read: Signature | None = None
        self._read_digest = b""
        self._loaded: Signature | None = None
        self._loaded_digest = b""
        self._confirm = False
        """The loaded content was fresh, so it may have changed under the same signature."""

    def poll(self) -> bytes | None:
        """Return the content if it should be parsed now, else None."""
        try:
            status = self._look()
            if status.st_size > self._limit:
                limit = f"{self._limit >> 20} MiB" if self._limit >> 20 else f"{self._limit >> 10} KiB"
                self.state, self.message = "unreadable", f"larger than {limit}"
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

        digest = hashlib.blake2b(data, digest_size=16).digest()
        self._read_digest, self._changed_looks = digest, 0
        if digest == self._loaded_digest:
            self.loaded()
            return None
        return data

    def loaded(self) -> None:
        """Accept the content that `poll` returned last: it is not returned again."""
        self._loaded, self._loaded_digest = self._read, self._read_digest
        self._next_attempt = 0

    def failed(self) -> None:
        """Reject the content that `poll` returned last: it is returned again later.

        So is the content that was accepted before, if the file gets it back."""
        self._loaded, self._loaded_digest = None, b""
        self._next_attempt = self._unchanged_looks + min(max(1, self._unchanged_looks), MAX_DISTANCE)

    def _due(self, status: os.stat_result) -> bool:
        now = signature(status)
        first_look, same = self._last is None, now == self._last
        self._last = now
        if now == self._loaded and not (self._confirm and not fresh(status)):
            return False
        if same:
            self._unchanged_looks += 1
        else:
            self._unchanged_looks, self._next_attempt, self._changed_looks = 0, 1, self._changed_looks + 1
        if first_look or now == self._loaded:
            return True
        if self._unchanged_looks < self._next_attempt:
            return self._changed_looks >= PATIENCE and self._closed(status)
        return self._unchanged_looks >= _CALM or self._closed(status)

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
        self._read, self._confirm = signature(before), fresh(before)
        return b"".join(parts)
