"""Workarounds for Textual, each with its reason. Nothing private of Textual is touched anywhere else."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.control import Control
from textual.app import App

_CROPPED_IN = "8.2."
"""The versions whose partial updates are known to be as `_changed_cells` takes them."""


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
    """Makes Textual send the cells that are to be drawn again, and no cell left of them: by itself it begins at the
    left edge of the widget, which is three times the bytes for nine charts of which the ends grow. Private, so another
    version of Textual is left as it is. True: it is so now."""
    if not version("textual").startswith(_CROPPED_IN):
        return False
    from textual._compositor import ChopsUpdate

    ChopsUpdate.render_segments = _changed_cells  # type: ignore[assignment]
    return True


def _changed_cells(update: Any, console: Console) -> str:
    """The sequences of a ChopsUpdate. Its spans are (row, first cell, cell after the last), its chops the strips of
    each row by their first cell; spans never begin or end inside a wide character (see draw.diff)."""
    sent: list[str] = []
    for y, first, end in update.spans:
        for right, (left, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            begin, stop = max(left, first), min(right, end)
            if strip is not None and begin < stop:
                sent += Control.move_to(begin, y).segment.text, strip.crop(begin - left, stop - left).render(console)
    return "".join(sent)
