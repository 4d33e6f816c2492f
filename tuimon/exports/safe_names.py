"""File names that are valid on every file system."""

from __future__ import annotations

import hashlib

from tuimon import lazy_re as re

_UNSAFE = re.compile(r"[^\w.@+=-]+")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""Device names of Windows (Microsoft, "Naming Files, Paths, and Namespaces")."""
_MAX_BYTES = 100


class SafeNames:
    """Turn names of runs and metrics into file names that are valid on every file system and unique in this object."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, text: str) -> str:
        """Return a name of about 100 bytes at most, without separators, blanks, control characters, leading . or -."""
        name = _UNSAFE.sub("_", text).strip("._-") or "unnamed"
        if len(name.encode()) > _MAX_BYTES or _RESERVED.fullmatch(name):
            name = f"{name.encode()[:_MAX_BYTES].decode('utf-8', 'ignore')}_{_digest(text)}"
        if name.casefold() in self._taken:  # some file systems ignore case
            name = f"{name}_{_digest(text)}"
        while name.casefold() in self._taken:
            name += "_"
        self._taken.add(name.casefold())
        return name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
