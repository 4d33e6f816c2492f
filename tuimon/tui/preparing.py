"""What would hold the event loop at the first drawing: done in a thread before it, or after it."""

from __future__ import annotations

import gc
import time

from tuimon import draw, panels
from tuimon.analysis.progress_inputs import progress_of
from tuimon.store import Run

START = 1.0
"""Seconds from a screen's beginning to `settle`."""


def settle() -> None:
    """The collector of garbage, which a start goes without (commands/watch.py), works again; but what is there by now
    stays, and each look at it would hold the loop for 40 ms."""
    gc.enable()
    gc.freeze()


def prepare() -> None:
    """Loads what drawing needs: a tenth of a second."""
    panels.prepare()
    draw.prepare()


def meet(run: Run) -> None:
    """Works out what the names of the run's metrics mean, which is kept: some 0.4 ms for each."""
    panels.arrange(run)
    progress_of(run, time.time())
