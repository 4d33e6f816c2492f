"""Schedule drawing: the first page as soon as there are points, then each new snapshot at a limited frame rate."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack, suppress

from tuimon.store import Run, Snapshot
from tuimon.tui.action import TuimonApp
from tuimon.tui.run_choice import run_with_id
from tuimon.tui.startup import warm_up

_HEADER_INTERVAL = 1.0
"""Minimum time (s) between two headers while a run grows: a header is computed from many metrics."""
_POLL = 0.02
"""Interval (s) at which the loop checks whether the next frame may begin."""
_DETECT_DELAY = 0.1
"""Time (s) from the first curves, whose boxes are still to be laid out, to the first run of the detectors."""


class RedrawLoop:
    """Draws the newest snapshot of a monitor. Everything runs on the event loop, except `announce`."""

    def __init__(self, view: TuimonApp) -> None:
        self._view, self._monitor, self._limiter = view, view.monitor, view.limiter
        self._due = asyncio.Event()
        self._start = ExitStack()
        """Contexts that last until the first curves are on the screen."""
        self._drawn = self._started = self._complete = False

    def announce(self, loop: asyncio.AbstractEventLoop) -> None:
        """Report that the monitor has something new. Called by the receiver thread."""
        with suppress(RuntimeError):  # the loop is closed: the screen has just been left
            loop.call_soon_threadsafe(self._due.set)

    def wake(self) -> None:
        """Draw again if there is something new."""
        self._due.set()

    def draw_first_page(self) -> None:
        """Draw the first page at once if the reader was faster than the imports, so that no waiting screen appears
        before it and nothing is laid out twice."""
        snapshot = self._monitor.snapshot()
        run = self._next_run(snapshot)
        if run is not None and run.point_count:
            self._start.enter_context(self._monitor.pause_writes())
            warm_up(run)
            self._draw_new(snapshot)
            self._view.board.draw_at_once()

    async def run(self) -> None:
        """Draw whatever is new as soon as the frame limiter and the terminal allow it; never returns."""
        self._due.set()
        while True:
            await self._due.wait()
            while (delay := self._delay()) > 0 or self._view.board.drawing:
                await asyncio.sleep(max(delay if self._complete else min(delay, _POLL), _POLL))
            await self._view.backpressure.drained()
            self._due.clear()
            if not self._view.state.paused:
                self._draw_new(await self._prepared())

    async def _prepared(self) -> Snapshot:
        """Return the newest snapshot once a thread has arranged the curves of its run: those of many attempts, sources
        or metrics take seconds, in which keys are answered."""
        snapshot = self._monitor.snapshot()
        run = self._next_run(snapshot)
        if run is not None and snapshot is not self._view.snapshot:
            if not self._started:
                self._start.enter_context(self._monitor.pause_writes())
            await asyncio.to_thread(warm_up, run)
        return snapshot

    def _delay(self) -> float:
        """Seconds until the next frame; 0 once everything has been read if the screen still shows a part of it."""
        return self._limiter.delay() if self._complete or not self._monitor.caught_up else 0.0

    def _next_run(self, snapshot: Snapshot) -> Run | None:
        id = self._view.state.run
        return snapshot.newest_run if id is None else run_with_id(snapshot, id)

    def _draw_new(self, snapshot: Snapshot) -> None:
        if snapshot is not self._view.snapshot or not self._drawn:
            self._view.snapshot, self._drawn = snapshot, True
            self._limiter.begin()
            with self._monitor.pause_writes(), self._limiter.piece():
                self._view.draw(header=self._header_is_due(snapshot))
            if not self._started:
                self._check_started(snapshot)

    def _header_is_due(self, snapshot: Snapshot) -> bool:
        """Return True once an interval, and when reading has completed: a header of partial data may be wrong."""
        was_complete, self._complete = self._complete, snapshot.progress.caught_up
        return was_complete != self._complete or time.monotonic() >= self._view.header_at + _HEADER_INTERVAL

    def _check_started(self, snapshot: Snapshot) -> None:
        """Start the detectors once the first curves are drawn; until then draw without delay."""
        if snapshot.progress.caught_up or not self._view.waiting.display:
            self._started = True
            self._view.set_timer(_DETECT_DELAY, self._start_detectors)
        else:
            self._start.close()
            self._limiter.skip_delay()

    def _start_detectors(self) -> None:
        self._start.close()
        self._monitor.detect()
