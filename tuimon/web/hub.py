"""Which pages are open, what they have in view, and when their parts are drawn.

Drawing takes less than a tenth of a core: after a round there is a pause in proportion to the processor time it took.
What a page has just scrolled into view is drawn without that pause.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import orjson
from msgspec import Struct

from tuimon.exports.html import parts as page_parts
from tuimon.exports.html.parts import Slot, run_key
from tuimon.exports.sample_lines import paths_of
from tuimon.samples.extremes import Extremes, extremes_in
from tuimon.samples.library import Library
from tuimon.store import Run, Snapshot

SHORTEST_PAUSE = 0.2
"""Minimum seconds between two rounds."""
SHARE = 0.08
"""Maximum share of a core for drawing, on average."""
_TICK = 2.0
"""Seconds between looks at parts that depend on the time, without new points."""
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

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot
        self.run_pages = RunPages()
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

    async def run_page(self, key: str) -> RunPage | None:
        """Return the page of a run with its first parts drawn."""
        async with self._drawing:
            await asyncio.to_thread(self._draw, {key: None})
        return self.run_pages.get(key)

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
                    self.run_pages.keep_only(wanted)
                    used = await asyncio.to_thread(self._draw, wanted)
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

    def _draw(self, wanted: dict[str, set[str] | None]) -> float:
        """Update the pages of these runs; return the processor time (s)."""
        begun, snapshot, now = time.thread_time(), self._snapshot(), time.time()
        runs = {run_key(run): run for run in snapshot.runs}
        for key, parts in wanted.items():
            if key in runs:
                self.run_pages.update(runs[key], snapshot, now, parts)
        return time.thread_time() - begun


FIRST_SLOTS = 8
"""Parts that are drawn before a page has said what it has in view."""


_SEARCH_REST, _SHORTEST_REST = 20.0, 1.0
"""A search for texts rests for this multiple of its duration, and at least this long (s)."""


class DrawnSlot(Struct, frozen=True):
    """A drawn slot."""

    version: int
    """Version of the last change of `html`."""
    html: str
    inputs: tuple[Any, ...]
    """All that the HTML was made of."""


class RunPage:
    """The page of one run at one moment. Immutable, so any thread may read it."""

    def __init__(
        self, slots: tuple[Slot, ...], layout_version: int, parts: Mapping[str, DrawnSlot], metrics: int
    ) -> None:
        self.slots = slots
        self.layout_version = layout_version
        """Version of the last change of the keys and their order."""
        self.parts = parts
        self.metrics = metrics
        """Number of metrics of the run."""
        self.version = max([layout_version, *(part.version for part in parts.values())])
        self._events: dict[int, bytes] = {}

    def event(self, epoch: str, since: int) -> bytes:
        """Return the server-sent event with all changes after version `since`; b"" if there are none."""
        if since >= self.version:
            return b""
        if since not in self._events:
            message: dict[str, Any] = {
                "html": {key: part.html for key, part in self.parts.items() if part.version > since}
            }
            if self.layout_version > since:
                message["layout"] = [
                    [group, [slot.key for slot in self.slots if slot.group == group]] for group, _ in page_parts.GROUPS
                ]
                message["metrics"] = self.metrics
            # JSON has no line breaks, which would end the field.
            data = orjson.dumps(message)
            self._events[since] = b"id: %s-%d\ndata: %s\n\n" % (epoch.encode(), self.version, data)
        return self._events[since]


class RunPages:
    """The pages of the runs that have been asked for. `update` must not run in two threads at once."""

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(4)
        """Distinguishes the versions from those of an earlier server at the same address."""
        self._version = 0
        self._pages: dict[str, RunPage] = {}
        self._texts: dict[str, RunTexts] = {}

    def get(self, key: str) -> RunPage | None:
        """Return the page of a run, or None if it was never updated."""
        return self._pages.get(key)

    def update(self, run: Run, snapshot: Snapshot, now: float, wanted: Collection[str] | None) -> None:
        """Draw the wanted parts whose data has changed. wanted: keys of parts; None: the first parts."""
        key = run_key(run)
        before = self._pages.get(key)
        slots = page_parts.slots(run, snapshot)
        if wanted is None:
            wanted = {slot.key for slot in slots[:FIRST_SLOTS]}
        layout_version = 0 if before is None else before.layout_version
        if before is None or [s.key for s in before.slots] != [s.key for s in slots]:
            layout_version = self._next()
        drawn = {} if before is None else before.parts
        parts = {slot.key: drawn[slot.key] for slot in slots if slot.key in drawn}
        samples = self._texts.setdefault(key, RunTexts(run)).newest() if "texts" in wanted else None
        for slot in slots:
            if slot.key not in wanted:
                continue
            inputs, part = page_parts.inputs(slot, run, snapshot, now, samples), parts.get(slot.key)
            if part is None or part.inputs != inputs:
                html = page_parts.draw(slot, run, snapshot, now, samples)
                version = part.version if part is not None and part.html == html else self._next()
                parts[slot.key] = DrawnSlot(version, html, inputs)
        self._pages[key] = RunPage(slots, layout_version, parts, len(run.metrics))

    def keep_only(self, keys: Collection[str]) -> None:
        """Forget the pages of other runs, which hold memory."""
        for key in self._pages.keys() - set(keys):
            del self._pages[key]
            self._texts.pop(key, None)

    def _next(self) -> int:
        self._version += 1
        return self._version


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
            self._due = ended + max(_SHORTEST_REST, (ended - begun) * _SEARCH_REST)
        return self._newest
