"""Hints that something has changed, so that a reader need not wait for its next look.

Events wake, polling decides: a hint may be lost (a full queue, a network mount, a limit of inotify) or come for
nothing, and no data depends on it. One watch a directory, never recursive and never on a file: a recursive watch
enters every checkpoint, and watchdog 7.1 then says nothing of the directories it could not watch. Opening and
reading are filtered out, or our own reads would wake us for ever.
"""

from __future__ import annotations

import errno
import os
import select
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from tuimon.sources.files import explain
from tuimon.sources.filesystem import kind

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver, ObservedWatch

MAX_DIRECTORIES = 64
"""Watched at once: each costs a thread."""
QUIET = 0.03
"""Seconds between two returns for events: a step of 600 metrics is 600 writes, and one look."""
REVIVAL = 3.0
"""Seconds between two looks for directories that were removed and made again: a quiet reader wakes as seldom."""
AFTER_LIMIT = 30.0
"""Seconds without a try for a new watch after a limit of inotify was reached: others may give watches back."""


class Hints(Struct, frozen=True):
    """What may have changed since the last call."""

    paths: frozenset[str]
    """Files that were written, made or moved here, named by the directories given to `set_directories`."""
    closed: frozenset[str]
    """Those of them that their writer has closed or moved into place: they are whole."""
    structure_changed: bool
    """Something was made, moved or deleted: look for new files."""
    lifeline: bool = False
    """The lifeline can be read: it was closed, or something was written to it."""


class _Watched(Struct):
    """A directory under watch."""

    real: str
    identity: tuple[int, int]
    watch: ObservedWatch


class Watcher:
    """Watches directories for a reader.

    poll: no events, the caller's own looks alone. interval: seconds between those, for `detail` only.
    lifeline: a descriptor whose becoming readable ends a wait (the standard input of a child process).
    make_observer: for tests.
    """

    def __init__(
        self,
        poll: bool = False,
        interval: float = 1.0,
        lifeline: int | None = None,
        make_observer: Callable[[], BaseObserver] | None = None,
    ) -> None:
        self._interval = interval
        self._make_observer = make_observer or _observer
        self._observer: BaseObserver | None = None
        self._refusal = "asked for" if poll else ""
        """Why there are no events at all; "" while there may be some."""
        self._unwatched: dict[str, str] = {}
        """Directories without events, and why."""
        self._limit, self._limited_until = "", 0.0
        self._watched: dict[str, _Watched] = {}
        self._wanted: list[str] = []
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._closed_paths: set[str] = set()
        self._structure_changed = False
        self._woken = False
        self._signalled = False
        self._last_return = self._last_revival = 0.0
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._lifeline = lifeline
        self._poller = select.poll()
        self._poller.register(self._wake_read, select.POLLIN)
        if lifeline is not None:
            self._poller.register(lifeline, select.POLLIN | select.POLLHUP)

    @property
    def mode(self) -> str:
        """events | poll. In mode "events" some directories may still be without: see `detail`."""
        return "events" if self._watched else "poll"

    @property
    def detail(self) -> str:
        """For a person: "events", "poll every 2 s (nfs4)", "events; the rest every 1 s (cifs)"."""
        every = f"every {self._interval:g} s"
        reason = self._refusal or self._limit or next(iter(self._unwatched.values()), "")
        if not reason and len(self._wanted) > MAX_DIRECTORIES:
            reason = f"{MAX_DIRECTORIES} of {len(self._wanted)} directories watched"
        if not self._watched:
            return f"poll {every} ({reason})" if reason else f"poll {every}"
        return f"events; the rest {every} ({reason})" if reason else "events"

    def set_directories(self, directories: Iterable[str]) -> None:
        """Watch these, the most important first: only MAX_DIRECTORIES are watched."""
        wanted = list(dict.fromkeys(directories))
        if wanted != self._wanted or not self._last_revival:
            self._wanted = wanted
            self._arrange()

    def wait(self, timeout: float) -> Hints:
        """What has changed: at once after the first event, else when `timeout` seconds are over, or after wake()."""
        deadline = time.monotonic() + timeout
        lifeline = False
        while True:
            now = time.monotonic()
            if now - self._last_revival >= REVIVAL:
                self._arrange()
            quiet_until = self._last_return + QUIET
            if self._pending() and (self._woken or now >= quiet_until or now >= deadline):
                break
            if lifeline or now >= deadline:
                break
            until = min(deadline, self._last_revival + REVIVAL)
            if self._pending():
                time.sleep(max(0.0, min(until, quiet_until) - now))
                continue
            ready = [descriptor for descriptor, _ in self._poller.poll(1000 * max(0.0, until - now) + 1)]
            lifeline = self._lifeline in ready
        return self._take(lifeline)

    def wake(self) -> None:
        """End a wait that goes on in another thread, or the next one."""
        with self._lock:
            self._woken = True
        self._signal()

    def close(self) -> None:
        """Stop watching; threads and descriptors are given back."""
        self._watched.clear()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None
        with self._lock:
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._signalled = True  # no more writes to the pipe

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def dispatch(self, event: FileSystemEvent) -> None:
        """Called by watchdog, in its thread."""
        source, target = os.fsdecode(event.src_path), os.fsdecode(event.dest_path)
        with self._lock:
            if event.event_type in ("created", "moved", "deleted"):
                self._structure_changed = True
            if not event.is_directory:
                if event.event_type != "deleted":
                    self._paths.add(target or source)
                # A file moved here from elsewhere is reported as created. So is one that is about to be written,
                # and then the hint is too early: a document half-written is read again.
                if event.event_type in ("closed", "moved", "created"):
                    self._closed_paths.add(target or source)
        self._signal()

    def _signal(self) -> None:
        with self._lock:
            if not self._signalled:
                self._signalled = True
                os.write(self._wake_write, b"!")

    def _pending(self) -> bool:
        with self._lock:
            return self._signalled

    def _take(self, lifeline: bool) -> Hints:
        with self._lock:
            if self._signalled:
                os.read(self._wake_read, 1)
                self._last_return = time.monotonic()
            named = {watched.real: path for path, watched in self._watched.items()}
            hints = Hints(
                frozenset(_renamed(path, named) for path in self._paths),
                frozenset(_renamed(path, named) for path in self._closed_paths),
                self._structure_changed,
                lifeline,
            )
            self._paths, self._closed_paths = set(), set()
            self._structure_changed = self._woken = self._signalled = False
        return hints

    def _arrange(self) -> None:
        """Bring the watches in line with the directories wanted, as they are now on disk."""
        self._last_revival = time.monotonic()
        if self._refusal:
            return
        wanted = dict.fromkeys(self._wanted[:MAX_DIRECTORIES])
        self._unwatched = {path: reason for path, reason in self._unwatched.items() if path in wanted}
        for path in [path for path in self._watched if path not in wanted]:
            self._drop(path)
        alive = (
            {emitter.watch for emitter in self._observer.emitters if emitter.is_alive()} if self._observer else set()
        )
        for path in wanted:
            if path in self._unwatched:
                continue
            try:
                status = os.stat(path)
            except OSError:
                self._drop(path)
                continue
            watched = self._watched.get(path)
            identity = (status.st_dev, status.st_ino)
            if watched is not None and watched.identity == identity and watched.watch in alive:
                continue
            remade = self._drop(path)
            if self._last_revival >= self._limited_until:
                self._watch(path, identity)
            if remade:  # what happened before the new watch was not seen
                with self._lock:
                    self._structure_changed = True
                self._signal()

    def _watch(self, path: str, identity: tuple[int, int]) -> None:
        file_system = kind(path)
        if file_system.remote:
            self._unwatched[path] = file_system.type
            return
        try:
            if self._observer is None:
                observer = self._make_observer()
                observer.start()
                self._observer = observer
            real = os.path.realpath(path)
            watch = self._observer.schedule(self, real, recursive=False, event_filter=_filter())  # type: ignore[arg-type]
        except ImportError:
            self._refusal = "watchdog is not installed"
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EMFILE, errno.ENFILE):
                self._limit, self._limited_until = explain(error), self._last_revival + AFTER_LIMIT
            elif error.errno not in (errno.ENOENT, errno.ENOTDIR):
                self._unwatched[path] = explain(error)
        else:
            self._limit = ""
            self._watched[path] = _Watched(real, identity, watch)

    def _drop(self, path: str) -> bool:
        watched = self._watched.pop(path, None)
        if watched is None or self._observer is None:
            return False
        if not any(other.watch == watched.watch for other in self._watched.values()):
            self._observer.unschedule(watched.watch)
        return True


def _renamed(path: str, named: dict[str, str]) -> str:
    directory, _, name = path.rpartition("/")
    return f"{named.get(directory, directory)}/{name}"


def _observer() -> BaseObserver:
    from watchdog.observers import Observer

    return Observer()


def _filter() -> list[type[FileSystemEvent]]:
    from watchdog import events

    return [
        *(events.FileModifiedEvent, events.FileCreatedEvent, events.FileMovedEvent, events.FileDeletedEvent),
        *(events.FileClosedEvent, events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent),
    ]
