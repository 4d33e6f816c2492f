"""The link to another machine whose logs are shown, and the paths of its mirror."""

from __future__ import annotations

import math
import os

from msgspec import Struct

LIVE = ("live", "copying")
"""States in which what is shown is up to date, or soon will be."""
_ORDER = ("copying", "live", "shared", "missing", "login", "lost", "connecting", "failed", "offline")
"""States of hosts. The first one that occurs among its hosts is that of the job."""


class Link(Struct, eq=False):
    """State of the link to one target. Written by the thread that keeps the mirror, read by all others."""

    target: str
    """Name of the target in everything that the user sees: "gpu01:logs"."""
    host: str = ""
    """Name of the host: "gpu01"."""
    state: str = "connecting"
    """State of the link. One of: connecting, copying, live, lost, login (needs the user), offline (as asked for),
    shared (another tuimon fills the mirror), missing (nothing at the path), failed (`detail` says why: local disk
    full)."""
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
    members: tuple[Link, ...] = ()
    """The links to the hosts of a job, of which this one is made by `combine`; () for a single host."""

    @property
    def up(self) -> bool:
        """Whether the host is heard."""
        return self.state in LIVE

    def last_heard(self, now: float) -> float:
        """Return the time when the host was last heard: `now` while the link is up.

        Of a job, the time at which the first of the hosts was lost; one that was never heard is left out.
        """
        if self.members:
            return min((member.last_heard(now) for member in self.members), default=now)
        return now if self.up or math.isnan(self.heard) else min(self.heard, now)

    def combine(self) -> None:
        """Set the state to that of the members. While one is up, so is the job. `detail` names the others."""
        by_state: dict[str, list[Link]] = {}
        for member in self.members:
            by_state.setdefault(member.state, []).append(member)
        state = next(state for state in _ORDER if state in by_state)
        shown = by_state[state]
        self.heard = max((m.heard for m in self.members if not math.isnan(m.heard)), default=math.nan)
        self.delay = max((m.delay for m in shown if not math.isnan(m.delay)), default=math.nan)
        self.here, self.total = sum(m.here for m in self.members), sum(m.total for m in self.members)
        self.complete = all(m.complete for m in self.members)
        self.since, self.retry = min(m.since for m in shown), min(m.retry for m in shown)
        others = [m.host for m in self.members if not m.up]
        self.detail = ", ".join(others) if state in LIVE else shown[0].detail
        self.state = state


class RemotePath(str):
    """Path of a mirror, with the name of what it mirrors."""

    shown: str
    """The target: "gpu01:logs/grpo"."""
    top: str
    """Directory of the mirror that corresponds to "/" or the home directory of the host."""
    prefix: str
    """Replacement for `top` in everything that the user sees: "gpu01:" or "gpu01:/"."""
    link: Link
    members: tuple[RemotePath, ...]
    """The mirrors of the hosts of a job, which lie below this path; () for that of a single host."""
    _base: str
    """Replacement for the path in names of runs and files: `shown` without a pattern."""

    def __new__(
        cls,
        path: str,
        shown: str,
        top: str,
        prefix: str,
        link: Link,
        base: str | None = None,
        members: tuple[RemotePath, ...] = (),
    ) -> RemotePath:
        """base: replacement for the path in the names below it, if it does not follow from the others."""
        self = super().__new__(cls, path)
        self.shown, self.top, self.prefix, self.link, self.members = shown, top, prefix, link, members
        has_pattern = any(character in shown.removeprefix(prefix) for character in "*?[")
        self._base = prefix + path[len(top) + 1 :] if has_pattern else shown.rstrip("/")
        if base is not None:
            self._base = base
        return self

    def name_of(self, path: str) -> str:
        """Return the name of a path in the mirror, as the user sees it; other paths as they are."""
        if path == self:
            return self.shown
        for member in self.members:
            if f"{path}/".startswith(f"{member}/"):
                return member.name_of(path)
        if path.startswith(f"{self}/"):
            return self._base if self._is_single(path) else self._base + path[len(self) :]
        return self.prefix + path[len(self.top) + 1 :] if path.startswith(f"{self.top}/") else path

    def _is_single(self, path: str) -> bool:
        """Return whether a path below that of a host of a job is the file that the target names."""
        below = path[len(self) + 1 :]
        return self.top == self and below == os.path.basename(self._base) and os.path.isfile(path)  # noqa: PTH113

    def hide(self, text: str) -> str:
        """Replace the paths of the mirror in a text by what the user sees."""
        for member in self.members:
            text = member.hide(text)
        single = f"{self}/{os.path.basename(self._base)}"
        if single in text and self._is_single(single):
            text = text.replace(single, self._base)
        text = text.replace(f"{self}/", f"{self._base}/").replace(str(self), self.shown)
        return text.replace(f"{self.top}/", self.prefix)
