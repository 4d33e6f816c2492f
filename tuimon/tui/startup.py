"""Work that would block the event loop at the first frame, to be done before or after it."""

from __future__ import annotations

import gc
import time

from tuimon import draw, panels
from tuimon.analysis.progress_inputs import progress_of
from tuimon.store import Run

GC_FREEZE_DELAY = 1.0
"""Seconds after the start of the screen at which `freeze_gc` is called."""


def freeze_gc() -> None:
    """Enable the garbage collector (disabled during start-up, see commands/watch.py) and freeze the existing objects;
    scanning them would block the event loop for about 40 ms."""
    gc.enable()
    gc.freeze()


def preload() -> None:
    """Import what drawing needs (about 100 ms)."""
    panels.preload()
    draw.preload()


def warm_up(run: Run) -> None:
    """Classify the metrics of a run, about 0.06 ms each, so that the cached result is ready when the run is drawn."""
    panels.arrange(run)
    progress_of(run, time.time())
