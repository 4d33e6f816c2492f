"""Which pages are open, what they have in view, and when their parts are drawn.

Drawing takes less than a tenth of a core: a round has a budget of processor time, and after it there is a pause in
proportion to what was used. What a page has just scrolled into view is drawn without that pause.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tuimon.exports.html.parts import run_key
from tuimon.store import Run, Snapshot
from tuimon.web.run_pages import RunPage, RunPages

SHORTEST_PAUSE = 0.2
"""Minimum seconds between two rounds."""
SHARE = 0.08
"""Maximum share of a core for drawing, on average."""
BUDGET = 0.03
"""Processor time (s) after which a round begins no further part. With SHARE it makes two rounds a second."""
_TICK = 2.0
"""Seconds after which parts that depend on the time are looked at although no log has grown."""
MAX_PAGES = 200
"""Maximum number of open pages."""
MAX_KEYS = 2000
"""Maximum number of parts that a page can have in view."""


class OpenPage:
    """An open page."""

    def __init__(self, run: str, sent: int) -> None:
        self.id = secrets.token_urlsafe(12)
        self.run = run
        """Key of its run; "" before the first run."""
        self.sent = sent
        """Version up to which it has all changes."""
        self.in_view: frozenset[str] | None = None
        """Keys of the parts that are in view; None until the page has sent them."""
        self.changed = asyncio.Event()
        """Set after each round."""


class Hub:
    """Draws for the open pages. All methods but `announce` belong to the thread of the event loop."""

    def __init__(self, snapshot: Callable[[], Snapshot], boards: RunPages) -> None:
        self._snapshot = snapshot
        self._boards = boards
        self.pages: dict[str, OpenPage] = {}
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        self._drawing = asyncio.Lock()

    def announce(self) -> None:
        """Note that the snapshot has changed; thread-safe."""
        self._loop.call_soon_threadsafe(self._changed.set)

    @contextmanager
    def open(self, run: str, sent: int) -> Iterator[OpenPage]:
        """Return a page, which is open until the block is left."""
        page = OpenPage(run, sent)
        self.pages[page.id] = page
        self._changed.set()
        try:
            yield page
        finally:
            del self.pages[page.id]

    def set_view(self, page: str, keys: frozenset[str]) -> bool:
        """Note what a page has in view. Return False if there is no such page."""
        if page not in self.pages:
            return False
        self.pages[page].in_view = keys
        self._urgent.set()
        self._changed.set()
        return True

    def run_of(self, key: str) -> Run | None:
        """Return the run with a key, or without a key the newest one; None if there is none."""
        snapshot = self._snapshot()
        if not key:
            return snapshot.newest_run
        return next((run for run in snapshot.runs if run_key(run) == key), None)

    async def board(self, key: str) -> RunPage | None:
        """Return the board of a run with its first parts drawn, for a page that is about to be opened."""
        async with self._drawing:
            await asyncio.to_thread(self._draw, {key: None}, math.inf)
        return self._boards.get(key)

    async def run(self) -> None:
        """Draw until cancelled."""
        while True:
            try:
                await asyncio.wait_for(self._changed.wait(), _TICK)
            except TimeoutError:
                if not self.pages:
                    continue
            self._changed.clear()
            self._urgent.clear()
            used = 0.0
            if self.pages:
                async with self._drawing:
                    wanted = self._wanted()
                    self._boards.keep_only(wanted)
                    used, complete = await asyncio.to_thread(self._draw, wanted, BUDGET)
                if not complete:
                    self._changed.set()
                for page in tuple(self.pages.values()):
                    page.changed.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), max(SHORTEST_PAUSE, used * (1 / SHARE - 1)))

    def _wanted(self) -> dict[str, set[str] | None]:
        """Return the keys of the parts in view by run; None for the first parts."""
        wanted: dict[str, set[str] | None] = {}
        for page in self.pages.values():
            if page.in_view is None:
                wanted.setdefault(page.run, None)
            else:
                wanted[page.run] = (wanted.get(page.run) or set()) | page.in_view
        return wanted

    def _draw(self, wanted: dict[str, set[str] | None], budget: float) -> tuple[float, bool]:
        """Update the boards of these runs; return the processor time (s), and whether all wanted parts were drawn."""
        begun, snapshot, now = time.thread_time(), self._snapshot(), time.time()
        runs = {run_key(run): run for run in snapshot.runs}
        complete = True
        for key, parts in wanted.items():
            if key in runs:
                budget = self._boards.update(runs[key], snapshot, now, parts, budget)
                complete &= budget >= 0
        return time.thread_time() - begun, complete
