"""Messages and progress bars on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

from tuimon.errors import Interrupted

Item = TypeVar("Item")
Arguments = ParamSpec("Arguments")

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


class ProgressBar:
    """A progress bar that redraws itself in place; draws nothing if stderr is not a terminal."""

    def __init__(self, label: str, at_once: bool = False) -> None:
        """at_once: draw the bar at the first update, for tasks with slow updates."""
        self.label = label
        self._begun = time.monotonic()
        self._next = self._begun + (0 if at_once else _AFTER)
        self._enabled = sys.stderr.isatty()
        self._shown = False

    def update(self, done: int, total: int, unit: str = "") -> None:
        """Redraw the bar if enough time has passed. done, total: in the same `unit`; total 0: unknown, no bar."""
        now = time.monotonic()
        if not self._enabled or now < self._next:
            return
        self._next, self._shown = now + _EVERY, True
        bar = eta = ""
        if total > 0:
            part = min(done / total, 1.0)
            filled = round(part * _WIDTH)
            left = (now - self._begun) / part * (1 - part) if part > 0.01 else 0.0
            bar = f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {part:4.0%}  "
            eta = f"  {left:.0f} s left" if left >= 1 else ""
        sys.stderr.write(f"\r{self.label} {bar}{done:,}{unit}{eta}\x1b[K")
        sys.stderr.flush()

    def close(self) -> None:
        """Erase the bar."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def counted(self, items: Iterable[Item], unit: str) -> Iterator[Item]:
        """Yield the items and display their number, as their total is unknown."""
        try:
            for number, item in enumerate(items, 1):
                self.update(number, 0, unit)
                yield item
        finally:
            self.close()


def interruptible(sentence: str) -> Callable[[Callable[Arguments, int]], Callable[Arguments, int]]:
    """Let ctrl+c in a function raise Interrupted with a sentence: the command exits with 130."""

    def decorate(run: Callable[Arguments, int]) -> Callable[Arguments, int]:
        @wraps(run)
        def interrupted(*positional: Arguments.args, **named: Arguments.kwargs) -> int:
            try:
                return run(*positional, **named)
            except KeyboardInterrupt:
                raise Interrupted(sentence) from None

        return interrupted

    return decorate
