"""Workarounds for Textual, each with its reason. Nothing private of Textual is touched anywhere else but in
_changed_cells, which is put to use here."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from textual.app import App

_CROPPED_IN = "8.2."
"""The versions whose partial updates are known to be as `changed_cells` takes them."""


def backlog(app: App[Any]) -> int:
    """Frames that wait for a slow terminal. Textual's writer takes 30, then it blocks the event loop: a key on a slow
    link would show only seconds later. Private, so its absence means 0."""
    writer = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return int(queue.qsize()) if queue is not None else 0


def write(app: App[Any], text: str) -> None:
    """Bytes of our own to the terminal, in order with Textual's. Its public way, copy_to_clipboard, does not wrap what
    a multiplexer must pass on. Without a terminal (a test's, say) nothing is written."""
    driver = getattr(app, "_driver", None)
    if driver is not None:
        driver.write(text)


def send_changed_cells() -> bool:
    """Makes Textual render and send the cells that are to be drawn again, and nothing else. By itself it renders every
    line of every widget that touches what has changed, those behind others too, which is half of what a redraw of nine
    charts costs beside the charts; and it sends them from the left edge of the widget on, which is three times the
    bytes. Private, so another version of Textual is left as it is. True: it is so now."""
    if not version("textual").startswith(_CROPPED_IN):
        return False
    from textual._compositor import Compositor

    from tuimon.tui._changed_cells import changed_cells

    Compositor.render_partial_update = changed_cells  # type: ignore[assignment, method-assign]
    return True
