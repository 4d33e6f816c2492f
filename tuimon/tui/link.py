"""The way of what is drawn to the terminal, which may be long and slow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

_SLOW = 0.1
"""Seconds in which a terminal takes a drawing, else it is at the end of a slow link …"""
_REMEMBERED = 600.0
"""… for so many seconds."""
_LOOK = 0.02
_ASK_EACH, _ASK_SELDOM, _ASK_OFTEN = 1 << 12, 1 << 15, 1 << 10
"""Bytes after which the terminal is asked whether it has got them: at first, as long as it is quick, on a slow link."""
_UNDER_WAY = 2048
"""Bytes that may be under way when the next drawing on a slow link begins."""
_LATE = 0.05
"""Seconds by which an answer may come later than the quickest, before nothing more is drawn."""
_NO_ANSWER = 5.0
"""Seconds after which no answer is expected any more: the terminal gives none, or nobody looks at it."""
_LAST_ANSWER = 0.5
"""Seconds from a question on for which its answer is waited for at the end, at least."""
_NEVER = float("inf")


class Link:
    """Knows when what was sent is there. A pseudo-terminal takes 18 kB and an SSH channel 2 MB before the writer feels
    anything, and neither tells: so the terminal is asked behind what was sent, and answers when it gets there."""

    def __init__(self, waiting: Callable[[], int], ask: Callable[[], object] = lambda: None) -> None:
        """waiting: how much has not been taken yet, as far as it is known here. ask: sends a question."""
        self._waiting = waiting
        self._ask = ask
        self._slow_until = -_NEVER
        self._asked: float | None = None
        """When; None once it is answered."""
        self._sent = self._sent_before = self._there = 0
        """Bytes in all; those before the last question; those that have been there when it was answered."""
        self._quickest = _NEVER
        """Answer yet, in seconds. It tells how far away the terminal is."""
        self._ask_each = _ASK_EACH
        self._silent = False

    @property
    def slow(self) -> bool:
        """Then a key waits for all that was drawn before it: little should be."""
        return time.monotonic() < self._slow_until

    def wrote(self, count: int) -> None:
        """So many bytes are on their way."""
        self._sent += count
        if self._asked is not None and time.monotonic() - self._asked > _NO_ANSWER:
            self._asked, self._quickest = None, _NEVER
        self._ask_if_due()

    def answered(self) -> None:
        """The terminal has got what was sent before the question."""
        if self._asked is not None:
            taken = time.monotonic() - self._asked
            self._quickest = min(self._quickest, taken)
            prompt = taken < self._quickest + _LATE
            self._ask_each = min(2 * self._ask_each, _ASK_SELDOM) if prompt else _ASK_EACH
            self._asked, self._there = None, self._sent_before
            self._ask_if_due()

    def _ask_if_due(self) -> None:
        unasked = self._sent - self._sent_before
        if self._asked is None and not self._silent and unasked >= (_ASK_OFTEN if self.slow else self._ask_each):
            self._sent_before, self._asked = self._sent, time.monotonic()
            self._ask()

    async def drained(self) -> None:
        """Returns when everything has been taken, or what has not is little."""
        begun = time.monotonic()
        while self._waiting() or self._much_is_under_way():
            await asyncio.sleep(_LOOK)
            now = time.monotonic()
            if now - begun > _SLOW + self._distance:
                self._slow_until = now + _REMEMBERED

    def _much_is_under_way(self) -> bool:
        """By what the terminal answers; False for one that gives no answers."""
        if self._asked is None or self._quickest == _NEVER:
            return False
        waited = time.monotonic() - self._asked
        if self.slow:
            return self._sent - self._there > _UNDER_WAY and waited < _NO_ANSWER
        return self._distance + _LATE < waited < _NO_ANSWER

    @property
    def _distance(self) -> float:
        return 0.0 if self._quickest == _NEVER else self._quickest

    async def fall_silent(self) -> None:
        """Asks no more, and returns once no answer is under way: a shell would take it for something that was typed."""
        self._silent = True
        patience = max(_LAST_ANSWER, 2 * self._distance)
        while self._asked is not None and time.monotonic() < self._asked + patience:
            await asyncio.sleep(_LOOK)

    def speak(self) -> None:
        """Asks again."""
        self._silent = False
