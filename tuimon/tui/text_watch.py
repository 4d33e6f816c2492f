"""Whether the run that is shown has generated texts, so that the footer offers the key only then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from textual.app import App

from tuimon.store import Run

_FIRST = 2.0
"""Seconds from the first drawing after which the files of a run are searched: reading comes first."""
_AGAIN = 60.0
"""Seconds after which a run without texts is searched again."""


class TextWatch:
    """Searches the files of each run that is shown, in a thread."""

    def __init__(self, app: App[None], samples: Sequence[str], on_found: Callable[[], object]) -> None:
        """samples: directories outside of the run that are searched, too. on_found: called when texts were found."""
        self._app, self._samples, self._on_found = app, tuple(samples), on_found
        self._found: dict[int, bool] = {}
        self._due: dict[int, float] = {}
        self._searching = False

    def has_texts(self, run: Run) -> bool:
        """Return whether the run has texts as far as it is known; begin a search if that is due."""
        if run.link is not None:  # the texts are copied when the key is pressed
            return True
        if self._found.get(run.id):
            return True
        now = time.monotonic()
        if now >= self._due.setdefault(run.id, now + _FIRST) and not self._searching:
            self._due[run.id], self._searching = now + _AGAIN, True
            self._app.run_worker(self._search(run.id, (run.directory, *self._samples)))
        return False

    async def _search(self, run: int, paths: tuple[str, ...]) -> None:
        from tuimon.rollouts.discovery import may_have_texts

        try:
            self._found[run] = await asyncio.to_thread(may_have_texts, paths)
        finally:
            self._searching = False
        if self._found[run]:
            self._on_found()
