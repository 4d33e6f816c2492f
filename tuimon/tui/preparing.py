"""What would hold the event loop at the first drawing, to be done in a thread before it."""

from __future__ import annotations

import time

from tuimon import draw, panels
from tuimon.analysis.progress_inputs import progress_of
from tuimon.store import Run


def prepare() -> None:
    """Loads what drawing needs: a quarter of a second."""
    panels.prepare()
    draw.prepare()


def meet(run: Run) -> None:
    """Works out what the names of the run's metrics mean, which is kept: some 0.4 ms for each."""
    panels.arrange(run)
    progress_of(run, time.time())
