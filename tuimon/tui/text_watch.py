"""Whether the run that is shown has generated texts, so that the footer offers the key only then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial

from textual.app import App

from tuimon.store import Run

_FIRST = 2.0
"""Seconds from the drawing of a run to the search of its files: reading comes first."""
_AGAIN = 60.0
"""Seconds after which a run without texts is searched again."""


class TextWatch:
    """Searches the files of each run that is shown, in a thread."""

    def __init__(self, app: App[None], samples: Sequence[str], on_change: Callable[[], object]) -> None:
        """samples: directories outside of the run that are searched, too. on_change: called if a search has another
        result than `has_texts` returned before."""
        self._app, self._samples, self._on_change = app, tuple(samples), on_change
        self._found: dict[int, bool] = {}
        self._due: dict[int, float] = {}

    def has_texts(self, run: Run) -> bool:
        """Return whether the run has texts, False until they are found; schedule a search if that is due."""
        if run.link is not None:  # the texts are copied when the key is pressed
            return True
        known, now = self._found.get(run.id, False), time.monotonic()
        if run.id not in self._due or (not known and now >= self._due[run.id]):
            self._due[run.id] = now + _AGAIN
            self._app.set_timer(_FIRST, partial(self._begin, run.id, (run.directory, *self._samples)))
        return known

    def _begin(self, run: int, paths: tuple[str, ...]) -> None:
        search = partial(self._search, run, paths)  # not a coroutine, which a program that ends would never await
        self._app.run_worker(search)  # type: ignore[arg-type]

    async def _search(self, run: int, paths: tuple[str, ...]) -> None:
        from tuimon.rollouts.discovery import may_have_texts

        before = self._found.get(run, False)
        self._found[run] = await asyncio.to_thread(may_have_texts, paths)
        if self._found[run] != before:
            self._on_change()
