"""Workarounds for Textual, each with its reason. Nothing private of Textual is touched anywhere else."""

from __future__ import annotations

from typing import Any

from textual.app import App


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
