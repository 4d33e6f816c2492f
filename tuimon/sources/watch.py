"""File system events that let a reader poll early.

Events only shorten the wait before the next poll: an event may be lost (queue overflow, network mount, inotify limit)
or spurious, and no data depends on it. There is one watch per directory, never recursive and never on a file: a
recursive watch would enter every checkpoint, and watchdog 7.1 does not report directories that it could not watch.
Open and read events are filtered out, because the reader's own reads would wake it.
"""

from __future__ import annotations

import errno
import os
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
"""Maximum number of watched directories: each costs a thread."""
QUIET = 0.03
"""Minimum time (s) between two returns because of events: a step with 600 metrics is 600 writes, but one poll."""
REVIVAL = 3.0
"""Interval (s) of checks for directories that were removed and created again; the wake-up rate of an idle reader."""


class Hints(Struct, frozen=True):
    """Changes that were reported since the last call."""

    paths: frozenset[str]
    """Files that were written, created or moved here; paths below the directories passed to `set_directories`."""
    structure_changed: bool
    """Something was created, moved or deleted: look for new files."""


class _Watched(Struct):
    """A watched directory."""

    real: str
    identity: tuple[int, int]
    watch: ObservedWatch


class Watcher:
    """Watches directories for a reader.

    poll: do not use events. interval: poll interval of the caller (s), for `detail` only.
    make_observer: replaces the watchdog observer in tests.
    """

    def __init__(
        self,
        poll: bool = False,
        interval: float = 1.0,
        make_observer: Callable[[], BaseObserver] | None = None,
    ) -> None:
        self._interval = interval
        self._make_observer = make_observer or _observer
        self._observer: BaseObserver | None = None
        self._refusal = "asked for" if poll else ""
        """Why there are no events at all, or ""."""
        self._unwatched: dict[str, str] = {}
        """Reason by directory that cannot be watched."""
        self._watched: dict[str, _Watched] = {}
        self._wanted: list[str] = []
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._structure_changed = False
        self._woken = False
        self._changed = threading.Event()
        self._last_return = self._last_revival = 0.0

    @property
    def mode(self) -> str:
        """events | poll. In mode "events" some directories may still be without events, which `detail` explains."""
        return "events" if self._watched else "poll"

    @property
    def detail(self) -> str:
        """The mode in words: "events", "poll every 2 s (nfs4)", "events; the rest every 1 s (cifs)"."""
        every = f"every {self._interval:g} s"
        reason = self._refusal or next(iter(self._unwatched.values()), "")
        if not reason and len(self._wanted) > MAX_DIRECTORIES:
            reason = f"{MAX_DIRECTORIES} of {len(self._wanted)} directories watched"
        if not self._watched:
            return f"poll {every} ({reason})" if reason else f"poll {every}"
        return f"events; the rest {every} ({reason})" if reason else "events"

    def set_directories(self, directories: Iterable[str]) -> None:
        """Watch the first MAX_DIRECTORIES of these directories, which are in order of importance."""
        wanted = list(dict.fromkeys(directories))
        if wanted != self._wanted or not self._last_revival:
            self._wanted = wanted
            self._arrange()

    def wait(self, timeout: float) -> Hints:
        """Wait for the first event, `timeout` seconds, or wake(), whichever is first, and return the changes."""
        deadline = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            if now - self._last_revival >= REVIVAL:
                self._arrange()
            quiet_until = self._last_return + QUIET
            is_changed = self._changed.is_set()
            if now >= deadline or (is_changed and (self._woken or now >= quiet_until)):
                return self._take()
            until = max(0.0, min(deadline, self._last_revival + REVIVAL) - now)
            if is_changed:
                time.sleep(min(until, quiet_until - now))
            else:
                self._changed.wait(until)

    def hint(self, paths: Iterable[str], structure_changed: bool = False) -> None:
        """Note files that have changed, as an event does, for files of which there are no events."""
        with self._lock:
            self._paths.update(paths)
            self._structure_changed |= structure_changed
        self._changed.set()

    def wake(self) -> None:
        """End the current wait() of another thread, or the next one."""
        self._woken = True
        self._changed.set()

    def close(self) -> None:
        """Stop watching; end the threads."""
        self._watched.clear()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def dispatch(self, event: FileSystemEvent) -> None:
        """Handle an event; called by watchdog in its thread."""
        source, target = os.fsdecode(event.src_path), os.fsdecode(event.dest_path)
        with self._lock:
            if event.event_type in ("created", "moved", "deleted"):
                self._structure_changed = True
            if not event.is_directory and event.event_type != "deleted":
                self._paths.add(target or source)
        self._changed.set()

    def _take(self) -> Hints:
        with self._lock:
            if self._changed.is_set():
                self._last_return = time.monotonic()
            named = {watched.real: path for path, watched in self._watched.items()}
            hints = Hints(frozenset(_renamed(path, named) for path in self._paths), self._structure_changed)
            self._paths = set()
            self._structure_changed = self._woken = False
            self._changed.clear()
        return hints

    def _arrange(self) -> None:
        """Update the watches to match the wanted directories as they are now on disk."""
        self._last_revival = time.monotonic()
        if self._refusal:
            return
        wanted = dict.fromkeys(self._wanted[:MAX_DIRECTORIES])
        self._unwatched = {path: reason for path, reason in self._unwatched.items() if path in wanted}
        for path in [path for path in self._watched if path not in wanted]:
            self._drop(path)
        emitters = self._observer.emitters if self._observer else ()
        alive = {emitter.watch for emitter in emitters if emitter.is_alive()}
        for path in wanted:
            if path in self._unwatched:
                continue
            try:
                status = os.stat(path)
            except OSError:
                if self._drop(path):  # its removal may cause no event any more
                    self._announce_structure()
                continue
            watched = self._watched.get(path)
            identity = (status.st_dev, status.st_ino)
            if watched is not None and watched.identity == identity and watched.watch in alive:
                continue
            replaced = self._drop(path)
            self._watch(path, identity)
            if replaced:  # changes before the new watch caused no event
                self._announce_structure()

    def _announce_structure(self) -> None:
        with self._lock:
            self._structure_changed = True
        self._changed.set()

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
            self._watched[path] = _Watched(real, identity, watch)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                self._unwatched[path] = explain(error)

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
