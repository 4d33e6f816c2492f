"""The reader as a process: writes events as frames to standard output until standard input closes.

The parent process holds the other end of standard input; when it ends for any reason, the reader ends too. Standard
output carries nothing but frames, standard error only a final traceback.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence

from tuimon import wire
from tuimon.model.events import Event, Notice, Progress, Watching
from tuimon.platform_support import HeapTrimmer, ignore_overflow
from tuimon.reader.collect import Collector
from tuimon.reader.item_sources import ENDED_AFTER
from tuimon.reader.machine import MachineWatch
from tuimon.reader.polling import STILL
from tuimon.registry import problems
from tuimon.sources.watch import Watcher

MIN_WRITE = 1 << 16
"""Minimum number of bytes per write() while there are more frames."""
MANY_GROWING, SHARE, LONGEST_REST = 64, 0.05, 6.0
"""Beyond the first number of logs that grow at once, as those of the ranks of a job, the reader rests after a round, so
that the round is the second part of the time, for at most the third number of seconds: several lines of a log that are
read together cost little more than one."""
FLUSH_AFTER = 1.0, ENDED_AFTER + 1.0
"""Times (s) without growth after which last records without their ends are decoded, the second time because their logs
have probably ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tuimon.reader", description=__doc__.splitlines()[0])
    parser.add_argument("roots", nargs="+")
    parser.add_argument("--poll", action="store_true")
    parser.add_argument("--interval", type=float, default=1.0)
    parser.add_argument("--console-pattern", action="append", default=[])
    options = parser.parse_args(arguments)
    ignore_overflow()
    os.nice(5)  # the training comes first
    watcher = Watcher(poll=options.poll, interval=options.interval)
    stop = threading.Event()
    session = _Session(Collector(options.roots, options.console_pattern), watcher, options.interval)
    threading.Thread(target=_wait_for_parent, args=(stop, watcher), name="parent", daemon=True).start()
    try:
        session.run(stop)
    except BrokenPipeError:
        return 0
    finally:
        watcher.close()
    return 0


def _wait_for_parent(stop: threading.Event, watcher: Watcher) -> None:
    """Pass on the hints of the parent until it ends: paths of files in mirrors, after "+" if names have changed."""
    rest = b""
    while data := os.read(0, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        watcher.hint([os.fsdecode(line[1:]) for line in lines], any(line.startswith(b"+") for line in lines))
    stop.set()
    watcher.wake()


class _Session:
    """Reads everything there is, then waits for more."""

    def __init__(self, collector: Collector, watcher: Watcher, interval: float) -> None:
        self._collector = collector
        self._watcher = watcher
        self._interval = interval
        self._progress: Progress | None = None
        self._has_read_all = False
        """Whether all history has been read once."""
        self._watching: Watching | None = None
        self._last_growth = time.monotonic()
        self._newest = 0.0
        """Time of the last change of any log (s since the epoch); computed once per poll, as there may be hundreds."""
        self._heap = HeapTrimmer()
        self._reported_plugins = 0
        self._machine = MachineWatch(collector.roots, lambda: self._newest)

    def run(self, stop: threading.Event) -> None:
        collector, watcher = self._collector, self._watcher
        self._find()
        next_find = time.monotonic() + 2 * self._interval
        flushes = 0
        used = time.process_time()
        while not stop.is_set():
            busy = self._send(collector.read())
            while collector.behind and not stop.is_set():
                self._send_progress(False)
                busy |= self._send(collector.read())
            self._send(collector.ranks.events(at_once=not self._has_read_all))
            if busy or self._progress is None or not self._progress.caught_up:
                if not self._has_read_all:  # the states of runs are shown from now on
                    self._has_read_all = True
                    self._send(collector.find_writers())
                    self._send(collector.flush(FLUSH_AFTER[0]))
                self._send_progress(True)
            if self._watching is None:  # events are not needed before everything has been read
                self._watch()
            now, self._newest = time.monotonic(), collector.newest_change()
            if busy:
                self._last_growth, flushes = now, 0
            elif flushes < len(FLUSH_AFTER) and now - self._last_growth >= FLUSH_AFTER[flushes]:
                flushes += 1
                self._send(collector.flush())
            self._send(collector.find_writers())
            if (machine := self._machine.poll()) is not None:
                self._send([machine])
            timeout = min(self._poll_interval(now), max(0.0, next_find - now), collector.ranks.wait(now))
            if not flushes:
                timeout = min(timeout, FLUSH_AFTER[0])
            hints = watcher.wait(timeout)
            # a search that is due soon is done now, to save a wake-up
            if hints.structure_changed or time.monotonic() >= next_find - self._interval / 4:
                self._find()
                self._watch()
                next_find = time.monotonic() + max(2 * self._interval, self._poll_interval(now))
            if hints.paths and self._send(collector.read(hints.paths)):
                self._last_growth, flushes = time.monotonic(), 0
            if len(hints.paths) > MANY_GROWING:
                stop.wait(min((time.process_time() - used) / SHARE, LONGEST_REST))
            used = time.process_time()

    def _poll_interval(self, now: float) -> float:
        """Time (s) until the next poll if there is no event.

        Three times the configured interval if most directories have events and no log has grown for a while, so that
        an idle screen costs little."""
        if self._watcher.mode != "events" or now - self._last_growth < self._interval:
            return self._interval
        return self._interval * (3 if time.time() - self._newest >= STILL else 1)

    def _find(self) -> None:
        self._send(self._collector.find())
        self._send(self._plugin_notices())
        self._send(self._collector.preview())

    def _plugin_notices(self) -> Iterator[Notice]:
        """Yield a notice for each format of an installed package that could not be loaded, once."""
        for plugin in problems()[self._reported_plugins :]:
            self._reported_plugins += 1
            yield Notice("warning", plugin.sentence, "Update or remove the package.", plugin.name)

    def _watch(self) -> None:
        self._watcher.set_directories(self._collector.directories)
        watching = Watching(self._watcher.mode, self._watcher.detail)
        if watching != self._watching:
            self._watching = watching
            self._send([watching])

    def _send_progress(self, caught_up: bool) -> None:
        read, total = self._collector.progress()
        progress = Progress(read, total, caught_up)
        if caught_up:
            self._heap.trim(read)
        if self._progress is None or progress.caught_up != self._progress.caught_up or not caught_up:
            self._progress = progress
            self._send([progress])

    def _send(self, events: Iterable[Event]) -> bool:
        """Write the events as frames; return whether there were any.

        Frames are written together, so that the screen is drawn once for all of them."""
        frames: list[bytes] = []
        size, sent = 0, False
        for event in events:
            frames.append(wire.encode(event))
            size += len(frames[-1])
            sent = True
            if size >= MIN_WRITE:
                _write(b"".join(frames))
                frames, size = [], 0
        if frames:
            _write(b"".join(frames))
        return sent


def _write(frame: bytes) -> None:
    view = memoryview(frame)
    while view:
        view = view[os.write(1, view) :]
