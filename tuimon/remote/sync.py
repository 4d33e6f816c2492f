"""One connection: keep a mirror up to date with what a host answers to list(directories) and read(path, start, end).

Files that grew in the last 10 s are looked at four times a second, the newest others every second, old ones every 8 s;
directories every 2 s. All questions of a turn leave in one command.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence

from tuimon.remote.connection import MAX_BYTES, Received
from tuimon.remote.copying import Copier
from tuimon.remote.entries import Entry, Host
from tuimon.remote.mirror import Mirror
from tuimon.remote.texts import TextFiles, WantedTexts
from tuimon.remote.tree import File, Tree
from tuimon.remote.writers import Writers

LOOKS = 128
"""Files that are looked at together."""
TRIES = 5
"""Attempts to read a document that keeps changing, before the rest counts as complete."""
OFTEN = 64
"""Newest files that are looked at every CALM turns; the others so many times SELDOM."""
CALM, SELDOM = 4, 8
SLOW = 1.0
"""Seconds between two turns from which on all files are looked at in each."""
HOT = 10.0
"""Seconds for which a file that has grown is looked at in each turn."""
SPECULATED = 4
"""Files that grow, whose new bytes are read without asking first whether there are any."""
REMEMBER_EVERY = 30.0

Connect = Callable[[bool], Awaitable[Host]]
"""(whether nothing may be asked on the terminal) -> a host that answers."""


class Sync:
    """A connection that fills a mirror, whatever the host is."""

    def __init__(
        self, connect: Connect, mirror: Mirror, max_bytes: int = MAX_BYTES, wanted_texts: WantedTexts | None = None
    ) -> None:
        """wanted_texts: steps whose generated texts are copied, which may change; none if None."""
        self.received = Received()
        self.answered = False
        self._connect, self._mirror, self._max_bytes = connect, mirror, max_bytes
        self._wanted_texts = WantedTexts() if wanted_texts is None else wanted_texts
        self._host: Host | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False
        self._on_progress: Callable[[], None] = lambda: None
        self._order: list[File] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._problem: BaseException | None = None
        self._cost = 0.0
        """Seconds that the last walk took."""

    @property
    def delay(self) -> float:
        return self._host.delay if self._host else float("nan")

    def run(self, batch: bool, on_progress: Callable[[], None]) -> None:
        """Keep the mirror up to date until the connection ends. Raise Ended, TuimonError, OSError."""
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
        self._woken = asyncio.Event()
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
        texts = TextFiles(self._mirror)
        tree = self._tree = Tree(host, self._mirror, texts, self.received)
        copier = self._copier = Copier(host, self._mirror, tree, texts, self.received, self._max_bytes)
        writers = Writers(host, self._mirror)
        self.answered = True
        walk: asyncio.Task[None] | None = None
        search: asyncio.Task[None] | None = None
        next_walk, turn, remembered = 0.0, 0, time.monotonic()
        is_walked = is_first = False
        while True:
            began = time.monotonic()
            if walk is None and began >= next_walk:
                walk = self._start(self._walk(tree))
            if walk is not None and walk.done():
                is_first = not is_walked and walk.exception() is None
                is_walked = is_walked or is_first
                next_walk, walk = began + host.rest(self._cost), None
                self._order = sorted(tree.files.values(), key=lambda file: -file.now.modified)
            for path in texts.take_wanted(self._wanted_texts) if is_walked else ():
                if path in tree.files:
                    file = tree.files[path]
                    file.mode, file.seen = "", None
            self._look_at(tree, copier, self._due(tree, turn, began))
            if is_first:
                writers.begin()
            is_first = False
            turn += 1
            open_files = [file for file in self._order if file.mode in ("grow", "whole", "unit")]
            if search is not None and search.done():
                search = None
            if is_walked and not self.received.complete and not self._is_unsettled(tree):
                await writers.update([f for f in tree.files.values() if f.mode in ("grow", "whole", "unit")])
                if not self._is_unsettled(tree):
                    copier.remember()
                    self.received.complete = True
                    self._on_progress()
            elif self.received.complete and search is None and writers.is_due():
                search = self._start(writers.update(open_files))
            if self._problem is not None:
                raise self._problem
            if self.received.changed:
                self._on_progress()
            if began - remembered > REMEMBER_EVERY:
                remembered = began
                copier.remember()
            pause = host.pause if self.received.complete else 0.05
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), max(0.02, began + pause - time.monotonic()))
            self._woken.clear()

    async def _walk(self, tree: Tree) -> None:
        began = time.monotonic()
        await tree.walk()
        self._cost = time.monotonic() - began
        self._on_progress()
        self._woken.set()

    def _is_unsettled(self, tree: Tree) -> bool:
        """Return whether something is still to be copied."""
        return any(
            file.is_busy or (file.seen is None and file.mode != "text" and file.tries < TRIES)
            for file in tree.files.values()
        )

    def _due(self, tree: Tree, turn: int, now: float) -> list[File]:
        """Return the files to look at in this turn."""
        if not self.received.complete:
            due = [file for file in tree.files.values() if file.seen is None]
        elif self._host and self._host.pause >= SLOW:
            due = list(tree.files.values())
        else:
            due = []
            for rank, file in enumerate(self._order):
                every = 1 if now - file.grew < HOT or file.seen is None else CALM if rank < OFTEN else CALM * SELDOM
                if turn % every == (0 if rank < OFTEN else rank % every) and tree.files.get(file.path) is file:
                    due.append(file)
        return [file for file in due if not file.is_busy and file.mode != "text"]

    def _look_at(self, tree: Tree, copier: Copier, files: Sequence[File]) -> None:
        hot = [file for file in files if file.seen is not None and time.monotonic() - file.grew < HOT]
        calm = [file for file in files if file not in hot] if hot else list(files)
        if hot:
            self._start(self._look_together(tree, copier, hot, speculate=True))
        for start in range(0, len(calm), LOOKS):
            self._start(self._look_together(tree, copier, calm[start : start + LOOKS]))

    async def _look_together(self, tree: Tree, copier: Copier, files: Sequence[File], speculate: bool = False) -> None:
        """Ask what some files are now, and copy what is new in them."""
        for file in files:
            file.is_busy = True
        try:
            here = [file.at for file in files]
            first = [file for file in files if file.seen is None and file.mode == "" and file.tries == 0]
            known = {id(file) for file in first}
            paths = sorted(path for file in files if id(file) not in known for path in _paths(file))
            growing = [file for file in files if file.mode == "grow"][:SPECULATED] if speculate else []
            asked = asyncio.ensure_future(self._stat(paths))
            await asyncio.gather(asked, *map(copier.speculate, growing))
            now = asked.result()
            for file in first:  # the list of its directory has just said what it is
                file.tries += 1
                now[file.path] = file.now
            looks = [self._look(copier, file, now, at) for file, at in zip(files, here, strict=True)]
            results = await asyncio.gather(*looks, return_exceptions=True)
            for result in results:
                if isinstance(result, BaseException):
                    raise result
        finally:
            for file in files:
                file.is_busy = False
        self._on_progress()

    async def _look(self, copier: Copier, file: File, now: dict[str, Entry], here: int) -> None:
        try:
            await copier.look(file, (*map(now.get, _paths(file)), None, None)[:3], here)
        finally:
            file.is_busy = False

    async def _stat(self, paths: Sequence[str]) -> dict[str, Entry]:
        assert self._host is not None
        return dict(await self._host.stat(paths)) if paths else {}

    def _start(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()):
            self._problem = self._problem or problem
            self._woken.set()


def _paths(file: File) -> list[str]:
    return [file.path + part for part in (("", "-wal", "-journal") if file.mode == "unit" else ("",))]
