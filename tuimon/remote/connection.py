"""Interface that a connection to a source of logs offers to the thread that keeps a mirror up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tuimon.remote.mirror_errors import MirrorError

MAX_FILES = 200_000
"""Files that may be logs, of one target."""
MAX_DOCUMENT = 1 << 30
MAX_BYTES = 4 << 30
"""Bytes of one mirror, unless the user sets `max_bytes` of the host."""


class TooLarge(MirrorError):
    """The logs are larger than the user wants to copy."""


class Ended(Exception):
    """The connection has ended. `login`: the user has to log in; `final`: another attempt makes no sense."""

    def __init__(self, reason: str, login: bool = False, final: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.login, self.final = reason, login, final


class Received:
    """Progress and results received on a connection."""

    def __init__(self) -> None:
        self.complete = False
        """Whether everything that there was at the source is here."""
        self.missing = False
        """Whether there is nothing at the path."""
        self.problem = ""
        """The last problem that the source reported."""
        self.changed: set[str] = set()
        """Paths in the mirror that have changed; the caller clears it."""
        self.names_changed = False
        """Whether some of them are new or gone; the caller resets it."""
        self.here = 0
        """Bytes of the followed files in the mirror."""
        self.total = 0
        """Bytes of the followed files at the source."""


class Connection(Protocol):
    """A connection to a source, which fills a mirror."""

    @property
    def delay(self) -> float:
        """Seconds from a question to its answer; NaN if unknown."""
        ...

    @property
    def received(self) -> Received: ...

    @property
    def answered(self) -> bool:
        """Whether the source has answered."""
        ...

    def run(self, batch: bool, on_progress: Callable[[], None]) -> None:
        """Fill the mirror until the connection ends, and raise Ended, TuimonError or OSError; return after `close`.

        batch: the user cannot be asked. on_progress: called after each word of the source.
        """
        ...

    def wake(self) -> None:
        """Let `run` in another thread look for texts that are wanted since then."""
        ...

    def close(self) -> None:
        """End `run` in another thread, soon."""
        ...
