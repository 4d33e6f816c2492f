"""How often and how much of the screen is drawn, so that drawing never keeps a key waiting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_SHARE = 0.2
"""Of the event loop's time: what is left is for keys."""
_LONGEST = 1.0
"""Seconds: whatever drawing takes, what is new is not held back longer."""


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
