"""How often the screen is drawn, so that drawing never keeps a key waiting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_REST = 4.0
"""Times what a drawing took: so long the event loop is left to keys before the next one."""


class Pace:
    """A drawing is made of pieces, between which the event loop goes on; `rest` says when the next one may begin."""

    def __init__(self, frame_rate: float) -> None:
        """frame_rate: drawings a second, at most."""
        self._least = 1 / frame_rate
        self._begun = self._ended = float("-inf")
        self._taken = 0.0

    def begin(self) -> None:
        """A drawing begins."""
        self._begun = time.monotonic()
        self._taken = 0.0

    @contextmanager
    def piece(self) -> Iterator[None]:
        """What is done inside is a piece of the drawing."""
        begun = time.monotonic()
        yield
        self._ended = time.monotonic()
        self._taken += self._ended - begun

    def rest(self) -> float:
        """Seconds until the next drawing may begin; not above 0: at once."""
        return max(self._begun + self._least, self._ended + _REST * self._taken) - time.monotonic()
