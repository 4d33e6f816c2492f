"""Run the reader in a child process, and store its events on one receiver thread.

Parsing never competes with key presses for the GIL. If the reader dies it is started again and reads everything into a
second store, which replaces the first once it has caught up: no point is lost or duplicated, and the screen stays.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from tuimon.detectors import Checker
from tuimon.errors import TuimonError
from tuimon.model.events import Notice, Progress, StreamFound
from tuimon.model.links import Link
from tuimon.monitor.piped import Pipes, remote_among, shown_names
from tuimon.monitor.spawn import Spawned, spawn
from tuimon.platform_support import HeapTrimmer
from tuimon.registry import problems
from tuimon.store import Snapshot, Store
from tuimon.text import clean
from tuimon.wire import FrameDecoder

CHECK_EVERY = 1.0
"""Minimum seconds between two rounds of the detectors."""
CLOCK_EVERY = 15.0
"""Seconds between two rounds while nothing is logged. Some detectors depend on the time (a silent run)."""
_SLICE = 0.1
"""Time budget of one round in seconds, and the pause before the next if runs are left; new points are stored in it."""
RESTART_AFTER = (0.2, 0.5, 1.0, 1.0, 1.0, 5.0, 30.0)
"""Seconds to wait before restarting the reader after its first, second, ... death in a row before it had read all."""
_LOOK_EVERY, _STUCK_AFTER = 1.2, 2
"""Seconds without a frame before a look at the reader process, and looks before it is stuck. At each of them it must
wait for a disk."""
_STARTUP_POLL = 0.05
"""Seconds between two checks whether the detectors may start."""
_STDIN_POLL = 0.25
"""Seconds between two checks whether standard input has ended."""
_LONGEST_PAUSE = 1.0
"""Maximum seconds for which `pause_writes` holds back the receiver."""
_PAUSED_POLL = 0.005
"""Seconds between two reads from the pipe while writes are paused."""
_PATIENCE = 0.4
"""Seconds in which the reader, and then the receiver thread, must end by themselves."""
_CHUNK = 1 << 20
"""Maximum bytes of one read: the capacity of the pipe."""
_MAX_QUEUED = 64
"""Maximum number of chunks kept in memory while writes are paused."""
_READER = "reader"


class ReaderProcess:
    """Start the reader, store its frames, restart it if it dies."""

    def __init__(
        self,
        paths: Sequence[str],
        *,
        poll: bool = False,
        interval: float = 1.0,
        console_patterns: Sequence[str] = (),
        spawned: Spawned | None = None,
        checker: Checker | None = None,
    ) -> None:
        """spawned: a running reader of these paths. checker: the detectors; by default all, with default settings."""
        self.on_change: Callable[[], None] = lambda: None
        """Called on the receiver thread after each change."""
        self._on_alerts: Callable[[Snapshot], None] = lambda snapshot: None
        self._has_checked = False
        self._checker = checker
        self._posted: SimpleQueue[Notice] = SimpleQueue()
        self.paths = shown_names(paths)
        self._mirrors = remote_among(paths)
        self.log_in: Callable[[], None] = lambda: None
        """Connect again where the user has to log in; the terminal is the user's meanwhile."""
        self.retry_links: Callable[[], bool] = lambda: False
        """Connect again now where a link to another machine is lost; returns whether there is one."""
        self.want_texts: Callable[[int | None], None] = lambda step: None
        """Copy the generated texts of a step, and of the last steps, from other machines."""
        self._hinting = threading.Lock()
        self._arguments = ([os.path.abspath(path) for path in paths], poll, interval, console_patterns)
        self._reader = spawned
        self._given_paths = paths
        self._pipes = Pipes(paths)
        self._store = self._new_store()
        self._closing = threading.Event()
        self._first = threading.Event()
        self._thread = threading.Thread(target=self._keep_running, name="receiver", daemon=True)
        self._detecting = threading.Event()
        self._may_store = threading.Event()
        self._may_store.set()
        self._pauses = 0
        self._checked_at = 0.0
        self._unchecked = False
        self._runs_left = False
        """True if the last round of the detectors ran out of time before the last run."""
        self._notices: list[Notice] = []
        self._heap = HeapTrimmer()
        self._has_caught_up = False
        """True once the present reader has read everything."""
        self._waits = 0
        """Number of looks in a row at which the reader waited for a disk."""
        self._reported_plugins = 0
        """Number of panels and detectors of installed packages that were left out and named in a notice."""

    def start(self, detect: bool = True) -> None:
        """Start the reader and the receiver thread. detect: start the detectors, too, rather than in `detect()`.

        Must be called before the dashboard takes over the terminal.
        """
        if self._reader is None:
            self._reader = spawn(*self._arguments)
        if detect:
            self.detect()
        self._checked_at = time.monotonic()
        self._thread.start()

    @contextmanager
    def pause_writes(self) -> Iterator[None]:
        """Hold back the receiver's writes inside the context: drawing does not compete for the GIL.

        For the UI thread; contexts may be nested.
        """
        self._pauses += 1
        self._may_store.clear()
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._may_store.set()

    def hint(self, paths: Iterable[str], names_changed: bool) -> None:
        """Notify the reader that files of a mirror have changed; thread-safe. names_changed: some are new or gone."""
        mark = b"+" if names_changed else b"-"
        self._tell(b"".join(mark + os.fsencode(path) + b"\n" for path in paths))

    def _tell(self, lines: bytes) -> None:
        reader = self._reader
        if reader is None or reader.process.stdin is None or self._closing.is_set():
            return
        with self._hinting, suppress(OSError, ValueError):  # a reader that ends is started again and reads everything
            reader.process.stdin.write(lines)
            reader.process.stdin.flush()

    @property
    def links(self) -> tuple[Link, ...]:
        """The links to other machines."""
        return tuple(path.link for path in self._mirrors)

    def detect(self) -> None:
        """Let the detectors run from now on; the dashboard calls this after its first frame."""
        self._detecting.set()

    def wait_for_first(self, timeout: float) -> bool:
        """Wait until the reader has found a log or searched all paths. Return False after `timeout` seconds."""
        return self._first.wait(timeout)

    def snapshot(self) -> Snapshot:
        return self._store.snapshot()

    def checked_snapshot(self) -> Snapshot:
        """Return the snapshot after all logs and detectors, or after a minute."""
        end = time.monotonic() + 60.0
        while not self._has_checked and time.monotonic() < end:
            time.sleep(_STARTUP_POLL)
        return self._store.snapshot()

    @property
    def caught_up(self) -> bool:
        """True once the existing part of all logs has been read. Cheap."""
        return self._store.caught_up

    @property
    def process_id(self) -> int | None:
        return self._reader.process.pid if self._reader else None

    def close(self) -> None:
        """Stop the reader process and the receiver thread."""
        self._closing.set()
        self._may_store.set()
        reader = self._reader
        if reader is not None:
            _close(reader.process)
        if self._thread.is_alive():
            self._thread.join(timeout=_PATIENCE)
        if reader is not None and not self._thread.is_alive():
            _release(reader)

    def _new_store(self) -> Store:
        return Store(self._mirrors, is_reading=True)

    def _keep_running(self) -> None:
        deaths = -1
        while True:
            reader = self._reader
            assert reader is not None
            started, self._has_caught_up = time.monotonic(), False
            try:
                self._receive(reader.process)
                problem = _failure_reason(reader)
            except TuimonError as error:
                problem = error.message
            except Exception as error:  # noqa: BLE001  top of the thread: reported as a notice
                problem = f"{type(error).__name__}: {error}"
            _close(reader.process)
            _release(reader)
            if self._closing.is_set():
                return
            deaths = 0 if self._has_caught_up or time.monotonic() - started > 60 else deaths + 1
            pause = RESTART_AFTER[min(deaths, len(RESTART_AFTER) - 1)]
            self._show_notice(
                Notice(
                    "error",
                    clean(f"The reader stopped: {problem}. Restarting in {pause:g} s; the data shown so far is kept."),
                    "If this repeats, run `tuimon doctor` on the same paths: it names the file that fails.",
                    _READER,
                )
            )
            if self._closing.wait(pause):
                return
            self._reader = spawn(*self._arguments)

    def listen_to_alerts(self, listener: Callable[[Snapshot], None]) -> None:
        """Call `listener` on the receiver thread after each round of the detectors. Also now, if there was one."""
        self._on_alerts = listener
        if self._has_checked:
            listener(self._store.snapshot())

    def post_notice(self, notice: Notice) -> None:
        """Show a notice to the user; thread-safe."""
        self._posted.put(notice)
        self._unchecked = True  # the next round, which shows it, need not wait for data

    def _show_notice(self, notice: Notice) -> None:
        self._notices.append(notice)
        self._store.apply(notice)
        self.on_change()

    def _receive(self, process: subprocess.Popen[bytes]) -> None:
        """Store the frames of one reader until it ends. The first reader writes to the store that is shown."""
        assert process.stdout is not None
        fresh = self._new_store() if self._store.version else self._store
        decoder, pipes = FrameDecoder(), Pipes(self._given_paths)
        if fresh is self._store:
            self._pipes = pipes
        pipe = process.stdout.fileno()
        queued: deque[bytes] = deque()
        while True:
            every = CHECK_EVERY if self._unchecked else CLOCK_EVERY
            due = self._checked_at + (_SLICE if self._runs_left else every)
            if not queued and not select.select([pipe], [], [], self._select_timeout(due, pipes))[0]:
                self._look_at(process)
                if self._detecting.is_set() and (time.monotonic() >= due or pipes.has_pending()):
                    self._check()
                continue
            data = queued.popleft() if queued else os.read(pipe, _CHUNK)
            if not data:
                return
            events = decoder.feed(data)
            if not events:  # part of a frame
                continue
            for event in events:
                self._has_caught_up |= isinstance(event, Progress) and event.caught_up
                self._wait_while_paused(pipe, queued)
                fresh.apply(pipes.renamed(event))
            if fresh is not self._store:
                if not any(isinstance(event, Progress) and event.caught_up for event in events):
                    continue
                for notice in self._notices[-3:]:
                    fresh.apply(notice)
                if self._notices:
                    lost = "The reader stopped and was restarted; no data was lost."
                    fresh.apply(Notice("info", lost, about=_READER))
                self._store, self._pipes = fresh, pipes
            self._unchecked = True
            if not self._first.is_set() and any(isinstance(event, StreamFound | Progress) for event in events):
                self._first.set()
            self.on_change()

    def _look_at(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a reader that was stopped, which is started again then; report one that waits for a file system."""
        state = _state_of(process.pid)
        if state == "T":
            process.kill()
        waited, self._waits = self._waits, self._waits + 1 if state == "D" else 0
        if self._waits == _STUCK_AFTER:
            hint = "The screen shows the data read so far. Check the mount: a file server may be down."
            self._show_notice(
                Notice("warning", "The reader waits for a file system that does not answer.", hint, _READER)
            )
        elif waited >= _STUCK_AFTER and not self._waits:
            self._show_notice(Notice("info", "The reader works again; no data was lost.", "", _READER))

    def _wait_while_paused(self, pipe: int, queued: deque[bytes]) -> None:
        """Return when writes are no longer paused. Meanwhile queue what the reader sends, so that it need not wait."""
        until = time.monotonic() + _LONGEST_PAUSE
        while not self._may_store.wait(_PAUSED_POLL):
            if time.monotonic() >= until:
                self._may_store.set()
            ended = bool(queued) and not queued[-1]
            if not ended and len(queued) < _MAX_QUEUED and select.select([pipe], [], [], 0)[0]:
                queued.append(os.read(pipe, _CHUNK))

    def _select_timeout(self, due: float, pipes: Pipes) -> float:
        """Return how long to wait for the reader (s) if the detectors are to run next at the monotonic time `due`."""
        if not self._detecting.is_set():
            return _STARTUP_POLL
        left = min(max(0.0, due - time.monotonic()), _LOOK_EVERY)
        return min(left, _STDIN_POLL) if pipes.waiting else left

    def _check(self) -> None:
        """Show posted notices, report the end of pipes and, once the history has been read, run the detectors."""
        while not self._posted.empty():
            self._show_notice(self._posted.get())
        for plugin in problems()[self._reported_plugins :]:
            self._reported_plugins += 1
            self._show_notice(Notice("warning", plugin.sentence, "Update or remove the package.", plugin.name))
        before = self._store.version
        for event in self._pipes.end_events(self._pipes.ended()):
            self._store.apply(event)
        self._unchecked = self._runs_left = False
        if self._store.caught_up:
            self._store.join_runs()
        snapshot = self._store.snapshot()
        if snapshot.progress.caught_up:
            self._heap.trim(snapshot.progress.read)
            if self._checker is None:
                self._checker = Checker()  # imports thirty modules, so not before the first curves are shown
            alerts, complete = self._checker.check_within(snapshot, time.time(), _SLICE)
            self._store.set_alerts(alerts, 0 if complete else self._checker.unchecked(snapshot))
            self._runs_left = not complete
            self._has_checked = self._has_checked or complete
            if self._has_checked:
                self._on_alerts(self._store.snapshot())
        if self._store.version != before:
            self.on_change()
        self._checked_at = time.monotonic()


def _state_of(pid: int) -> str:
    """Return the state of a process as in proc(5): R, S, D (waits for a disk), T (stopped), …; "" if unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return chr(file.read(512).rpartition(b") ")[2][0])
    except (OSError, IndexError):
        return ""


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _release(reader: Spawned) -> None:
    if reader.process.stdout is not None:
        reader.process.stdout.close()
    reader.errors.close()


def _failure_reason(reader: Spawned) -> str:
    """Return why a reader ended: the last line of its standard error, or its exit status."""
    status = reader.process.wait()
    reader.errors.seek(0, os.SEEK_END)
    reader.errors.seek(max(0, reader.errors.tell() - 4096))
    lines = reader.errors.read().decode("utf-8", "replace").strip().splitlines()
    if lines:
        return lines[-1]
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"
