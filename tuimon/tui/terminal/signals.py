"""Signals that end the screen. They work even while a terminal that accepts no more bytes blocks the event loop or the
writer thread."""

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
"""Time (s) for which the last bytes may wait for the terminal."""


_NAMES = ("TERM", "HUP", "INT", "QUIT", "ABRT", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "XCPU", "IO", "STKFLT", "PWR")
SIGNALS = tuple(getattr(signal, f"SIG{name}") for name in _NAMES if hasattr(signal, f"SIG{name}"))
"""Signals that would otherwise end the process without giving the terminal back. SIGPIPE and SIGXFSZ are ignored by
Python; those that report a fault of the program (SIGSEGV) are not handled. SIGABRT is handled if another process sent
it; after abort() in this one no Python code runs."""


class ExitSignals:
    """Handles the signals in SIGNALS between `install` and `uninstall`, both called in the main thread."""

    def __init__(self, leave: Callable[[int], object]) -> None:
        """leave: ends the app with an exit code; called on the event loop."""
        self._leave = leave
        self._before: dict[int, Any] = {}
        self.terminal: int | None = None
        """Descriptor of the terminal, which is replaced by the null device if it blocks the end."""
        self._timer: threading.Timer | None = None

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        """Install the handlers. They are not the event loop's own, which a blocked loop would not call."""
        for number in SIGNALS:
            self._before[number] = signal.signal(number, partial(self._handle, loop))

    def uninstall(self) -> None:
        """Restore the previous handlers."""
        while self._before:
            number, handler = self._before.popitem()
            if handler is not None:  # else it is not Python's, such as that of -X faulthandler
                signal.signal(number, handler)

    def cancel_timer(self) -> None:
        """Keep the terminal: the app has ended in time."""
        if self._timer is not None:
            self._timer.cancel()

    def _handle(self, loop: asyncio.AbstractEventLoop, number: int, _: object) -> None:
        if self.terminal is not None and self._timer is None:
            self._timer = threading.Timer(PATIENCE, _detach_terminal, [self.terminal, number])
            self._timer.daemon = True
            self._timer.start()
        with suppress(RuntimeError):  # the loop is closed: the app is ending already
            loop.call_soon_threadsafe(self._leave, 128 + number)


def _detach_terminal(descriptor: int, number: int) -> None:
    """Replace the terminal by the null device. The signal interrupts threads that are blocked in a write, which then
    succeeds, so that the usual clean-up takes place."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
    for thread in threading.enumerate():
        if thread.ident is not None and thread is not threading.current_thread():
            with suppress(ProcessLookupError):
                signal.pthread_kill(thread.ident, number)
