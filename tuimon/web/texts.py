"""The best and worst texts of the newest step of a run, read again when its files have changed."""

from __future__ import annotations

import time

from tuimon.exports.sample_lines import paths_of
from tuimon.samples.extremes import Extremes, extremes_in
from tuimon.samples.library import Library
from tuimon.store import Run

_REST = 20.0
"""A search that takes t seconds is not repeated for this many times t, so that charts are drawn in between."""
_SHORTEST_REST = 1.0


class RunTexts:
    """Follows the texts of one run. Nothing is read before the first call."""

    def __init__(self, run: Run) -> None:
        self._library = Library(paths_of(run))
        self._newest: Extremes | None = None
        self._due = 0.0

    def newest(self) -> Extremes | None:
        """Return the texts, or None without any; the same object as long as no file has changed."""
        begun = time.monotonic()
        if begun >= self._due:
            if self._library.refresh():
                self._newest = extremes_in(self._library)
            ended = time.monotonic()
            self._due = ended + max(_SHORTEST_REST, (ended - begun) * _REST)
        return self._newest
