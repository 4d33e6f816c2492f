"""Workarounds for Textual. Only this module and changed_cells use private parts of Textual.

The patches for speed (send_now, changed_cells) are applied only to the versions that they were written for, see
`is_supported`. With another version the screen is the same, at a higher cost; `tuimon doctor` says so.
"""

from __future__ import annotations

import fcntl
import os
import select
import selectors
import signal
import sys
import termios
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Protocol

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.geometry import Size
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer

from tuimon.tui.terminal.capabilities import OPEN_SCREEN, SUPPORTED_TEXTUAL, textual_version

_MOST_PENDING, _WAIT = 200, 0.02
"""Events that may wait to be handled before keys are read, and time (s) from one look at their number to the next."""
_PAUSE = 0.5
"""Time (s) from one look at a terminal that is gone to the next."""


class Opened(Protocol):
    """Owner of the alternate screen until Textual takes it over, such as FirstFrame."""

    is_open: bool


def is_supported() -> bool:
    """Return whether the installed version of Textual is one that the patches for speed were written for."""
    return textual_version().startswith(SUPPORTED_TEXTUAL)


def backlog(app: App[Any]) -> int:
    """Return the number of frames queued for the writer thread plus the number of bytes that the terminal has not taken
    yet; 0 if Textual has no such queue.

    The queue holds 30 frames and then blocks the event loop: without this number, a key on a slow link would show its
    result only seconds later.
    """
    driver = getattr(app, "_driver", None)
    queue = getattr(getattr(driver, "_writer_thread", None), "_queue", None)
    return (int(queue.qsize()) if queue is not None else 0) + _unsent(getattr(driver, "_file", None))


def _unsent(file: Any) -> int:
    """Return the number of bytes in the output queue of the terminal, 0 if it is unknown."""
    if not hasattr(termios, "TIOCOUTQ") or file is None:
        return 0
    try:
        return int.from_bytes(fcntl.ioctl(file.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except (OSError, ValueError):  # not a terminal, or closed
        return 0


def observe_writes(app: App[Any], listener: Callable[[int], object]) -> None:
    """Call `listener` with the number of bytes after each write to the terminal; never, if Textual has no driver."""
    driver = getattr(app, "_driver", None)
    original = getattr(driver, "write", None)
    if driver is None or original is None:
        return

    def write(text: str) -> None:
        original(text)
        listener(len(text.encode("utf-8", "replace")))

    driver.write = write


def ask_position(app: App[Any]) -> None:
    """Query the cursor position (DSR 6, ECMA-48). Terminals reply, tmux on their behalf, and Textual converts the reply
    to events.CursorPosition."""
    write(app, "\x1b[6n")


def type_keys(app: App[Any], text: str) -> None:
    """Let the application act on keys that were read before its driver did."""
    driver, parser = app._driver, XTermParser()
    if driver is not None and text:
        for event in (*parser.feed(text), *parser.tick()):
            driver.process_message(event)


def restore_settings(app: App[Any], settings: list[Any] | None) -> None:
    """Let the terminal have these settings again at the end, instead of those that the driver found."""
    driver: Any = app._driver
    if getattr(driver, "attrs_before", None) is not None and settings is not None:
        driver.attrs_before = settings


def keep_screen(app: App[Any], first: Opened) -> None:
    """Let the driver use the alternate screen that is open already: opening it again would clear it."""
    if first.is_open:
        kind: Any = app.driver_class

        class Driver(kind):  # type: ignore[misc]
            def write(self, data: str) -> None:
                if data == OPEN_SCREEN and first.is_open:
                    first.is_open = False
                else:
                    super().write(data)

        app.driver_class = Driver


def write(app: App[Any], text: str) -> None:
    """Write to the terminal, in order with the output of Textual; without a terminal, do nothing.

    The public App.copy_to_clipboard does not wrap what a multiplexer must pass on.
    """
    driver = getattr(app, "_driver", None)
    if driver is not None:
        driver.write(text)


class PresentSize(Screen[Any]):
    """A screen that is laid out for the present size of the terminal, whatever size an event has that waited.

    Of two sizes that wait at once, each layout asks for one more in its own size: the screen went from one to the other
    for ever, 1,000 times a second, in 2 of 45 resizes just after the start.
    """

    def _screen_resized(self, size: Size) -> None:
        super()._screen_resized(self.app.size)


class LateTimers(App[object]):
    """An application that calls back after a time however late it is.

    Textual forgets a call whose time is over before it begins to wait. In a process that did not run for 8 ms this lost
    a new size of the terminal, and with it each later one.
    """

    def set_timer(self, *arguments: Any, **options: Any) -> Timer:
        timer = super().set_timer(*arguments, **options)
        timer._skip = False
        return timer


def send_now(screen: Screen[Any], layout: bool = False) -> None:
    """Send what is to be painted without waiting for the update timer of the screen. layout: lay it out before.

    A widget requests a layout by a message, which may arrive after the widgets were drawn for their new places. They
    would be painted at their old ones, for a moment.

    Without it an appended row is on the screen after 75 to 224 ms instead of 16 to 29 (95th percentile).
    Unsupported versions: Screen.check_idle.
    """
    if is_supported() and not screen.app._batch_count:
        screen._layout_required |= layout
        screen._on_timer_update()
    else:
        screen.check_idle()


class _HangupSelector(selectors.SelectSelector):
    """Waits with reading keys while _MOST_PENDING of them are not handled yet, and ends the program on a hang-up.

    Ten thousand bursts of keys without a pause would fill 400 MB, and delay a signal until all of them are handled.

    A terminal that is gone is readable for ever and returns no bytes, on which the input thread would spend a whole
    core. Its SIGHUP may be missed: by a program that it reached while it was inherited as ignored, before the handler
    was installed, or whose session has another terminal.
    """

    pending: Callable[[], int] = staticmethod(lambda: 0)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.pending() > _MOST_PENDING:
            time.sleep(_WAIT)
            return []
        events = super().select(timeout)
        if events and any(_hung_up(key.fd) for key, _ in events):
            if callable(signal.getsignal(signal.SIGHUP)):
                os.kill(os.getpid(), signal.SIGHUP)
            time.sleep(_PAUSE)
            return []
        return events


def _hung_up(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return any(state & select.POLLHUP for _, state in poll.poll(0))


def pending_events(app: App[Any]) -> int:
    """Return the number of events that the app, its screen and the focused widget have not handled yet."""
    pumps: list[MessagePump] = [app, *app._screen_stack[-1:]]
    pumps += [pump.focused for pump in pumps[1:] if isinstance(pump, Screen) and pump.focused is not None]
    return sum(pump.message_queue_size for pump in pumps)


def survive_hangup(app: App[Any] | None = None) -> None:
    """End the program once the terminal is gone, and read no more keys than `app` can handle.

    By itself the writer thread ends, its queue fills up, and the program waits for room in it forever; and the input
    thread reads nothing as fast as it can. These patches are applied to every version that has such threads.
    """
    try:
        from textual.drivers import linux_driver
        from textual.drivers._writer_thread import WriterThread
    except ImportError:
        return
    if app is not None:
        _HangupSelector.pending = staticmethod(lambda: pending_events(app))
    linux_driver.selectors = SimpleNamespace(  # type: ignore[attr-defined, assignment]
        SelectSelector=_HangupSelector, EVENT_READ=selectors.EVENT_READ
    )
    original = WriterThread.run

    def run(thread: WriterThread) -> None:
        try:
            original(thread)
        except OSError:
            while thread._queue.get() is not None:
                pass

    WriterThread.run = run  # type: ignore[assignment, method-assign]
