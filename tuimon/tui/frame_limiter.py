"""Limit the frame rate and the share of time spent on drawing, so that keys are handled promptly."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_SHARE = 0.2
"""Maximum fraction of the event loop's time that is spent on drawing; the rest is left for keys."""
_LONGEST = 1.0
"""Maximum delay (s) between two frames, however long drawing takes."""


class FrameLimiter:
    """Computes when the next frame may begin, from the frame rate and from the time that the last frame took.

    A frame is drawn in pieces; between two pieces the event loop runs.
    """

    def __init__(self, frame_rate: float) -> None:
        """frame_rate: maximum number of frames a second."""
        self._shortest = 1 / frame_rate
        self._begun = float("-inf")
        self.taken = 0.0
        """Total time (s) spent on drawing."""
        self._taken_before = 0.0

    def begin(self) -> None:
        """Record that a frame begins."""
        self._begun = time.monotonic()
        self._taken_before = self.taken

    def skip_delay(self) -> None:
        """Let the next frame begin at once."""
        self._begun = float("-inf")

    @contextmanager
    def piece(self) -> Iterator[None]:
        """Count the time spent in this context as drawing."""
        begun = time.monotonic()
        yield
        self.taken += time.monotonic() - begun

    def delay(self) -> float:
        """Return the seconds until the next frame may begin; 0 or less means at once."""
        longest = max(self._shortest, min((self.taken - self._taken_before) / _SHARE, _LONGEST))
        return self._begun + longest - time.monotonic()
