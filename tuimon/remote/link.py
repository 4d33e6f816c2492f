"""The thread that keeps a mirror up to date: it connects, and connects again after the link was lost."""

from __future__ import annotations

import contextlib
import errno
import random
import threading
import time
from collections.abc import Callable, Iterable

from tuimon.errors import TuimonError
from tuimon.model.links import Link, RemotePath
from tuimon.remote.expiry import expire
from tuimon.remote.host import MAX_BYTES, Ended, TooLarge
from tuimon.remote.mirror import Mirror
from tuimon.remote.places import base_name
from tuimon.remote.posix import PATIENCE
from tuimon.remote.sync import Connect, Sync
from tuimon.remote.targets import Target
from tuimon.remote.texts import NEWEST, WantedTexts
from tuimon.text import clean

RETRY = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before the next attempt to connect, after the first, second, … failure in a row."""
RETRY_FULL = 30.0
"""Seconds before the next attempt if the local disk was full."""
SHARED_EVERY = 1.0
"""Seconds between two checks of a mirror that another program fills."""
LINK_EVERY = 0.2
SAVE_EVERY = 10.0
"""Seconds between two notes of when the host was last heard."""
_POLL = 0.02
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LOGINS = threading.BoundedSemaphore(8)
"""At most eight logins at once: sshd refuses some of more than ten by default (MaxStartups)."""

Hint = Callable[[Iterable[str], bool], None]
"""(paths that have changed, whether files or directories are new or gone)."""


class Keeper:
    """Keeps the mirror of one target."""

    def __init__(
        self,
        target: Target,
        connect: Connect,
        *,
        where: str | None = None,
        mirror: Mirror | None = None,
        max_bytes: int = MAX_BYTES,
        offline: bool = False,
    ) -> None:
        """connect: returns a new connection to the target. where: the directory of all mirrors. mirror: the one of a
        host of a job. offline: show what is here, and connect never."""
        self.target = target
        self.mirror = mirror or Mirror(target, where)
        stored = self.mirror.stored
        self.link = Link(target.shown, target.label, heard=stored.heard or float("nan"))
        self.known = stored.complete
        """Whether the mirror was complete at some time, so that it can be shown before the host answers."""
        base = base_name(target) if mirror else None
        self.path = RemotePath(self.mirror.root, target.shown, self.mirror.top, target.prefix, self.link, base)
        """The path to read."""
        self.on_hint: Hint = lambda paths, structure: None
        self.on_change: Callable[[], None] = lambda: None
        """Called when the state of the link has changed."""
        self.on_link: Callable[[], None] = lambda: None
        """Called when something of the link has changed, at most every LINK_EVERY seconds."""
        self._linked_at = 0.0
        self._connector = connect
        self._wanted_texts = WantedTexts()
        self._max_bytes = max_bytes
        self._closing = threading.Event()
        self._retry = threading.Event()
        self._settled = threading.Event()
        self._may_ask = False
        self._connection: Sync | None = None
        self._saved_at = 0.0
        self._thread = threading.Thread(target=self._keep, name=f"link {target.host}", daemon=True)
        if offline:
            self._say("offline")
            self._settled.set()

    def start(self, may_ask: bool = False) -> None:
        """Start to connect. may_ask: ssh may ask the user on the terminal, the first time."""
        if self.link.state != "offline":
            self._may_ask = may_ask
            self._thread.start()

    def login(self) -> None:
        """Connect again at once; ssh may ask the user on the terminal."""
        self._settled.clear()
        self._may_ask = True
        self._say("connecting")
        self._retry.set()

    def retry(self) -> bool:
        """Make the next attempt to connect now; return whether the link was waiting for it."""
        waits = self.link.state in ("lost", "failed") and not self._retry.is_set()
        if waits:
            self._retry.set()
        return waits

    def want_texts(self, step: int | None = None, newest: int = NEWEST) -> None:
        """Copy also the generated texts of the last step at or before `step`, and those of the `newest` last steps."""
        self._wanted_texts.add(step, newest)
        if (connection := self._connection) is not None:
            connection.wake()

    def wait_for_answer(self, on_late: Callable[[], None] = lambda: None) -> None:
        """Wait until the host answers, or the attempt to connect has ended. on_late: called once after PATIENCE."""
        late = time.monotonic() + PATIENCE
        while self.link.state == "connecting" and self._thread.is_alive():
            self._settled.wait(_POLL)
            if time.monotonic() > late:
                late = float("inf")
                on_late()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the link is up for the first time, or has failed; return whether it is so."""
        return self._settled.wait(timeout)

    def end(self) -> None:
        """Let the connection and the thread end, soon."""
        self._closing.set()
        self._retry.set()
        if (connection := self._connection) is not None:
            connection.close()

    def close(self, timeout: float = 5.0) -> None:
        """End the connection and the thread, and wait for it."""
        self.end()
        if self._thread.is_alive():
            self._thread.join(timeout)
        self.mirror.close()

    # ------------------------------------------------------------------ the thread

    def _keep(self) -> None:
        failures = 0
        while not self._closing.is_set():
            try:
                if not self.mirror.lock():
                    self._follow_other()
                    continue
                pause, was_up = self._connect(failures)
            except OSError as error:
                pause, was_up = self._fail(error, failures), False
            if self._closing.is_set():
                break
            failures = 1 if was_up else failures + 1
            if pause is None:
                pause = RETRY[min(failures, len(RETRY)) - 1] * random.uniform(0.8, 1.2)
            self.link.retry = time.time() + pause
            self._settled.set()
            self.on_change()
            self._retry.wait(pause)
            self._retry.clear()
        self._save()

    def _connect(self, failures: int) -> tuple[float | None, bool]:
        """Connect once, until the link is lost. Return (seconds to wait or None for the usual, whether it was up)."""
        may_ask, self._may_ask = self._may_ask, False
        if may_ask:
            self._settled.clear()
        self._say("connecting", self.link.detail)
        pause: float | None = None
        logging_in = contextlib.ExitStack()
        logging_in.enter_context(_LOGINS)
        connection: Sync | None = None

        def progress() -> None:
            if connection is not None and connection.answered:
                logging_in.close()
                self._progress(connection)

        try:
            connection = self._connection = self._connector(self.mirror, self._max_bytes, self._wanted_texts)
            connection.run(not may_ask, progress)
        except Ended as ended:
            state = "login" if ended.login else "failed" if ended.final else "lost"
            pause = 3600.0 if ended.login or ended.final else None
            self._say(state, ended.reason)
        except (TuimonError, OSError, ValueError) as error:
            pause = self._fail(error, failures)
        finally:
            logging_in.close()
            self._connection = None
        return pause, connection is not None and connection.answered

    def _fail(self, error: Exception, failures: int) -> float | None:
        """Publish why a link has ended; return the seconds to wait, or None for the usual time."""
        reason = error.message if isinstance(error, TuimonError) else str(error)
        if isinstance(error, OSError) and error.errno in _FULL:
            self._say("failed", f"local disk full: {reason}")
            return RETRY_FULL
        if isinstance(error, TooLarge):
            self._say("failed", reason)
            return 3600.0
        self._say("lost", reason)
        return RETRY[-1] if failures > len(RETRY) else None

    def _progress(self, connection: Sync) -> None:
        """Publish the state of a link that is up."""
        link, now, received = self.link, time.time(), connection.received
        link.heard, link.delay, link.here, link.total = now, connection.delay, received.here, received.total
        if received.complete and not link.complete:
            link.complete = True
            self.mirror.stored.complete = self.mirror.is_current = True
            self._save()
        self.mirror.save_notes()
        state = "missing" if received.missing else "live" if received.complete else "copying"
        if state != link.state:
            self._say(state, received.problem)
        if self.mirror.changed:
            paths, self.mirror.changed = self.mirror.changed, set()
            self._save()  # if this process is killed, the mirror must not seem older than the points in it
            self.on_hint(paths, self.mirror.names_changed)
            self.mirror.names_changed = False
        if now - self._linked_at > LINK_EVERY:
            self._linked_at = now
            self.on_link()
        if received.complete:
            self._settled.set()
        if now - self._saved_at > SAVE_EVERY:
            self._save()

    def _follow_other(self) -> None:
        """Show the state of a mirror that another program fills."""
        stored = self.mirror.reload()
        self.link.heard = stored.heard or float("nan")
        self.link.complete = stored.complete
        if self.link.state != "shared":
            self._say("shared", "another tuimon copies these logs")
        self._settled.set()
        self._closing.wait(SHARED_EVERY)

    def _say(self, state: str, detail: str = "") -> None:
        self.link.detail = clean(detail)
        if state != "connecting":
            up = state in ("live", "copying", "missing")
            self.mirror.note_unreachable("" if up else self.link.detail or state)
        if {state, self.link.state} != {"lost", "connecting"} and state != self.link.state:
            self.link.since = time.time()  # attempts to connect do not change since when the link is lost
        self.link.state = state
        self.on_link()
        self.on_change()

    def _save(self) -> None:
        self._saved_at = time.time()
        self.mirror.stored.heard = self.link.heard if self.link.heard == self.link.heard else 0.0
        self.mirror.save()


def expire_in_background() -> None:
    """Delete old mirrors, on a thread."""
    threading.Thread(target=expire, name="expiry", daemon=True).start()
