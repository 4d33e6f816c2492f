"""Messages and progress bars on stderr."""

from __future__ import annotations

import sys
import time

_WIDTH = 24
_AFTER = 0.5
"""Seconds before the bar is first drawn."""
_EVERY = 0.1
"""Minimum seconds between two updates of the bar."""


def print_status(message: str) -> None:
    """Print a message to stderr, as stdout is for data."""
    print(f"tuimon: {message}", file=sys.stderr)


def count_of(count: int, noun: str) -> str:
    """Return "1 picture" or "2 pictures"."""
    return f"{count} {noun}{'s' * (count != 1)}"


class Progress:
    """A progress bar that redraws itself in place; draws nothing if stderr is not a terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._begun = time.monotonic()
        self._next = self._begun + _AFTER
        self._enabled = sys.stderr.isatty()
        self._shown = False

    def update(self, done: int, total: int, unit: str = "") -> None:
        """Redraw the bar if enough time has passed. done, total: in the same `unit`."""
        now = time.monotonic()
        if not self._enabled or now < self._next:
            return
        self._next, self._shown = now + _EVERY, True
        part = min(done / total, 1.0) if total > 0 else 0.0
        filled = round(part * _WIDTH)
        left = (now - self._begun) / part * (1 - part) if part > 0.01 else float("nan")
        eta = f"  {left:.0f} s left" if left == left else ""
        bar = "#" * filled + "-" * (_WIDTH - filled)
        sys.stderr.write(f"\r{self._label} [{bar}] {part:4.0%}  {done:,}{unit}{eta}\x1b[K")
        sys.stderr.flush()

    def close(self) -> None:
        """Erase the bar."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
