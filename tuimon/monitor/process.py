"""The reader in a process of its own, and the store that one receiving thread fills from it.

Parsing never takes the interpreter from a key press, and a reader that dies takes nothing with it: it is started
again, reads everything anew into a second store, and the two are exchanged once the new one has caught up, so no point
is lost or doubled and the screen never goes blank.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import tuimon
from tuimon.detectors import check_all
from tuimon.errors import TuimonError
from tuimon.model.events import Notice, Progress, StreamFound
from tuimon.store import Snapshot, Store
from tuimon.text import clean
from tuimon.vocabulary import merge_key
from tuimon.wire import FrameDecoder

CHECK_EVERY = 0.5
"""Seconds between two rounds of the detectors, at least."""
RESTART_AFTER = (0.2, 1.0, 5.0, 30.0)
"""Seconds before the first, second … start of a reader that keeps dying."""


class ReaderProcess:
    """Starts the reader, receives its frames, keeps it alive. `on_change` is called on the receiving thread."""

    def __init__(
        self,
        paths: Sequence[str],
        *,
        poll: bool = False,
        interval: float = 1.0,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.paths = [os.path.abspath(path) for path in paths]
        self.on_change = on_change
        self._options = [*(["--poll"] if poll else []), "--interval", str(interval)]
        self._store = Store(merge_key)
        self._closing = threading.Event()
        self._first = threading.Event()
        self._thread = threading.Thread(target=self._keep_running, name="receiver", daemon=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._checked = 0.0
        self._unchecked = False
        self._notices: list[Notice] = []

    def start(self) -> None:
        """To be called before the screen takes the terminal (and before its imports: the two overlap)."""
        self._process, errors = self._spawn()
        self._errors = errors
        self._thread.start()

    def wait_for_first(self, timeout: float) -> bool:
        """Waits until the reader has found a log, or has looked everywhere. False: the time is up."""
        return self._first.wait(timeout)

    def snapshot(self) -> Snapshot:
        return self._store.snapshot()

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process else None

    def close(self) -> None:
        """Ends the reader and the thread."""
        self._closing.set()
        process = self._process
        if process is not None:
            _close(process)
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        if process is not None and process.stdout is not None and not self._thread.is_alive():
            process.stdout.close()
            self._errors.close()

    def _spawn(self) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        errors = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the process
        environment = dict(os.environ)
        package = str(Path(tuimon.__file__).parent.parent)
        if package == str(Path.cwd()):  # run from a checkout that is not installed; -P leaves the directory out
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package, environment.get("PYTHONPATH"))))
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tuimon.reader", *self._options, "--", *self.paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            start_new_session=True,  # the terminal's signals are for the screen
        )
        return process, errors

    def _keep_running(self) -> None:
        deaths = 0
        process, errors = self._process, self._errors
        assert process is not None
        while True:
            started = time.monotonic()
            try:
                self._receive(process)
                problem = _last_words(errors, process)
            except TuimonError as error:
                problem = error.message
                _close(process)
            except Exception as error:  # noqa: BLE001  the thread's border: it becomes a visible notice
                problem = f"{type(error).__name__}: {error}"
                _close(process)
            if self._closing.is_set():
                return
            errors.close()
            assert process.stdout is not None
            process.stdout.close()
            _close(process)
            deaths = 0 if time.monotonic() - started > 60 else deaths + 1
            pause = RESTART_AFTER[min(deaths, len(RESTART_AFTER) - 1)]
            self._say(
                Notice(
                    "error",
                    clean(f"The reader stopped: {problem}. It is started again in {pause:g} s; what is shown stays."),
                    "Should it keep stopping, `tuimon doctor` reads the same logs and names the file.",
                )
            )
            if self._closing.wait(pause):
                return
            process, errors = self._spawn()
            self._process, self._errors = process, errors

    def _say(self, notice: Notice) -> None:
        self._notices.append(notice)
        self._store.apply(notice)
        self.on_change()

    def _receive(self, process: subprocess.Popen[bytes]) -> None:
        """Fills a store from one reader until it ends. The first reader fills the store that is shown."""
        assert process.stdout is not None
        fresh = Store(merge_key) if self._store.version else self._store
        decoder = FrameDecoder()
        pipe = process.stdout.fileno()
        while True:
            due = self._unchecked and self._checked + CHECK_EVERY - time.monotonic()
            if due is not False and not select.select([pipe], [], [], max(0.0, due))[0]:
                self._check()
                continue
            data = os.read(pipe, 1 << 20)
            if not data:
                return
            events = decoder.feed(data)
            for event in events:
                fresh.apply(event)
            if fresh is not self._store:
                if not any(isinstance(event, Progress) and event.caught_up for event in events):
                    continue
                for notice in self._notices[-3:]:
                    fresh.apply(notice)
                self._store = fresh
            self._unchecked = True
            if not self._first.is_set() and any(isinstance(event, StreamFound | Progress) for event in events):
                self._first.set()
            self.on_change()

    def _check(self) -> None:
        """The detectors look, at most twice a second."""
        self._checked, self._unchecked = time.monotonic(), False
        before = self._store.version
        self._store.set_alerts(check_all(self._store.snapshot()))
        if self._store.version != before:
            self.on_change()


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_words(errors: IO[bytes], process: subprocess.Popen[bytes]) -> str:
    """Why a reader ended: the last line of its standard error, or its exit status."""
    status = process.wait()
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - 4096))
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    if lines:
        return lines[-1]
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"
