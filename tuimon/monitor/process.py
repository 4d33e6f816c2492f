"""The reader in a process of its own, and the store that one receiving thread fills from it.

Parsing never takes the interpreter from a key press, and a reader that dies takes nothing with it: it is started
again, reads everything anew into a second store, and the two are exchanged once the new one has caught up, so no point
is lost or doubled and the screen never goes blank.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue

from tuimon.detectors import Checker
from tuimon.errors import TuimonError
from tuimon.heap import Heap
from tuimon.model.events import Notice, Progress, StreamFound
from tuimon.monitor.piped import NAME, Piped, Pipes
from tuimon.monitor.spawn import Spawned, spawn
from tuimon.store import Snapshot, Store
from tuimon.text import clean
from tuimon.vocabulary import merge_key
from tuimon.wire import FrameDecoder

CHECK_EVERY = 1.0
"""Seconds between two rounds of the detectors, at least."""
CLOCK_EVERY = 15.0
"""Seconds until they look again though nothing was logged: silence tells something, too."""
_SLICE = 0.1
"""Seconds for which a round of the detectors goes on, and from its end to the next one where runs are left: what is new
is stored in between."""
RESTART_AFTER = (0.2, 1.0, 5.0, 30.0)
"""Seconds before the first, second … start of a reader that keeps dying."""
_LOOK = 0.05
"""Seconds from one look whether detectors may begin to the next."""
_PIPE_LOOK = 1.0
"""The same whether standard input has ended."""
_WAY = 1.0
"""Seconds for which the receiving thread gives way to a drawing, at most."""
_TURN = 0.005
"""… and from one look into the pipe meanwhile to the next."""
_PIECE = 1 << 20
"""Bytes that are read at once, at most: what the pipe holds."""
_MOST_AHEAD = 64
"""Pieces that wait to be stored."""
_READER = "reader"


class ReaderProcess:
    """Starts the reader, receives its frames, keeps it alive. `on_change` is called on the receiving thread."""

    def __init__(
        self,
        paths: Sequence[str],
        *,
        poll: bool = False,
        interval: float = 1.0,
        console_patterns: Sequence[str] = (),
        spawned: Spawned | None = None,
        checker: Checker | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """spawned: a reader of these paths that has been started already. checker: detectors as set by the user."""
        self.on_change = on_change
        self._on_alerts: Callable[[Snapshot], None] = lambda snapshot: None
        self._looked = False
        self._checker = checker
        self._said: SimpleQueue[Notice] = SimpleQueue()
        self.paths = [NAME if isinstance(path, Piped) else os.path.abspath(path) for path in paths]
        self._arguments = ([os.path.abspath(path) for path in paths], poll, interval, console_patterns)
        self._reader = spawned
        self._piped = paths
        self._pipes = Pipes(paths)
        self._store = Store(merge_key)
        self._closing = threading.Event()
        self._first = threading.Event()
        self._thread = threading.Thread(target=self._keep_running, name="receiver", daemon=True)
        self._detecting = threading.Event()
        self._may_store = threading.Event()
        self._may_store.set()
        self._drawing = 0
        self._checked = 0.0
        self._unchecked = False
        self._more_to_check = False
        """Has the last round left runs out?"""
        self._notices: list[Notice] = []
        self._heap = Heap()

    def start(self, detect: bool = True) -> None:
        """To be called before the screen takes the terminal. detect: False: detectors do not look before `detect`."""
        if self._reader is None:
            self._reader = spawn(*self._arguments)
        if detect:
            self.detect()
        self._checked = time.monotonic()
        self._thread.start()

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """What comes inside is not stored before its end: of two threads that work in turns each takes twice as long,
        and a screen is drawn of what there is. On the event loop's thread; contexts may overlap."""
        self._drawing += 1
        self._may_store.clear()
        try:
            yield
        finally:
            self._drawing -= 1
            if not self._drawing:
                self._may_store.set()

    def detect(self) -> None:
        """Detectors look from now on: a screen has drawn first, without them beside it."""
        self._detecting.set()

    def wait_for_first(self, timeout: float) -> bool:
        """Waits until the reader has found a log, or has looked everywhere. False: the time is up."""
        return self._first.wait(timeout)

    def snapshot(self) -> Snapshot:
        return self._store.snapshot()

    @property
    def has_read(self) -> bool:
        """Whether all that there was has been read; costs nothing."""
        return self._store.has_read

    @property
    def process_id(self) -> int | None:
        return self._reader.process.pid if self._reader else None

    def close(self) -> None:
        """Ends the reader and the thread."""
        self._closing.set()
        self._may_store.set()
        reader = self._reader
        if reader is not None:
            _close(reader.process)
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        if reader is not None and not self._thread.is_alive():
            _release(reader)

    def _keep_running(self) -> None:
        deaths = 0
        while True:
            reader = self._reader
            assert reader is not None
            started = time.monotonic()
            try:
                self._receive(reader.process)
                problem = _last_words(reader)
            except TuimonError as error:
                problem = error.message
            except Exception as error:  # noqa: BLE001  the thread's border: it becomes a visible notice
                problem = f"{type(error).__name__}: {error}"
            _close(reader.process)
            if self._closing.is_set():
                return
            _release(reader)
            deaths = 0 if time.monotonic() - started > 60 else deaths + 1
            pause = RESTART_AFTER[min(deaths, len(RESTART_AFTER) - 1)]
            self._say(
                Notice(
                    "error",
                    clean(f"The reader stopped: {problem}. It is started again in {pause:g} s; what is shown stays."),
                    "Should it keep stopping, `tuimon doctor` reads the same logs and names the file.",
                    _READER,
                )
            )
            if self._closing.wait(pause):
                return
            self._reader = spawn(*self._arguments)

    def tell_alerts(self, listener: Callable[[Snapshot], None]) -> None:
        """`listener` is called on the receiving thread after each round of the detectors, and now with what they have
        found if they have looked."""
        self._on_alerts = listener
        if self._looked:
            listener(self._store.snapshot())

    def say(self, notice: Notice) -> None:
        """Something that a person should know; from any thread."""
        self._said.put(notice)

    def _say(self, notice: Notice) -> None:
        self._notices.append(notice)
        self._store.apply(notice)
        self.on_change()

    def _receive(self, process: subprocess.Popen[bytes]) -> None:
        """Fills a store from one reader until it ends. The first reader fills the store that is shown."""
        assert process.stdout is not None
        fresh = Store(merge_key) if self._store.version else self._store
        decoder, pipes = FrameDecoder(), Pipes(self._piped)
        if fresh is self._store:
            self._pipes = pipes
        pipe = process.stdout.fileno()
        ahead: deque[bytes] = deque()
        while True:
            every = CHECK_EVERY if self._unchecked else CLOCK_EVERY
            due = self._checked + (_SLICE if self._more_to_check else every)
            if not ahead and not select.select([pipe], [], [], self._patience(due, pipes))[0]:
                if self._detecting.is_set() and (time.monotonic() >= due or pipes.have_news()):
                    self._check()
                continue
            data = ahead.popleft() if ahead else os.read(pipe, _PIECE)
            if not data:
                return
            events = decoder.feed(data)
            if not events:  # a part of a frame: nothing to tell
                continue
            for event in events:
                self._give_way(pipe, ahead)
                fresh.apply(pipes.renamed(event))
            if fresh is not self._store:
                if not any(isinstance(event, Progress) and event.caught_up for event in events):
                    continue
                for notice in self._notices[-3:]:
                    fresh.apply(notice)
                fresh.apply(Notice("info", "The reader stopped and was started again: nothing is lost.", about=_READER))
                self._store, self._pipes = fresh, pipes
            self._unchecked = True
            if not self._first.is_set() and any(isinstance(event, StreamFound | Progress) for event in events):
                self._first.set()
            self.on_change()

    def _give_way(self, pipe: int, ahead: deque[bytes]) -> None:
        """Returns once nothing is drawn. Until then it only takes what the reader writes, who need not wait as well."""
        until = time.monotonic() + _WAY
        while not self._may_store.wait(_TURN):
            if time.monotonic() >= until:
                self._may_store.set()
            ended = bool(ahead) and not ahead[-1]
            if not ended and len(ahead) < _MOST_AHEAD and select.select([pipe], [], [], 0)[0]:
                ahead.append(os.read(pipe, _PIECE))

    def _patience(self, due: float, pipes: Pipes) -> float:
        """Seconds that it may wait for the reader, when the detectors are to look next at `due`."""
        if not self._detecting.is_set():
            return _LOOK
        left = max(0.0, due - time.monotonic())
        return min(left, _PIPE_LOOK) if pipes.waiting else left

    def _check(self) -> None:
        """The detectors look, at most once a second, not at a history that has been read in part; what others have to
        say is taken in."""
        while not self._said.empty():
            self._say(self._said.get())
        for event in self._pipes.told(self._pipes.ended()):
            self._store.apply(event)
        self._unchecked = self._more_to_check = False
        before, snapshot = self._store.version, self._store.snapshot()
        if snapshot.progress.caught_up:
            self._heap.has_read(snapshot.progress.read)
            if self._checker is None:
                self._checker = Checker()  # thirty modules, which the first curves need not wait for
            alerts, whole = self._checker.check_within(snapshot, time.time(), _SLICE)
            self._store.set_alerts(alerts)
            self._more_to_check = not whole
            self._looked = self._looked or whole
            if self._looked:
                self._on_alerts(self._store.snapshot())
        if self._store.version != before:
            self.on_change()
        self._checked = time.monotonic()


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _release(reader: Spawned) -> None:
    if reader.process.stdout is not None:
        reader.process.stdout.close()
    reader.errors.close()


def _last_words(reader: Spawned) -> str:
    """Why a reader ended: the last line of its standard error, or its exit status."""
    status = reader.process.wait()
    reader.errors.seek(0, os.SEEK_END)
    reader.errors.seek(max(0, reader.errors.tell() - 4096))
    lines = reader.errors.read().decode("utf-8", "replace").strip().splitlines()
    if lines:
        return lines[-1]
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"
