"""The reader as a process: frames to standard output, until standard input closes.

Standard input is a lifeline: whoever started the reader holds its other end, and when that one dies, however it dies,
the reader ends too. Standard output is nothing but frames; standard error is for a last traceback.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Iterable, Sequence

from tuimon import wire
from tuimon.heap import Heap
from tuimon.model.events import Event, Progress, Watching
from tuimon.reader.collect import Collector
from tuimon.reader.machine import MachineWatch
from tuimon.reader.pace import STILL
from tuimon.sources.watch import Watcher

TOGETHER = 1 << 16
"""Bytes of frames that are written at once, at least."""
FLUSH_AFTER = 1.0
"""Seconds of quiet after which a last record without its end is taken for whole."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tuimon.reader", description=__doc__.splitlines()[0])
    parser.add_argument("roots", nargs="+")
    parser.add_argument("--poll", action="store_true")
    parser.add_argument("--interval", type=float, default=1.0)
    parser.add_argument("--console-pattern", action="append", default=[])
    options = parser.parse_args(arguments)
    os.nice(5)  # the training comes first
    watcher = Watcher(poll=options.poll, interval=options.interval)
    stop = threading.Event()
    threading.Thread(target=_lifeline, args=(stop, watcher), name="lifeline", daemon=True).start()
    try:
        _Session(Collector(options.roots, options.console_pattern), watcher, options.interval).run(stop)
    except BrokenPipeError:
        return 0
    finally:
        watcher.close()
    return 0


def _lifeline(stop: threading.Event, watcher: Watcher) -> None:
    while os.read(0, 4096):
        pass
    stop.set()
    watcher.wake()


class _Session:
    """Reads everything there is, then waits for more."""

    def __init__(self, collector: Collector, watcher: Watcher, interval: float) -> None:
        self._collector = collector
        self._watcher = watcher
        self._interval = interval
        self._progress: Progress | None = None
        self._watching: Watching | None = None
        self._grown = time.monotonic()
        self._newest = 0.0
        """When the newest of the logs was last changed, as of this look: of hundreds that takes a while to say."""
        self._heap = Heap()
        self._machine = MachineWatch(collector.roots, lambda: self._newest)

    def run(self, stop: threading.Event) -> None:
        collector, watcher = self._collector, self._watcher
        self._look_for_logs(hurry=True)
        next_find = time.monotonic() + 2 * self._interval
        flushed = False
        while not stop.is_set():
            busy = self._tell(collector.read())
            while collector.behind and not stop.is_set():
                self._tell_progress(False)
                busy |= self._tell(collector.read())
            if not collector.searched:
                self._tell_progress(False)
                self._find()
                continue
            if busy or self._progress is None or not self._progress.caught_up:
                self._tell_progress(True)
            if self._watching is None:  # not before, as nobody waits for events while there is so much to read
                self._watch()
            now, self._newest = time.monotonic(), collector.newest_change()
            if busy:
                self._grown, flushed = now, False
            elif not flushed and now - self._grown >= FLUSH_AFTER:
                flushed = True
                self._tell(collector.flush())
            if (news := self._machine.news()) is not None:
                self._tell([news])
            timeout = min(self._patience(now), max(0.0, next_find - now))
            if not flushed:
                timeout = min(timeout, FLUSH_AFTER)
            hints = watcher.wait(timeout)
            collector.hint(hints.closed)
            if (
                hints.structure_changed or time.monotonic() >= next_find - self._interval / 4
            ):  # not a second wake for it soon
                self._find()
                next_find = time.monotonic() + max(2 * self._interval, self._patience(now))
            elif hints.paths:
                self._tell(collector.read(hints.paths))

    def _patience(self, now: float) -> float:
        """Seconds until the next look, if the system tells of nothing: three times as long where it tells of most
        directories and nothing has grown for a while, so that a screen that is left open costs little."""
        if self._watcher.mode != "events" or now - self._grown < self._interval:
            return self._interval
        return self._interval * (3 if time.time() - self._newest >= STILL else 1)

    def _find(self) -> None:
        self._look_for_logs()
        self._watch()

    def _look_for_logs(self, hurry: bool = False) -> None:
        self._tell(self._collector.find(hurry))
        self._tell(self._collector.preview())

    def _watch(self) -> None:
        self._watcher.set_directories(self._collector.directories)
        watching = Watching(self._watcher.mode, self._watcher.detail)
        if watching != self._watching:
            self._watching = watching
            self._tell([watching])

    def _tell_progress(self, caught_up: bool) -> None:
        read, total = self._collector.progress()
        progress = Progress(read, total, caught_up)
        if caught_up:
            self._heap.has_read(read)
        if self._progress is None or progress.caught_up != self._progress.caught_up or not caught_up:
            self._progress = progress
            self._tell([progress])

    def _tell(self, events: Iterable[Event]) -> bool:
        """Frames that come together are written together: the screen draws once for them."""
        frames: list[bytes] = []
        size, told = 0, False
        for event in events:
            frames.append(wire.encode(event))
            size += len(frames[-1])
            told = True
            if size >= TOGETHER:
                _write(b"".join(frames))
                frames, size = [], 0
        if frames:
            _write(b"".join(frames))
        return told


def _write(frame: bytes) -> None:
    view = memoryview(frame)
    while view:
        view = view[os.write(1, view) :]
