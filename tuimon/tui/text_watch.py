"""Whether the run that is shown has generated texts and console text: the footer offers their keys only then."""

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
"""Seconds after which a run that lacks one of the kinds is searched again."""
_LONGEST = 5.0
"""Seconds after which a search ends, as if it had found texts."""
_ACTIONS = frozenset({"texts", "log"})
"""Ids of the actions that show these kinds of text."""


class TextWatch:
    """Searches the files of each run that is shown, in a thread."""

    def __init__(self, app: App[None], samples: Sequence[str], on_change: Callable[[], object]) -> None:
        """samples: directories outside of the run that are searched, too. on_change: called if a search has another
        result than `missing` returned before."""
        self._app, self._samples, self._on_change = app, tuple(samples), on_change
        self._found: dict[int, frozenset[str]] = {}
        self._due: dict[int, float] = {}

    def missing(self, run: Run) -> frozenset[str]:
        """Return those of the actions "texts" and "log" for which the run has no text, or none that has been found yet;
        schedule a search if that is due."""
        if run.link is not None:  # the texts are copied when the key is pressed
            return frozenset()
        known, now = self._found.get(run.id, frozenset()), time.monotonic()
        if any(stream.info.format == "console" for stream in run.streams):
            known |= {"log"}
        missing = _ACTIONS - known
        if run.id not in self._due or (missing and now >= self._due[run.id]):
            self._due[run.id] = now + _AGAIN
            self._app.set_timer(_FIRST, partial(self._begin, run.id, (run.directory, *self._samples)))
        return missing

    def _begin(self, run: int, paths: tuple[str, ...]) -> None:
        search = partial(self._search, run, paths)  # not a coroutine, which a program that ends would never await
        self._app.run_worker(search)  # type: ignore[arg-type]

    async def _search(self, run: int, paths: tuple[str, ...]) -> None:
        before = self._found.get(run, frozenset())
        self._found[run] = await asyncio.to_thread(_kinds_in, paths)
        if self._found[run] != before:
            self._on_change()


def _kinds_in(paths: tuple[str, ...]) -> frozenset[str]:
    """Return the actions for which there are texts. paths: directory of the run, and others with generated texts."""
    from tuimon.reader.log_text import text_files
    from tuimon.samples.discovery import has_samples

    kinds = {"texts": has_samples(paths, _LONGEST), "log": bool(text_files(paths[0], ()))}
    return frozenset(kind for kind, is_there in kinds.items() if is_there)
