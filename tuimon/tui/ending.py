"""Signals that end the screen. They are heard, and obeyed, even while a terminal that takes no bytes any more holds the
event loop, or the thread that writes."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

PATIENCE = 5.0
"""Seconds in which it ends that was told to."""


class Ending:
    """Listens between `listen` and `stop`."""

    def __init__(self, leave: Callable[[int], object]) -> None:
        """leave: ends the app with an exit code; called by the event loop."""
        self._leave = leave
        self._before: dict[int, Any] = {}
        self.last_resort: Callable[[int], object] = lambda code: None
        """Called with the exit code at once."""

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """To be called in the main thread, as `stop`. Not the loop's own way: a loop that is held would not hear it."""
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self._before[number] = signal.signal(number, partial(self._heard, loop))

    def stop(self) -> None:
        """Signals do what they did before."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _heard(self, loop: asyncio.AbstractEventLoop, number: int, _: object) -> None:
        self.last_resort(128 + number)
        with suppress(RuntimeError):  # the loop is closed: it is ending already
            loop.call_soon_threadsafe(self._leave, 128 + number)


def give_up_later(code: int) -> None:
    """Ends the program, whatever holds it."""
    timer = threading.Timer(PATIENCE, os._exit, [code])
    timer.daemon = True
    timer.start()
