"""How often and how much of the screen is drawn, so that drawing never keeps a key waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SHARE = 0.2
"""Of the event loop's time: what is left is for keys."""
_LONGEST = 1.0
"""Seconds: whatever drawing takes, what is new is not held back longer."""
_SLOW = 0.1
"""Seconds in which a terminal takes a drawing, else it is at the end of a slow link …"""
_REMEMBERED = 600.0
"""… for so many seconds."""
_LOOK = 0.02


class Link:
    """The way of what is drawn to the terminal."""

    def __init__(self, waiting: Callable[[], int]) -> None:
        """waiting: how much of it has not been taken yet."""
        self._waiting = waiting
        self._slow_until = float("-inf")

    @property
    def slow(self) -> bool:
        """Then a key waits for all that was drawn before it: little should be."""
        return time.monotonic() < self._slow_until

    async def drained(self) -> None:
        """Returns when everything has been taken."""
        begun = time.monotonic()
        while self._waiting():
            await asyncio.sleep(_LOOK)
            now = time.monotonic()
            if now - begun > _SLOW:
                self._slow_until = now + _REMEMBERED


class Pace:
    """A drawing is made of pieces, between which the event loop goes on; `rest` says when the next one may begin."""

    def __init__(self, frame_rate: float) -> None:
        """frame_rate: drawings a second, at most."""
        self._least = 1 / frame_rate
        self._begun = float("-inf")
        self.taken = 0.0
        """Seconds that drawing has taken, all in all."""
        self._before = 0.0

    def begin(self) -> None:
        """A drawing begins."""
        self._begun = time.monotonic()
        self._before = self.taken

    def at_once(self) -> None:
        """The next drawing may begin at once."""
        self._begun = float("-inf")

    @contextmanager
    def piece(self) -> Iterator[None]:
        """What is done inside is a piece of the drawing."""
        begun = time.monotonic()
        yield
        self.taken += time.monotonic() - begun

    def rest(self) -> float:
        """Seconds until the next drawing may begin; not above 0: at once."""
        return self._begun + max(self._least, min((self.taken - self._before) / _SHARE, _LONGEST)) - time.monotonic()
