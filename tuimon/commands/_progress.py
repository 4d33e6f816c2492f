"""How far a long command is, on standard error, where a person is looking."""

from __future__ import annotations

import sys
import time

_WIDTH = 24
_AFTER = 0.5
_EVERY = 0.1
"""Seconds before the bar is shown at all, and between two of its pictures."""


class Progress:
    """A bar that is drawn over itself; nothing at all where standard error is no terminal."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._begun = time.monotonic()
        self._next = self._begun + _AFTER
        self._on = sys.stderr.isatty()
        self._shown = False

    def at(self, done: int, total: int, unit: str = "") -> None:
        """So much is done of so much."""
        now = time.monotonic()
        if not self._on or now < self._next:
            return
        self._next, self._shown = now + _EVERY, True
        part = min(done / total, 1.0) if total > 0 else 0.0
        filled = round(part * _WIDTH)
        left = (now - self._begun) / part * (1 - part) if part > 0.01 else float("nan")
        eta = f"  {left:.0f} s left" if left == left else ""
        bar = "#" * filled + "-" * (_WIDTH - filled)
        sys.stderr.write(f"\r{self._what} [{bar}] {part:4.0%}  {done:,}{unit}{eta}\x1b[K")
        sys.stderr.flush()

    def close(self) -> None:
        """Takes the bar away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
