"""Following one file that is rewritten whole: a JSON document that its writer truncates and writes again.

A reader meets it half-written. It is read at once when its writer has just closed or moved it (a hint), and at the
first sight; otherwise once it has stood still for two looks and its last character closes a document. What failed to
parse is tried again at growing distances: the two looks can fall into a pause of the writer.
"""

from __future__ import annotations

import os

from tuimon.sources.files import Signature, explain, fresh, is_gone, open_regular, regular, signature

LIMIT = 1 << 30
"""Bytes. A document must be held in memory to be parsed; a larger one is refused, or one of more than its `limit`."""
PATIENCE = 8
"""Looks after which a document is given although nothing closes it, or although it never stands still."""
MAX_DISTANCE = 64
"""Looks between two trials of a document that stays bad."""


class DocumentFile:
    """Follows the document at `path`; it need not exist yet. No descriptor is held between two calls.

    The caller parses what `poll` gives and answers with `loaded` or `failed`.
    """

    def __init__(self, path: str, remote: bool = False, limit: int = LIMIT) -> None:
        self.path = path
        self._limit = limit
        self.state = "current"
        """current | gone | unreadable."""
        self.message = ""
        self.size = 0
        self.modified = float("nan")
        self._remote = remote
        self._last: Signature | None = None
        self._still = 0
        """Looks at which it was as at the look before."""
        self._restless = 0
        """Looks at which it had changed, since it was last given."""
        self._next_trial = 0
        self._read: Signature | None = None
        self._read_digest = b""
        self._loaded: Signature | None = None
        self._loaded_digest = b""
        self._confirm = False
        """The loaded content was fresh: it may have changed under the same signature."""

    def poll(self, hint: bool = False) -> bytes | None:
        """All its bytes, when they should be parsed; else None. hint: its writer has just closed or moved it."""
        try:
            status = self._look()
            if status.st_size > self._limit:
                limit = f"{self._limit >> 20} MiB" if self._limit >> 20 else f"{self._limit >> 10} KiB"
                self.state, self.message = "unreadable", f"larger than {limit}"
                return None
            if not self._due(status, hint):
                return None
            data = self._content()
        except OSError as error:
            self.state = "gone" if is_gone(error) else "unreadable"
            self.message = "no such file" if is_gone(error) else explain(error)
            self._last = None
            return None
        if data is None:
            return None  # it changed while it was read
        import hashlib  # loads OpenSSL

        digest = hashlib.blake2b(data, digest_size=16).digest()
        self._read_digest, self._restless = digest, 0
        if digest == self._loaded_digest:
            self.loaded()
            return None
        return data

    def loaded(self) -> None:
        """What `poll` gave last is dealt with."""
        self._loaded, self._loaded_digest = self._read, self._read_digest
        self._next_trial = 0

    def failed(self) -> None:
        """What `poll` gave last could not be parsed: give it again later, the loaded content too if it comes back."""
        self._loaded, self._loaded_digest = None, b""
        self._next_trial = self._still + min(max(1, self._still), MAX_DISTANCE)

    def _look(self) -> os.stat_result:
        if self._remote:
            descriptor, status = open_regular(self.path)
            os.close(descriptor)
        else:
            status = regular(os.stat(self.path))
        self.size, self.modified = status.st_size, status.st_mtime
        self.state, self.message = "current", ""
        return status

    def _due(self, status: os.stat_result, hint: bool) -> bool:
        now = signature(status)
        first_look, same = self._last is None, now == self._last
        self._last = now
        if now == self._loaded and not (self._confirm and not fresh(status)):
            return False
        if same:
            self._still += 1
        else:
            self._still, self._next_trial, self._restless = 0, 1, self._restless + 1
        if hint or first_look or now == self._loaded:
            return True
        if self._still < self._next_trial:
            return self._restless >= PATIENCE and self._closed(status)
        return self._still >= PATIENCE or self._closed(status)

    def _closed(self, status: os.stat_result) -> bool:
        """Does the last character that is no white space close an object or a list?"""
        descriptor, _ = open_regular(self.path)
        try:
            end = os.pread(descriptor, 256, max(0, status.st_size - 256)).rstrip()
        finally:
            os.close(descriptor)
        return end.endswith((b"}", b"]"))

    def _content(self) -> bytes | None:
        """All bytes, None if the file changed while it was read."""
        descriptor, before = open_regular(self.path)
        try:
            parts, offset = [], 0
            while part := os.pread(descriptor, before.st_size + 1 - offset, offset):
                parts.append(part)
                offset += len(part)
                if offset > before.st_size:
                    return None
            if signature(os.fstat(descriptor)) != signature(before):
                return None
        finally:
            os.close(descriptor)
        self._read, self._confirm = signature(before), fresh(before)
        return b"".join(parts)
