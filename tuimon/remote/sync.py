"""One connection: keep a mirror up to date with what a host answers to list(directories) and read(path, start, end).

Files that grew in the last 10 s are looked at four times a second, all others every second, directories every two, or
seldomer, so that the host works for at most a twentieth of the time. All questions of a turn leave in one command.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence

from tuimon.remote.copying import Copier
from tuimon.remote.host import MAX_BYTES, Entry, Host, Received
from tuimon.remote.mirror import Mirror
from tuimon.remote.posix import Shell
from tuimon.remote.ssh import Transport, transport
from tuimon.remote.targets import Target
from tuimon.remote.texts import WantedTexts
from tuimon.remote.tree import PARTS, File, Tree
from tuimon.remote.writers import Writers

LOOKS = 128
"""Files that are looked at together."""
TRIES = 5
"""Attempts to read a document that keeps changing, before the rest counts as complete."""
CALM = 1.0
"""Seconds between two looks at all files."""
SHARE = 20
"""Pause between two looks at all files, as a multiple of the duration of the last look."""
HOT = 10.0
"""Seconds for which a file that has grown is looked at in each turn."""
REMEMBER_EVERY = 30.0
_SOON = 0.05
"""Seconds between two looks while something is still to be copied."""

Connect = Callable[[Mirror, int, WantedTexts], "Sync"]
"""(mirror, maximum number of bytes, steps whose texts are copied) -> a connection that has not been made yet."""


def connector(target: Target, via: str = "") -> Connect:
    """Return what makes connections to a target. Raise UsageError if that is impossible. via: see `transport`."""
    if target.scheme != "objects":
        return over(transport(target, via), target.path)

    async def open_store(batch: bool) -> Host:
        from tuimon.remote.stores import Store

        return await Store.connect(target.path)

    return lambda *options: Sync(open_store, *options)


def over(transport: Transport, path: str) -> Connect:
    """Return what makes connections through a shell. path: of the logs on the host."""
    return lambda *options: Sync(lambda batch: Shell.connect(transport, path, batch), *options)


class Sync:
    """A connection that fills a mirror, whatever the host is."""

    def __init__(
        self,
        connect: Callable[[bool], Awaitable[Host]],
        mirror: Mirror,
        max_bytes: int = MAX_BYTES,
        wanted_texts: WantedTexts | None = None,
    ) -> None:
        """connect: returns a host that answers; its argument: whether nothing may be asked on the terminal.
        wanted_texts: steps whose generated texts are copied, which may change; none if None."""
        self.received = Received()
        self.answered = False
        self._connect, self._mirror, self._max_bytes = connect, mirror, max_bytes
        self._wanted_texts = WantedTexts() if wanted_texts is None else wanted_texts
        self._host: Host | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False
        self._on_progress: Callable[[], None] = lambda: None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: asyncio.Future[None]
        """Gets the exception that ends the connection."""
        self._look_cost = self._next_look = 0.0
        """Seconds that the last look took, and the time of the next look at all files."""

    @property
    def delay(self) -> float:
        return self._host.delay if self._host else float("nan")

    def run(self, batch: bool, on_progress: Callable[[], None]) -> None:
        """Keep the mirror up to date until the connection ends or `close` is called. Raise Ended, TuimonError, OSError.

        batch: the user cannot be asked. on_progress: called after each word of the source.
        """
        self._on_progress = on_progress
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._run(batch))

    def close(self) -> None:
        """End `run` in another thread, soon."""
        self._is_closing = True
        self._call(lambda: self._task and self._task.cancel())

    def wake(self) -> None:
        """Let `run` in another thread look for texts that are wanted since then."""
        self._call(lambda: self._woken.set())

    def _call(self, function: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            if self._loop is not None:
                self._loop.call_soon_threadsafe(function)

    async def _run(self, batch: bool) -> None:
        self._woken, self._walked = asyncio.Event(), asyncio.Event()
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(lambda loop, context: None)  # what matters is raised by the awaiting task
        if self._is_closing:
            return
        host = self._host = await self._connect(batch)
        try:
            await self._keep(host)
        finally:
            self._copier.remember()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            host.close()

    async def _keep(self, host: Host) -> None:
        """Walk, look and search, each at its own pace, until one of them fails."""
        tree = Tree(host, self._mirror, self.received)
        copier = self._copier = Copier(host, self._mirror, tree, self.received, self._max_bytes)
        self.answered = True
        self._failed = asyncio.get_running_loop().create_future()
        self._start(self._walk(host, tree))
        self._start(self._look(host, tree, copier))
        self._start(self._search(tree, copier, Writers(host, self._mirror, tree)))
        await self._failed

    async def _walk(self, host: Host, tree: Tree) -> None:
        """Look for new names."""
        while True:
            began = time.monotonic()
            await tree.walk()
            self._walked.set()
            self._on_progress()
            self._woken.set()
            await asyncio.sleep(host.rest(time.monotonic() - began))

    async def _look(self, host: Host, tree: Tree, copier: Copier) -> None:
        """Look at the files, and remember them now and then."""
        remembered = time.monotonic()
        while True:
            began = time.monotonic()
            if self._walked.is_set():
                tree.take_texts(self._wanted_texts)
            self._look_at(tree, copier, began)
            if self._mirror.changed:
                self._on_progress()
            if began - remembered > REMEMBER_EVERY:
                remembered = began
                copier.remember()
            pause = host.pause if self.received.complete else _SOON
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), max(0.02, began + pause - time.monotonic()))
            self._woken.clear()

    async def _search(self, tree: Tree, copier: Copier, writers: Writers) -> None:
        """Search who writes the files, for the first time before everything counts as copied."""
        await self._walked.wait()
        writers.begin()
        while True:
            if not self.received.complete and self._is_unsettled(tree):
                await asyncio.sleep(_SOON)
                continue
            followed = [file for file in tree.files.values() if file.mode in ("grow", "whole", "unit")]
            pause = await writers.update(followed)
            if not self.received.complete:
                if self._is_unsettled(tree):
                    continue
                copier.remember()
                self.received.complete = True
                self._on_progress()
            await asyncio.sleep(pause)

    def _is_unsettled(self, tree: Tree) -> bool:
        """Return whether something is still to be copied."""
        return any(
            file.is_busy or (file.seen is None and file.mode != "text" and file.tries < TRIES)
            for file in tree.files.values()
        )

    def _look_at(self, tree: Tree, copier: Copier, now: float) -> None:
        """Look at the files whose turn it is: those that grow in one question, others LOOKS at a time."""
        waiting = [file for file in tree.files.values() if not file.is_busy and file.mode != "text"]
        hot = [file for file in waiting if file.seen is not None and now - file.grew < HOT]
        calm = [file for file in waiting if file.seen is None]
        if self.received.complete and now >= self._next_look:
            self._next_look = now + max(CALM, SHARE * self._look_cost)
            calm = [file for file in waiting if file.seen is None or now - file.grew >= HOT]
        if hot:
            self._start(self._look_together(copier, hot))
        for start in range(0, len(calm), LOOKS):
            self._start(self._look_together(copier, calm[start : start + LOOKS]))

    async def _look_together(self, copier: Copier, files: Sequence[File]) -> None:
        """Ask what some files are now, and copy what is new in them."""
        for file in files:
            file.is_busy = True
        first = {id(file) for file in files if file.seen is None and file.mode == "" and file.tries == 0}
        began = time.monotonic()
        asked = [file for file in files if id(file) not in first]
        now = await self._stat([file.path + part for file in asked for part in file.parts])
        if self._host and not first:
            self._look_cost = max(0.0, time.monotonic() - began - self._host.delay)
        for file in files:
            if id(file) in first:  # the list of its directory has just said what it is
                file.tries += 1
                now[file.path] = file.now
        copies = (self._copy(copier, file, now) for file in files)
        results = await asyncio.gather(*copies, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        self._on_progress()

    async def _copy(self, copier: Copier, file: File, now: dict[str, Entry]) -> None:
        try:
            await copier.look(file, tuple(now.get(file.path + part) for part in PARTS))
        finally:
            file.is_busy = False  # not later: it may be looked at again before the others are copied

    async def _stat(self, paths: Sequence[str]) -> dict[str, Entry]:
        assert self._host is not None
        return dict(await self._host.stat(paths)) if paths else {}

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) and not self._failed.done():
            self._failed.set_exception(problem)
