"""Reading in this process: for commands, scripts and tests."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from tuimon import config
from tuimon.detectors import Checker
from tuimon.errors import NothingFound
from tuimon.monitor.piped import Pipes
from tuimon.reader import Collector
from tuimon.sources.watch import Watcher
from tuimon.store import Snapshot, Spool, Store
from tuimon.vocabulary import merge_key


class LocalMonitor:
    """Collector and store in one process; `update` reads what is new."""

    def __init__(
        self, paths: Sequence[str | os.PathLike[str]], checker: Checker | None = None, spool: Spool | None = None
    ) -> None:
        """Patterns of console lines are those of the user's settings, as are the detectors unless they are given.
        spool: where the points are put, for who goes through them once."""
        settings = config.load()
        self.collector = Collector([os.fspath(path) for path in paths], settings.console_patterns)
        self._pipes = Pipes(paths)
        self.checker = checker or Checker(settings.detectors, settings.rules, str(config.config_path()))
        self.store = Store(merge_key, spool)

    def update(self, told: Callable[[int, int], None] | None = None) -> bool:
        """Looks for new logs, reads every known one to its present end, and checks the runs. True when something
        changed.

        told: is called now and then with the bytes read and the bytes on disk."""
        before = self.store.version
        self.read(told)
        self.check()
        return self.store.version != before

    def read(self, told: Callable[[int, int], None] | None = None) -> None:
        """The same without a check: what detectors work out of every curve is not made, and takes no memory."""
        ended = self._pipes.ended()
        for event in self.collector.find():
            self.store.apply(self._pipes.renamed(event))
        while True:
            for event in self.collector.read():
                self.store.apply(self._pipes.renamed(event))
            if told is not None:
                told(*self.collector.progress())
            if not self.collector.behind:
                break
        for event in (*self.collector.flush(), *self._pipes.told(ended)):
            self.store.apply(self._pipes.renamed(event))

    def check(self) -> None:
        """Ask the detectors."""
        self.store.set_alerts(self.checker.check_all(self.store.snapshot(), time.time()))

    def snapshot(self) -> Snapshot:
        return self.store.snapshot()


def open_run(*paths: str | os.PathLike[str]) -> Snapshot:
    """What the logs below the paths hold now. Raises NothingFound when there is no path, or no log below it."""
    monitor = LocalMonitor(paths)
    monitor.update()
    monitor.collector.require_something()
    return monitor.snapshot()


def follow(
    *paths: str | os.PathLike[str], interval: float = 1.0, poll: bool = False, stop: threading.Event | None = None
) -> Iterator[Snapshot]:
    """A snapshot now and one after every change, until `stop` is set. Waits for paths that do not exist yet."""
    monitor = LocalMonitor(paths)
    stop = stop or threading.Event()
    watcher = Watcher(poll=poll, interval=interval)
    try:
        monitor.update()
        yield monitor.snapshot()
        while not stop.is_set():
            watcher.set_directories(monitor.collector.directories)
            hints = watcher.wait(interval)
            monitor.collector.hint(hints.closed)
            if monitor.update():
                yield monitor.snapshot()
    finally:
        watcher.close()


__all__ = ["LocalMonitor", "NothingFound", "follow", "open_run"]
