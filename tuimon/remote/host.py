"""The two questions that fill a mirror, list(directories) and read(path, start, end), and what a host answers."""

from __future__ import annotations

import math
import stat
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from tuimon.errors import TuimonError

MAX_PIECE = 1 << 20
"""Bytes that `read` returns at most."""
MAX_FILES = 200_000
"""Files that may be logs, of one target."""
MAX_DOCUMENT = 1 << 30
MAX_BYTES = 4 << 30
"""Bytes of one mirror, unless the user sets --max-bytes."""


class LinkError(TuimonError):
    """The other end of a connection does not behave as a host."""


class TooLarge(TuimonError):
    """The logs are larger than the user wants to copy."""


class Ended(Exception):
    """The connection has ended. `login`: the user has to log in; `final`: another attempt makes no sense."""

    def __init__(self, reason: str, login: bool = False, final: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.login, self.final = reason, login, final


class Entry(Struct, frozen=True):
    """What a host says of a file or directory. Two equal entries: nothing has changed."""

    mode: int
    """As st_mode; of what a symbolic link leads to."""
    size: int
    modified: float
    """Time of the last change (s since the epoch)."""
    identity: str
    """Device and inode, "64769:1312"; "" if there is nothing like that."""
    stamp: str
    """What changes with the content: the time as the host writes it, or an ETag."""
    owner: int = -1
    """User id; -1 if unknown."""
    born: float = math.nan
    """Time (s since the epoch) at which it was created; NaN if unknown."""
    leads_to: str = ""
    """Real path of what a symbolic link leads to; "" for all else."""

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)


class Root(Struct, frozen=True):
    """Something that the path of the user leads to."""

    path: str
    parts: tuple[str, ...]
    """Components below the part of the user's path before its first pattern; () without a pattern."""
    entry: Entry
    real: str
    """The path without symbolic links."""


class Received:
    """What a connection has received so far."""

    def __init__(self) -> None:
        self.complete = False
        """Whether everything that there was at the source is here."""
        self.missing = False
        """Whether there is nothing at the path."""
        self.problem = ""
        """The last problem that the source reported."""
        self.here = 0
        """Bytes of the followed files in the mirror."""
        self.total = 0
        """Bytes of the followed files at the source."""


class Host(Protocol):
    """A machine, a container or an object store that answers. Errors end the connection: Ended, TuimonError, OSError.

    Paths are those of the host; bytes that are not UTF-8 are surrogate escapes.
    """

    delay: float
    """Seconds from a question to its answer; NaN if unknown."""
    skew: float
    """Seconds to add to times of the host: 0.0 unless its clock is wrong."""
    pause: float
    """Seconds between two looks at files that grow."""
    first: int
    """Bytes that are read of a file to recognise its format."""

    def rest(self, cost: float) -> float:
        """Return the seconds before the next walk. cost: of the last one."""
        ...

    async def roots(self) -> Sequence[Root]:
        """Return what the path of the user leads to; [] if there is nothing."""
        ...

    async def list(self, paths: Sequence[str]) -> dict[str, dict[str, Entry]]:
        """Return the names in directories, by directory; those that cannot be read are left out."""
        ...

    async def stat(self, paths: Sequence[str]) -> dict[str, Entry]:
        """Return what there is at paths; those where there is nothing are left out."""
        ...

    async def read(self, path: str, start: int, end: int) -> bytes:
        """Return bytes of a file, fewer at its end. At most MAX_PIECE. b"" if there is no such file."""
        ...

    async def ask(self, command: str) -> bytes:
        """Return the output of a command of the shell; b"" where there is no shell."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...
