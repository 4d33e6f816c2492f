"""Output back-pressure: measures how far the terminal is behind what was written to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

_SLOW = 0.1
"""Output that is not drained within this time (s) marks the link to the terminal as slow."""
_REMEMBERED = 600.0
"""Time (s) for which a link stays marked as slow."""
_POLL = 0.02
"""Interval (s) between two checks whether output has drained."""
_ASK_FIRST, _ASK_LATER, _ASK_SLOW = 1 << 12, 1 << 15, 1 << 10
"""Bytes written between two queries: at first, after prompt replies, and on a slow link."""
_IN_FLIGHT = 2048
"""Maximum number of unacknowledged bytes at which the next drawing on a slow link may begin."""
_LATE = 0.05
"""Time (s) by which a reply may take longer than the fastest one before drawing is held back."""
_NO_REPLY = 5.0
"""Time (s) after which a reply is no longer expected: the terminal does not reply, or is not attached."""
_LAST_REPLY = 0.5
"""Minimum time (s) from a query for which `finish` waits for its reply."""
_NEVER = float("inf")


class OutputBackpressure:
    """Knows whether the terminal has received what was written.

    A pseudo-terminal buffers 18 kB and an SSH channel 2 MB without the writer noticing. So a query is written after the
    output, and the reply shows that the output before it has arrived.
    """

    def __init__(self, unsent: Callable[[], int], ask: Callable[[], object] = lambda: None) -> None:
        """unsent: returns the amount of output known to be buffered locally. ask: writes a query to the terminal."""
        self._unsent = unsent
        self._ask = ask
        self._slow_until = -_NEVER
        self._asked_at: float | None = None
        """Time of the open query (time.monotonic()); None if it has been answered."""
        self._written = self._written_before = self._received = 0
        """Bytes written in all, before the last query, and known to be received."""
        self._fastest = _NEVER
        """Time (s) of the fastest reply, which is the round-trip time of the link."""
        self._ask_each = _ASK_FIRST
        self._finished = False

    @property
    def slow(self) -> bool:
        """Whether the link is slow. The result of a key then waits for all earlier output, so draw little at a time."""
        return time.monotonic() < self._slow_until

    def wrote(self, count: int) -> None:
        """Record that bytes were written."""
        self._written += count
        if self._asked_at is not None and time.monotonic() - self._asked_at > _NO_REPLY:
            self._asked_at, self._fastest = None, _NEVER
        self._ask_if_due()

    def answered(self) -> None:
        """Record a reply of the terminal."""
        if self._asked_at is not None:
            taken = time.monotonic() - self._asked_at
            self._fastest = min(self._fastest, taken)
            prompt = taken < self._fastest + _LATE
            self._ask_each = min(2 * self._ask_each, _ASK_LATER) if prompt else _ASK_FIRST
            self._asked_at, self._received = None, self._written_before
            self._ask_if_due()

    def _ask_if_due(self) -> None:
        since = self._written - self._written_before
        if self._asked_at is None and not self._finished and since >= (_ASK_SLOW if self.slow else self._ask_each):
            self._written_before, self._asked_at = self._written, time.monotonic()
            self._ask()

    async def drained(self) -> None:
        """Wait until the output has been received, or little of it is missing."""
        begun = time.monotonic()
        while self._unsent() or self._is_behind():
            await asyncio.sleep(_POLL)
            now = time.monotonic()
            if now - begun > _SLOW + self._round_trip:
                self._slow_until = now + _REMEMBERED

    def _is_behind(self) -> bool:
        """Return whether too much output is in flight, judged by the replies; False for a terminal without replies."""
        if self._asked_at is None or self._fastest == _NEVER:
            return False
        waited = time.monotonic() - self._asked_at
        if self.slow:
            return self._written - self._received > _IN_FLIGHT and waited < _NO_REPLY
        return self._round_trip + _LATE < waited < _NO_REPLY

    @property
    def _round_trip(self) -> float:
        return 0.0 if self._fastest == _NEVER else self._fastest

    async def finish(self) -> None:
        """Stop writing queries and wait for the last reply, which a shell would read as typed text."""
        self._finished = True
        patience = max(_LAST_REPLY, 2 * self._round_trip)
        while self._asked_at is not None and time.monotonic() < self._asked_at + patience:
            await asyncio.sleep(_POLL)

    def resume(self) -> None:
        """Write queries again after `finish`."""
        self._finished = False
