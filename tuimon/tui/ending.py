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
"""Seconds for which the last bytes wait for the terminal."""


class Ending:
    """Listens between `listen` and `stop`."""

    def __init__(self, leave: Callable[[int], object]) -> None:
        """leave: ends the app with an exit code; called by the event loop."""
        self._leave = leave
        self._before: dict[int, Any] = {}
        self.terminal: int | None = None
        """The descriptor that is written to, which is let go of where it holds the end up."""
        self._letting_go: threading.Timer | None = None

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """To be called in the main thread, as `stop`. Not the loop's own way: a loop that is held would not hear it."""
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self._before[number] = signal.signal(number, partial(self._heard, loop))

    def stop(self) -> None:
        """Signals do what they did before."""
        while self._before:
            signal.signal(*self._before.popitem())

    def over(self) -> None:
        """Nothing holds it up any more."""
        if self._letting_go is not None:
            self._letting_go.cancel()

    def _heard(self, loop: asyncio.AbstractEventLoop, number: int, _: object) -> None:
        if self.terminal is not None and self._letting_go is None:
            self._letting_go = threading.Timer(PATIENCE, _let_go, [self.terminal, number])
            self._letting_go.daemon = True
            self._letting_go.start()
        with suppress(RuntimeError):  # the loop is closed: it is ending already
            loop.call_soon_threadsafe(self._leave, 128 + number)


def _let_go(descriptor: int, number: int) -> None:
    """Puts the null device in the terminal's place. A thread that hangs in writing is shaken by the signal, and goes on
    there: so all is tidied up as after any end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
    for thread in threading.enumerate():
        if thread.ident is not None and thread is not threading.current_thread():
            with suppress(ProcessLookupError):
                signal.pthread_kill(thread.ident, number)
