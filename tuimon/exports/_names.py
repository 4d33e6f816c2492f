"""Names of files that are made of names of runs and metrics: safe on every file system, and no two alike."""

from __future__ import annotations

import hashlib
import re

_UNSAFE = re.compile(r"[^\w.@+=-]+")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""Devices of Windows (Microsoft, "Naming Files, Paths, and Namespaces")."""
_LONGEST = 100


class SafeNames:
    """Gives each text a name of its own."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, text: str) -> str:
        """Without separators, control and blank characters, a leading dot or dash; of at most about 100 characters."""
        found = _UNSAFE.sub("_", text).strip("._-") or "unnamed"
        if len(found.encode()) > _LONGEST or _RESERVED.fullmatch(found):
            found = f"{found.encode()[:_LONGEST].decode('utf-8', 'ignore')}_{_digest(text)}"
        if found.casefold() in self._taken:  # some file systems do not tell cases apart
            found = f"{found}_{_digest(text)}"
        while found.casefold() in self._taken:
            found += "_"
        self._taken.add(found.casefold())
        return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
