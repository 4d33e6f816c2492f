"""Rows about the whole program on a terminal: start, memory, trees of many files, quiet and busy logs."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import _corpora, _pace, _timer_probe
from tests.bench._dashboard import Dashboard, Grid
from tests.bench._row import Row
from tuimon.sources.watch import Watcher

WIDE = (200, 50)
_STARTS = 5


def rows(folder: Path, full: bool) -> Iterator[Row]:
    yield from start(folder)
    yield from latency(folder, 200 if full else 40)
    yield from trees(folder)
    yield from idle(folder, 60.0 if full else 10.0)
    yield from live(folder, 60.0 if full else 10.0)


def has(text: str) -> Callable[[Grid], bool]:
    return lambda grid: grid.find(text) is not None


def drawn(grid: Grid) -> bool:
    return grid.braille > 20


class Feeder:
    """Context manager that calls `write(number)` `rate` times per second from a thread."""

    def __init__(self, rate: float, write: Callable[[int], object]) -> None:
        self.count = 0
        self._rate, self._write = rate, write
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        begun = time.monotonic()
        while not self._stop.wait(max(0.0, begun + self.count / self._rate - time.monotonic())):
            self._write(self.count)
            self.count += 1

    def __enter__(self) -> Feeder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def start(folder: Path) -> Iterator[Row]:
    million, little = folder / "1M", folder / "10k"
    _corpora.write_run(million, _corpora.tags(50), 20_000)
    _corpora.write_run(little, _corpora.tags(50), 200)
    first, whole, used, memory = [], [], [], []
    for path, shown in ((million, "1 000 000 points"), (little, "10 000 points")):
        for _ in range(_STARTS):
            with Dashboard([path], WIDE) as dashboard:
                dashboard.until(drawn)
                first.append(time.monotonic() - dashboard.started)
                dashboard.until(has(shown))
                whole.append(time.monotonic() - dashboard.started)
                used.append(dashboard.cpu())
                if len(whole) % _STARTS == 0:
                    dashboard.settle()
                    memory.append(dashboard.memory())
    imports = min(_pace.wall("import textual.app, numpy, orjson") for _ in range(3))
    ours, small = min(whole[:_STARTS]), min(whole[_STARTS:])
    against = f"the imports alone {imports:.2f} s, 10k events {small:.2f} s"
    against += f"; a first curve after {min(first[:_STARTS]):.2f} s; {min(used[:_STARTS]):.2f} s of CPU time"
    yield Row("process start to curves of 1M events", ours, "s", 1.0, 0.6, against=against, pace=_pace.of_python())
    (pss, rss), (base, _) = memory
    against = f"10k points {base:.0f} MB; resident, shared pages twice: {rss:.0f} MB"
    yield Row("memory of screen and reader with 1M points (PSS)", pss, "MB", 140, 100, against=against)
    yield Row("memory a point, both processes", (pss - base) * 1e6 / 990_000, "B", 24, 12)


def latency(folder: Path, rounds: int) -> Iterator[Row]:
    """From the write of a row to its value on the terminal."""
    (folder / "latency").mkdir()
    log = folder / "latency" / "metrics.jsonl"
    names = ["reward", "loss"]
    _corpora.write_rows(log, names, 100, time.time())
    found = []
    with _timer_probe.bare() as bare, Dashboard([folder / "latency"]) as dashboard, log.open("a") as file:
        dashboard.until(drawn)
        dashboard.settle()
        for number in range(rounds):
            dashboard.pump(0.15 + 0.37 * (number % 7) / 7)
            file.write(_corpora.row(names, 100 + number, [1000.0 + number, 1.0], time.time()))
            file.flush()
            found.append(dashboard.until(has(f" {1000 + number} ")) * 1e3)
    found.sort()
    what = "write to screen"
    yield Row(f"{what}, p50", statistics.median(found), "ms", 60, 40, against="30 ms of coalescing and a frame")
    last = found[min(len(found) - 1, int(len(found) * 0.99))]
    against = f"p90 {found[int(len(found) * 0.9)]:.0f} ms; {_timer_probe.said(bare)}"
    yield Row(f"{what}, p99 of {rounds}", last, "ms", 150, 100, against=against)


def trees(folder: Path) -> Iterator[Row]:
    _corpora.write_runs(folder / "runs", 1000, _corpora.tags(20), 20)
    _corpora.write_run(folder / "wide", _corpora.tags(10_000), 20)
    run = folder / "checkpoints"
    _corpora.write_run(run, _corpora.tags(20), 1000)
    _corpora.write_checkpoints(run, 10_000, state=False)
    states = folder / "states"
    _corpora.write_run(states, _corpora.tags(20), 1000)
    _corpora.write_checkpoints(states, 10_000, state=True)
    for path, what in (
        (folder / "runs", "1 000 runs x 20 tags"),
        (folder / "wide", "10 000 tags in one run"),
        (run, "10 000 checkpoint directories"),
        (states, "the same, a trainer_state.json in each"),
    ):
        times = []
        for last in (False, True):
            with Dashboard([path]) as dashboard:
                dashboard.until(drawn)
                times.append(time.monotonic() - dashboard.started)
                if last:
                    dashboard.settle()
                    settled, used = time.monotonic() - dashboard.started - 1, dashboard.cpu()
                    watches, (pss, _) = dashboard.watches(), dashboard.memory()
        against = f"quiet after {settled:.1f} s and {used:.1f} s of CPU time; {pss:.0f} MB"
        pace = _pace.of_python()
        yield Row(f"{what}: first frame", min(times), "s", 1.0, 0.6, against=against, pace=pace)
        yield Row("  watches held", watches, "", 200, 64)
        yield Row("  watch set-up", set_up(path), "ms", 100, 10)


def set_up(path: Path) -> float:
    """CPU milliseconds from the directories found to the watches on them."""
    from tuimon.reader import Collector

    collector = Collector([str(path)])
    list(collector.find())
    with Watcher() as watcher:
        watcher.set_directories([str(path)])  # the import of watchdog
        begun = time.process_time()
        watcher.set_directories(collector.directories)
        return (time.process_time() - begun) * 1e3


def idle(folder: Path, seconds: float) -> Iterator[Row]:
    """Of logs that were last written to a minute ago."""
    _corpora.write_runs(folder / "quiet", 200, _corpora.tags(20), 50)
    for path in (folder / "quiet").rglob("*"):
        os.utime(path, (time.time() - 60, time.time() - 60))
    with Dashboard([folder / "quiet"], WIDE) as dashboard:
        dashboard.until(drawn)
        dashboard.settle()
        dashboard.pump(3.0)
        sent = dashboard.sent
        screen, reader = dashboard.shares(seconds)
        sent = dashboard.sent - sent
    against = (
        f"screen {screen:.2f} %, reader {reader:.2f} %; a bare stat() of 200 files a second {bare_poll(folder):.3f} %"
    )
    pace = _pace.of_python()
    yield Row("idle, 200 files followed: CPU", screen + reader, "%", 0.3, 0.1, against=against, pace=pace)
    yield Row("  to the terminal", sent / seconds, "B/s", 0, 0)


def bare_poll(folder: Path) -> float:
    paths = [str(path) for path in (folder / "quiet").rglob("*tfevents*")]
    begun = time.process_time()
    for path in paths * 10:
        os.stat(path)
    return (time.process_time() - begun) / 10 * 100


def live(folder: Path, seconds: float) -> Iterator[Row]:
    names = _corpora.tags(600)
    path = _corpora.write_run(folder / "live", names, 1000)
    steps = [_corpora.step_records(names, 1001 + i, time.time() + i) for i in range(int(seconds) + 8)]
    with Dashboard([path.parent], WIDE) as dashboard, path.open("ab", buffering=0) as file:
        dashboard.until(drawn)
        dashboard.settle()

        def write(number: int) -> None:
            for record in steps[number]:
                file.write(record)

        with Feeder(1.0, write):
            dashboard.pump(2.0)
            sent = dashboard.sent
            screen, reader = dashboard.shares(seconds)
            sent = dashboard.sent - sent
    against = f"screen {screen:.1f} %, reader {reader:.1f} %; {sent / seconds / 1e3:.1f} kB/s to the terminal"
    pace = _pace.of_python()
    yield Row("live, 600 tags x 1 Hz, a write() each: CPU", screen + reader, "%", 5, 2, against=against, pace=pace)
