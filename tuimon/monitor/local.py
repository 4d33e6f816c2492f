"""Read logs in this process, for commands, scripts and tests."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from tuimon import config
from tuimon.detectors import Checker
from tuimon.model.events import MachineSeen
from tuimon.model.machine import Machine
from tuimon.monitor import load_settings
from tuimon.monitor.piped import Pipes, remote_among
from tuimon.reader import Collector
from tuimon.reader.machine import disk_status, is_similar
from tuimon.store import Snapshot, Store

_CALL_EVERY = 0.1
"""Seconds between two calls of on_progress while logs are read."""


class LocalMonitor:
    """A collector and a store in one process; `update` reads what was appended."""

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        checker: Checker | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Read `paths` with the console patterns of the user's settings.

        checker: the detectors; by default those of the user's settings. clock: returns the time (s since the epoch) by
        which growth, writers and silence are judged.
        """
        settings = load_settings()
        mirrors = remote_among(paths)
        self.collector = Collector([os.fspath(path) for path in paths], settings.console_patterns)
        self._clock = clock
        self.collector.use_clock(clock)
        self._pipes = Pipes(paths)
        self.checker = checker or Checker(settings.detectors, settings.rules, str(config.config_path()))
        self.store = Store(mirrors)
        self._machine: Machine | None = None
        """The disks as the store knows them."""

    def update(self, on_progress: Callable[[int, int], None] | None = None) -> bool:
        """Find new logs, read each known log to its current end, run the detectors. Return True if anything changed.

        on_progress: see `read`.
        """
        before = self.store.version
        self.read(on_progress)
        self.check()
        return self.store.version != before

    def read(self, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Find and read logs without running the detectors, which saves memory.

        on_progress: is called repeatedly with the number of bytes read and the estimated number of bytes on disk.
        """
        next_call = time.monotonic() + _CALL_EVERY
        ended = self._pipes.ended()
        for event in self.collector.find():
            self.store.apply(self._pipes.renamed(event))
        while True:
            for event in self.collector.read():
                self.store.apply(self._pipes.renamed(event))
                if on_progress is not None and time.monotonic() > next_call:  # summing the sizes of 2,000 logs is slow
                    on_progress(*self.collector.estimated_progress())
                    next_call = time.monotonic() + _CALL_EVERY
            if on_progress is not None:
                on_progress(*self.collector.estimated_progress())
            if not self.collector.behind:
                break
        for event in (
            *self.collector.find_writers(),
            *self.collector.flush(),
            *self.collector.ranks.events(at_once=True),
            *self._pipes.end_events(ended),
        ):
            self.store.apply(self._pipes.renamed(event))
        self.store.join_runs()

    def check(self) -> None:
        """Run the detectors on the current snapshot."""
        self._measure_disks()
        self.store.set_alerts(self.checker.check_all(self.store.snapshot(), self._clock()))

    def _measure_disks(self) -> None:
        """Note the free disk space, for the detector of full disks, if it has changed."""
        machine = disk_status(self.collector.roots, self.collector.newest_change())
        if not is_similar(machine, self._machine):
            self._machine = machine
            self.store.apply(MachineSeen(machine))

    def snapshot(self) -> Snapshot:
        return self.store.snapshot()


def open_run(*paths: str | os.PathLike[str]) -> Snapshot:
    """Read all logs below the paths once. Raise NothingFound if a path does not exist or no log is found."""
    monitor = LocalMonitor(paths)
    monitor.update()
    monitor.collector.require_something()
    return monitor.snapshot()
