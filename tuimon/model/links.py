"""The link to another machine whose logs are shown, and the paths of its mirror."""

from __future__ import annotations

import math

from msgspec import Struct

LIVE = ("live", "copying")
"""States in which what is shown is up to date, or soon will be."""


class Link(Struct, eq=False):
    """State of the link to one target. Written by the thread that keeps the mirror, read by all others."""

    target: str
    """Name of the target in everything that the user sees: "gpu01:logs"."""
    host: str = ""
    """Name of the host: "gpu01"."""
    state: str = "connecting"
    """connecting | copying | live | lost | login (needs the user) | offline (as asked for) | shared (another tuimon
    fills the mirror) | missing (nothing at the path) | failed (`detail` says why: no python, local disk full)."""
    detail: str = ""
    """Cleaned text."""
    heard: float = math.nan
    """Time at which the host was last heard (s since the epoch); NaN: never."""
    since: float = 0.0
    """Time since which the state has lasted (s since the epoch). Attempts to connect do not end "lost"."""
    retry: float = 0.0
    """Time of the next attempt to connect (s since the epoch)."""
    delay: float = math.nan
    """Time (s) that a question and its answer take."""
    here: int = 0
    """Bytes of the logs that are here."""
    total: int = 0
    """Bytes of the logs on the host, as far as known."""
    complete: bool = False
    """Whether everything that there was when the link came up is here."""

    @property
    def up(self) -> bool:
        """Whether the host is heard."""
        return self.state in LIVE

    def last_heard(self, now: float) -> float:
        """Return the time until which it is known what the host does: `now` while the link is up."""
        return now if self.up or math.isnan(self.heard) else min(self.heard, now)


class RemotePath(str):
    """Path of a mirror, with the name of what it mirrors."""

    shown: str
    """The target: "gpu01:logs/grpo"."""
    top: str
    """Directory of the mirror that corresponds to "/" or the home directory of the host."""
    prefix: str
    """Replacement for `top` in everything that the user sees: "gpu01:" or "gpu01:/"."""
    link: Link

    def __new__(cls, path: str, shown: str, top: str, prefix: str, link: Link) -> RemotePath:
        self = super().__new__(cls, path)
        self.shown, self.top, self.prefix, self.link = shown, top, prefix, link
        return self

    @property
    def _base(self) -> str:
        """Replacement for the path in the names of runs and files below it: `shown` without a pattern at its end."""
        has_pattern = any(character in self.shown.removeprefix(self.prefix) for character in "*?[")
        return self.prefix + self[len(self.top) + 1 :] if has_pattern else self.shown.rstrip("/")

    def name_of(self, path: str) -> str:
        """Return the name of a path in the mirror, as the user sees it; other paths as they are."""
        if path == self:
            return self.shown
        if path.startswith(f"{self}/"):
            return self._base + path[len(self) :]
        return self.prefix + path[len(self.top) + 1 :] if path.startswith(f"{self.top}/") else path

    def hide(self, text: str) -> str:
        """Replace the paths of the mirror in a text by what the user sees."""
        text = text.replace(f"{self}/", f"{self._base}/").replace(str(self), self.shown)
        return text.replace(f"{self.top}/", self.prefix)
