"""Follow logs as they grow, from a thread or from asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from tuimon.api.runs import Snapshot
from tuimon.monitor.local import LocalMonitor
from tuimon.sources.watch import Watcher


class Follower(Iterator[Snapshot], AsyncIterator[Snapshot]):
    """An endless (asynchronous) iterator of snapshots: one at once, then one after each change.

    A slow consumer receives the newest snapshot and skips those in between. `close` may be called from any thread; it
    ends the iteration. `with`, `async with`, and the end of the last reference close, too.
    """

    def __init__(self, targets: tuple[str | os.PathLike[str], ...], interval: float, poll: bool) -> None:
        self._monitor = LocalMonitor(targets)
        self._interval = interval
        self._watcher = Watcher(poll=poll, interval=interval)
        self._reading = threading.Lock()
        self._closed = threading.Event()
        self._released = False
        self._delivered = -1
        """Version of the snapshot that was returned last; an abandoned wait delivers nothing, so nothing is lost."""
        self._executor: ThreadPoolExecutor | None = None

    def _next(self, abandoned: threading.Event) -> Snapshot | None:
        """Wait for a change; return None once the follower is closed, or the caller has gone away."""
        try:
            with self._reading:
                monitor = self._monitor
                while not (self._closed.is_set() or abandoned.is_set()):
                    changed = monitor.update()
                    if changed or monitor.store.version != self._delivered:
                        return Snapshot(monitor.snapshot())
                    self._watcher.set_directories(monitor.collector.directories)
                    self._watcher.wait(self._interval)
            return None
        finally:
            if self._closed.is_set():
                self._release()

    def _deliver(self, snapshot: Snapshot) -> Snapshot:
        self._delivered = snapshot.version
        return snapshot

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Snapshot:
        """Wait for a change and return a snapshot. Raises StopIteration once the follower is closed."""
        snapshot = self._next(threading.Event())
        if snapshot is None:
            raise StopIteration
        return self._deliver(snapshot)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Snapshot:
        """As `__next__`, without blocking the event loop. After a cancellation the iteration can go on."""
        if self._closed.is_set():
            raise StopAsyncIteration
        if self._executor is None:  # a thread of its own: waits of many followers would fill the loop's default pool
            self._executor = ThreadPoolExecutor(1, "tuimon-follow")
        abandoned = threading.Event()
        waiting = asyncio.get_running_loop().run_in_executor(self._executor, self._next, abandoned)
        try:
            snapshot = await asyncio.shield(waiting)
        except asyncio.CancelledError:
            abandoned.set()
            self._wake()
            raise
        if snapshot is None:
            raise StopAsyncIteration
        return self._deliver(snapshot)

    def close(self) -> None:
        """End the iteration, also in another thread, and release all files and threads.

        Does not wait for another thread, so that a signal handler may call it; a reader at work releases them itself.
        """
        self._closed.set()
        self._wake()
        self._release()

    def _release(self) -> None:
        """Close the watcher, unless that has been done or a reader uses it."""
        if self._reading.acquire(blocking=False):
            try:
                if not self._released:
                    self._released = True
                    self._watcher.close()
            finally:
                self._reading.release()
        if self._executor is not None:
            self._executor.shutdown(wait=False)

    async def aclose(self) -> None:
        """Close without blocking the event loop."""
        await asyncio.to_thread(self.close)

    def _wake(self) -> None:
        """End a wait of the watcher, the current one or the next."""
        if not self._released:
            with contextlib.suppress(OSError):  # closed meanwhile
                self._watcher.wake()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        # Without an executor the constructor has raised. At the end of the program the threads of the watcher can no
        # longer run, and to wait for them would be without end (Python 3.13).
        if hasattr(self, "_executor") and not sys.is_finalizing():
            self.close()


def follow(*targets: str | os.PathLike[str], interval: float = 1.0, poll: bool = False) -> Follower:
    """Return an iterator of snapshots: one at once and one after each change. Waits for targets that do not exist yet.

    interval: seconds between two polls of files without file system events. poll: do not use events.
    """
    if not targets:
        raise TypeError("follow() needs at least one target")
    return Follower(targets, interval, poll)
