"""Workarounds for Textual, each with its reason. Nothing private of Textual is touched anywhere else but in
_changed_cells, which is put to use here."""

from __future__ import annotations

import fcntl
import selectors
import sys
import termios
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import textual
from textual.app import App
from textual.events import ScreenResume
from textual.geometry import NULL_SIZE, Region, Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

_KNOWN = "8.2."
"""The versions whose inside is known to be as it is taken here and in _changed_cells."""
_QUIET = 10
"""Waits of a tenth of a second without a key …"""
_PATIENCE = 0.5
"""… after which they take so many seconds."""


@cache
def _is_known() -> bool:
    """Whether this Textual is such a version, by the name of the directory that describes it: importlib.metadata, with
    the parser of mails that it needs, takes 25 ms to import."""
    return any(Path(textual.__file__).parent.parent.glob(f"textual-{_KNOWN}*.dist-info"))


def backlog(app: App[Any]) -> int:
    """Frames that wait for a slow terminal, and bytes that it has not taken yet. Textual's writer takes 30 frames, then
    it blocks the event loop: a key on a slow link would show only seconds later. Private, so its absence means 0."""
    driver = getattr(app, "_driver", None)
    queue = getattr(getattr(driver, "_writer_thread", None), "_queue", None)
    return (int(queue.qsize()) if queue is not None else 0) + _unsent(getattr(driver, "_file", None))


def _unsent(file: Any) -> int:
    """Bytes in the terminal's own queue; 0 where it cannot be asked."""
    if not hasattr(termios, "TIOCOUTQ") or file is None:
        return 0
    try:
        return int.from_bytes(fcntl.ioctl(file.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except (OSError, ValueError):  # no terminal, or none any more
        return 0


def tell_writes(app: App[Any], listener: Callable[[int], object]) -> None:
    """`listener` is called with the number of bytes after each write to the terminal, as soon as there is one. Private,
    so where Textual has none it is never called."""
    driver = getattr(app, "_driver", None)
    really_write = getattr(driver, "write", None)
    if driver is None or really_write is None:
        return

    def write_and_tell(text: str) -> None:
        really_write(text)
        listener(len(text.encode("utf-8", "replace")))

    driver.write = write_and_tell


def ask(app: App[Any]) -> None:
    """Asks the terminal for the cursor's position (DSR 6, ECMA-48): terminals answer, tmux in their
    place, and Textual makes events.CursorPosition of it."""
    write(app, "\x1b[6n")


def write(app: App[Any], text: str) -> None:
    """Bytes of our own to the terminal, in order with Textual's. Its public way, copy_to_clipboard, does not wrap what
    a multiplexer must pass on. Without a terminal (a test's, say) nothing is written."""
    driver = getattr(app, "_driver", None)
    if driver is not None:
        driver.write(text)


def paint_again(widget: Widget, regions: Sequence[Region]) -> None:
    """Has regions of a widget without border and padding painted when the screen is next idle. Textual's refresh()
    posts a message to the widget, whose task then posts one to the screen: for nine charts a tenth of what their redraw
    costs. Private, so with another version of Textual it is refresh()."""
    if not (_is_known() and widget.is_mounted and widget.display):
        widget.refresh(*regions)
        return
    screen = widget.screen
    widget._repaint_regions.update(regions)
    asked = bool(screen._dirty_widgets)
    screen._dirty_widgets.add(widget)
    if not asked and not widget.app._batch_count:
        screen.check_idle()


def send_now(screen: Screen[Any]) -> None:
    """Sends what is to be painted again. Textual does when the screen is next idle: by a message, an event and a timer,
    which for nine charts are another tenth. Private, so another version of Textual is only told to look."""
    if _is_known() and not screen.app._batch_count:
        screen._on_timer_update()
    else:
        screen.check_idle()


def wait_longer_for_input() -> bool:
    """Makes Textual's input thread wait half a second for a key, once none has come for a second. It looks ten times a
    second whether the program ends or an escape sequence has stopped half-way, which is a third of what an idle screen
    costs; a key ends the wait at any time. Private, so another version of Textual is left as it is. True: it is so."""
    if not _is_known():
        return False
    from textual.drivers import linux_driver

    linux_driver.selectors = SimpleNamespace(  # type: ignore[attr-defined, assignment]
        SelectSelector=_PatientSelector, EVENT_READ=selectors.EVENT_READ
    )
    return True


class _PatientSelector(selectors.SelectSelector):
    """Waits longer than it is told when nothing has come for a while."""

    quiet = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(timeout if self.quiet < _QUIET else _PATIENCE)
        self.quiet = 0 if found else self.quiet + 1
        return found


def survive_the_loss_of_the_terminal() -> None:
    """Makes Textual's writing thread go on when the terminal is gone, and drop what it is given. By itself it ends, its
    queue fills up, and then the program waits for room in it for ever instead of ending. Private, so another version of
    Textual is left as it is."""
    if not _is_known():
        return
    from textual.drivers._writer_thread import WriterThread

    really_run = WriterThread.run

    def run(thread: WriterThread) -> None:
        try:
            really_run(thread)
        except OSError:
            while thread._queue.get() is not None:
                pass

    WriterThread.run = run  # type: ignore[assignment, method-assign]


def send_changed_cells() -> Callable[[], object]:
    """Makes Textual render and send the cells that are to be drawn again, and nothing else. By itself it renders every
    line of every widget that touches what has changed, those behind others too, which is half of what a redraw of nine
    charts costs beside the charts; it sends them from the left edge of the widget on, which is three times the bytes;
    and a page that is painted twice is sent twice. Private, so another version of Textual is left as it is.

    Returns what is to be called when the terminal shows something else than it was sent."""
    if not _is_known():
        return lambda: None
    from textual._compositor import Compositor
    from textual._context import visible_screen_stack

    from tuimon.tui._changed_cells import Sent, changed_cells

    sent, really_render = Sent(), Compositor.render_update

    def render_update(
        compositor: Compositor, full: bool = False, screen_stack: Any = None, simplify: bool = False
    ) -> Any:
        if full:  # a screenshot
            return really_render(compositor, full, screen_stack, simplify)
        visible_screen_stack.set(screen_stack or [])
        return changed_cells(compositor, sent)

    Compositor.render_update = render_update  # type: ignore[assignment, method-assign]
    return sent.forget


def unscrolled() -> Reactive[Size]:
    """`virtual_size` for widgets that show no part of something larger. Textual's own lays everything out again, and
    paints it again, once it is known, which is after the first layout."""
    return Reactive(NULL_SIZE, repaint=False)


class OnceScreen(Screen[None]):
    """A screen whose first page is laid out and painted once. Textual does it when a new screen is resumed, again when
    the screen and when the terminal tell their size, which is the same, and then once more: four times for one picture,
    a twentieth of a start. Private, so with another version of Textual it is a screen like any other."""

    virtual_size = unscrolled()

    def _screen_resized(self, size: Size) -> None:
        if not _is_known() or size != self.outer_size:
            super()._screen_resized(size)

    def _on_screen_resume(self, event: ScreenResume) -> None:
        laid_out = self.outer_size != self.app.size
        super()._on_screen_resume(event)
        event.prevent_default()
        if _is_known() and laid_out:
            self._repaint_required = False
