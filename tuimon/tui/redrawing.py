"""When the dashboard is drawn: its first page as soon as there is anything, then what is new, at a pace."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from tuimon.monitor import ReaderProcess
from tuimon.store import Run, Snapshot
from tuimon.tui.link import Link
from tuimon.tui.pace import Pace
from tuimon.tui.preparing import meet

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_HEADER_EVERY = 1.0
"""Seconds, at least, from one header to the next while a run grows: it is worked out of many metrics."""
_SOON = 0.02
"""Seconds from one look whether it is time for a drawing to the next."""
_DETECT_AFTER = 0.1
"""Seconds from the first curves, for which the boxes must be laid out, to the first look of the detectors."""


class Redrawing:
    """Has the app draw the newest snapshot of its monitor. All of it on the event loop but `announce`."""

    def __init__(self, app: TuimonApp, monitor: ReaderProcess, pace: Pace, link: Link) -> None:
        self._app, self._monitor, self._pace, self._link = app, monitor, pace, link
        self._news = asyncio.Event()
        self._alone = ExitStack()
        self._drawn = self._begun_to_show = self._whole = False
        self._met: tuple[int, int] | None = None

    def announce(self, loop: asyncio.AbstractEventLoop) -> None:
        """Something is new; on the receiving thread."""
        with suppress(RuntimeError):  # the loop is closed: the screen has just been left
            loop.call_soon_threadsafe(self._news.set)

    def wake(self) -> None:
        """There may be something new."""
        self._news.set()

    def begin_with_what_is_there(self) -> None:
        """Where the reader was quicker than the imports, the first thing on the screen is the first page with its
        charts: no screen before it tells what is waited for, and nothing is laid out twice."""
        run = self._run_to_meet()
        if run is not None and run.point_count:
            self._alone.enter_context(self._monitor.undisturbed())
            meet(run)
            self._met = run.id, run.structure
            self._draw_new()
            self._app.board.draw_at_once()

    async def go_on(self) -> None:
        """What is new, when the pace allows; later while a slow terminal has frames waiting."""
        self._news.set()
        while True:
            await self._news.wait()
            while (rest := self._rest()) > 0 or self._app.board.drawing:
                await asyncio.sleep(max(rest if self._whole else min(rest, _SOON), _SOON))
            await self._link.drained()
            self._news.clear()
            if not self._app.state.paused:
                await self._meet_new()
                self._draw_new()

    async def _meet_new(self) -> None:
        """What names of metrics mean is worked out once for each, in a thread: of hundreds it takes a while."""
        run = self._run_to_meet()
        if run is not None and (run.id, run.structure) != self._met:
            if not self._begun_to_show:
                self._alone.enter_context(self._monitor.undisturbed())
            await asyncio.to_thread(meet, run)
            self._met = run.id, run.structure

    def _rest(self) -> float:
        """Seconds until the next drawing: none once all has been read, as what is shown is a part of it."""
        return self._pace.rest() if self._whole or not self._monitor.has_read else 0.0

    def _run_to_meet(self) -> Run | None:
        snapshot, at = self._monitor.snapshot(), self._app.state.run
        return snapshot.runs[min(at, len(snapshot.runs) - 1)] if at is not None and snapshot.runs else snapshot.newest

    def _draw_new(self) -> None:
        snapshot = self._monitor.snapshot()
        if snapshot is not self._app.snapshot or not self._drawn:
            self._app.snapshot, self._drawn = snapshot, True
            self._pace.begin()
            with self._monitor.undisturbed(), self._pace.piece():
                self._app.draw(header=self._header_is_due(snapshot))
            if not self._begun_to_show:
                self._begin_to_show(snapshot)

    def _header_is_due(self, snapshot: Snapshot) -> bool:
        """At times, and when all has been read: what was said of a part may be wrong."""
        whole, self._whole = self._whole, snapshot.progress.caught_up
        return whole != self._whole or time.monotonic() >= self._app.header_at + _HEADER_EVERY

    def _begin_to_show(self, snapshot: Snapshot) -> None:
        """The first curve waits for no rest, and for no detector."""
        if snapshot.progress.caught_up or not self._app.waiting.display:
            self._begun_to_show = True
            self._app.set_timer(_DETECT_AFTER, self._has_begun)
        else:
            self._alone.close()
            self._pace.at_once()

    def _has_begun(self) -> None:
        self._alone.close()
        self._monitor.detect()
