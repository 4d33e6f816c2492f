"""The HTML of the page of each run: parts are drawn once for all open pages, and only if their data has changed.

Every change of a part gets a version, counted over all runs. A page that has everything up to a version is sent the
parts with a higher one, so that a connection can be lost and continued at any time.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Collection, Mapping
from typing import Any

import orjson
from msgspec import Struct

from tuimon.exports.html import parts as page_parts
from tuimon.exports.html.parts import Slot, run_key
from tuimon.exports.sample_lines import paths_of
from tuimon.samples.extremes import Extremes, extremes_in
from tuimon.samples.library import Library
from tuimon.store import Run, Snapshot

FIRST_SLOTS = 8
"""Number of parts that are drawn before a page has said what it has in view: the head and the first charts."""


_REST = 60.0
"""A part that takes t seconds to draw is due this many times t after it was drawn: cheap parts change more often."""
_SEARCH_REST, _SHORTEST_REST = 20.0, 1.0
"""A search for texts that takes t seconds is not repeated for the first many times t, and for the second (s)."""


class DrawnSlot(Struct, frozen=True):
    """A drawn slot."""

    version: int
    """Version of the last change of `html`."""
    html: str
    inputs: tuple[Any, ...]
    """All that the HTML was made of."""
    due: float
    """Monotonic time before which parts that are due earlier are drawn."""


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
    """The boards of the runs whose pages have been asked for. `update` must not run in two threads at once."""

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(4)
        """Distinguishes the versions from those of an earlier server at the same address."""
        self._version = 0
        self._boards: dict[str, RunPage] = {}
        self._texts: dict[str, RunTexts] = {}

    def get(self, key: str) -> RunPage | None:
        """Return the board of a run, or None if it was never updated."""
        return self._boards.get(key)

    def update(
        self, run: Run, snapshot: Snapshot, now: float, wanted: Collection[str] | None, budget: float = math.inf
    ) -> float:
        """Draw the wanted parts whose data has changed; return what is left of the budget, below 0 if parts are left.

        wanted: keys of parts; None: the first parts. budget: processor time (s) after which no part is begun.
        """
        key = run_key(run)
        before = self._boards.get(key)
        slots = page_parts.slots(run, snapshot)
        if wanted is None:
            wanted = {slot.key for slot in slots[:FIRST_SLOTS]}
        layout_version = 0 if before is None else before.layout_version
        if before is None or [s.key for s in before.slots] != [s.key for s in slots]:
            layout_version = self._next()
        drawn = {} if before is None else before.parts
        parts = {slot.key: drawn[slot.key] for slot in slots if slot.key in drawn}
        samples = self._texts.setdefault(key, RunTexts(run)).newest() if "texts" in wanted else None
        changed = []
        for position, slot in enumerate(slots):
            if slot.key in wanted:
                inputs, part = page_parts.inputs(slot, run, snapshot, now, samples), parts.get(slot.key)
                if part is None or part.inputs != inputs:
                    changed.append((-math.inf if part is None else part.due, position, slot, inputs))
        for _, _, slot, inputs in sorted(changed, key=lambda one: one[:2]):
            if budget <= 0:
                budget = -1.0
                break
            begun, part = time.thread_time(), parts.get(slot.key)
            html = page_parts.draw(slot, run, snapshot, now, samples)
            used = time.thread_time() - begun
            budget -= used
            version = part.version if part is not None and part.html == html else self._next()
            parts[slot.key] = DrawnSlot(version, html, inputs, time.monotonic() + used * _REST)
        self._boards[key] = RunPage(slots, layout_version, parts, len(run.metrics))
        return budget

    def keep_only(self, keys: Collection[str]) -> None:
        """Forget the boards of other runs, which hold memory."""
        for key in self._boards.keys() - set(keys):
            del self._boards[key]
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
