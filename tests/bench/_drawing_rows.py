"""Rows about drawing: CPU time and bytes of a redraw, and the delay of a key."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from tests.bench import _corpora, _pace, _timer_probe
from tests.bench._dashboard import Dashboard
from tests.bench._row import Row
from tests.bench._screen_rows import WIDE, Feeder, drawn, has

MIDDLE = (160, 50)


def rows(folder: Path, full: bool) -> Iterator[Row]:
    seconds = 60.0 if full else 8.0
    yield from three(folder, seconds + 4)
    yield from nine(folder, seconds)
    yield from slow_link(folder, 20 if full else 6)
    path = _corpora.write_run(folder / "long", _corpora.tags(50), 200_000 if full else 100_000)
    yield from keys(path.parent, 10 if full else 5)
    yield from lateness(path.parent, folder / "late.json")


def log_of(folder: Path, names: tuple[str, ...], rows: int) -> Path:
    folder.mkdir()
    path = folder / "metrics.jsonl"
    _corpora.write_rows(path, names, rows, time.time())
    return path


def three(folder: Path, seconds: float) -> Iterator[Row]:
    names = _corpora.NINE[:3]
    path = log_of(folder / "three", names, 500)
    with Dashboard([path], MIDDLE) as dashboard, path.open("a") as file:
        dashboard.until(drawn)
        dashboard.settle()
        with Feeder(1.0, lambda n: append(file, names, 500 + n)):
            dashboard.pump(2.0)
            sent = dashboard.sent
            screen, reader = dashboard.shares(seconds)
            sent = dashboard.sent - sent
    against = f"CPU: screen {screen:.2f} %, reader {reader:.2f} %"
    yield Row("3 charts at 160x50, a point a second", sent / seconds / 1e3, "kB/s", 8, 3, against=against)


def append(file: object, names: tuple[str, ...], step: int) -> None:
    values = [(step * 7 + i * 3) % 11 / 10 for i in range(len(names))]
    file.write(_corpora.row(names, step, values, time.time()))  # type: ignore[attr-defined]
    file.flush()  # type: ignore[attr-defined]


def nine(folder: Path, seconds: float) -> Iterator[Row]:
    names = _corpora.NINE
    path = log_of(folder / "nine", names, 2000)
    with Dashboard([path], WIDE) as dashboard, path.open("a") as file:
        dashboard.until(drawn)
        dashboard.settle()
        dashboard.pump(2.0)
        step = 2000
        quiet = dashboard.main_thread()
        dashboard.pump(3.0)
        quiet = (dashboard.main_thread() - quiet) / 3
        found = {}
        for rate in (4.0, 10.0):
            base = step
            with Feeder(rate, lambda n, base=base: append(file, names, base + n)) as feeder:  # type: ignore[misc]
                dashboard.pump(1.0)
                before, drawing, sent = feeder.count, dashboard.main_thread(), dashboard.sent
                shares = dashboard.shares(seconds)
                redraws, sent = feeder.count - before, dashboard.sent - sent
                drawing = dashboard.main_thread() - drawing - quiet * seconds
            step += feeder.count + 1
            found[rate] = shares, drawing / redraws * 1e3, sent / redraws
    (screen, reader), frame, size = found[4.0]
    against = f"{size / 1e3:.2f} kB a frame; at 10 a second {found[10.0][1]:.1f} ms"
    pace = _pace.of_python()
    yield Row("a frame of 9 charts at 200x50, main thread", frame, "ms", 30, 10, against=against, pace=pace)
    for rate, least, aim in ((4.0, 6, 2.6), (10.0, 12, 8.8)):
        (screen, reader), *_ = found[rate]
        against = f"reader {reader:.1f} %; without a new point {quiet * 100:.2f} %"
        what = f"CPU of the screen at {rate:g} redraws a second, 9 charts"
        yield Row(what, screen, "%", least, aim, against=against, pace=pace)


def keys(folder: Path, millions: int) -> Iterator[Row]:
    """left and right in turn, while the history loads: until the title of the second chart has another look."""
    found = []
    with _timer_probe.bare() as bare, Dashboard([folder], WIDE) as dashboard:
        dashboard.until(has("loss  train/loss"))
        turns = cycle("lh")
        while dashboard.grid.find(f" {millions} 000 000 points") is None and len(found) < 500:
            found.append(press(dashboard, next(turns)) * 1e3)
            dashboard.pump(0.01)
        loaded = time.monotonic() - dashboard.started
        dashboard.settle()
        quiet = []
        for _ in range(12):
            dashboard.pump(0.1)
            quiet.append(press(dashboard, next(turns)) * 1e3)
    found.sort()
    what = f"key to screen while {millions}M points load"
    against = f"{len(found)} keys, p50 {statistics.median(found):.0f} ms; idle {statistics.median(quiet):.0f} ms; "
    against += f"loaded {loaded:.1f} s after the start"
    yield Row(f"{what}, p95", found[int(len(found) * 0.95)], "ms", 60, 35, against=against)
    yield Row(f"{what}, max", found[-1], "ms", 150, 75, against=_timer_probe.said(bare))


def press(dashboard: Dashboard, key: str) -> float:
    """Seconds until the title of the second chart has another look; at most 5, when the key does not change it."""
    place = dashboard.grid.find("loss  train/loss")
    assert place is not None, f"no second chart\n{dashboard.grid}"
    y, x = place
    before = dashboard.grid.looks[y][x]
    dashboard.press(key)
    return dashboard.until(lambda grid: grid.looks[y][x] != before, 5.0)


def slow_link(folder: Path, rounds: int) -> Iterator[Row]:
    """Time until " paused " is shown on a terminal of 30 kB/s while 9 charts change ten times a second."""
    names = _corpora.NINE
    path = log_of(folder / "slow", names, 100)
    found = []
    with Dashboard([path], WIDE, rate=30e3) as dashboard, path.open("a") as file:
        dashboard.until(drawn)
        begun = time.monotonic() - dashboard.started
        dashboard.pump(3.0)
        with Feeder(10.0, lambda n: append(file, names, 100 + n)):
            for _ in range(rounds):
                dashboard.pump(1.3)
                dashboard.press("p")
                found.append(dashboard.until(has(" paused ")))
                dashboard.press("p")
                dashboard.until(lambda grid: grid.find(" paused ") is None)
        sent = dashboard.sent
    against = f"median {statistics.median(found):.2f} s of {rounds}; {sent / 1e3:.0f} kB sent in all; "
    against += f"first curves {begun:.2f} s after the start"
    yield Row("key to screen on a link of 30 kB/s, worst", max(found), "s", 0.5, 0.1, against=against)


def lateness(folder: Path, out: Path) -> Iterator[Row]:
    """A timer of 10 ms in the event loop of the screen while the same run loads."""
    program = (sys.executable, "-m", "tests.bench._timer_probe", str(out))
    with _timer_probe.bare() as bare, Dashboard([folder], WIDE, program=program) as dashboard:
        dashboard.until(drawn)
        dashboard.settle()
        dashboard.press("q")
        dashboard.terminal.wait()
    late = json.loads(out.read_text())
    loading = sorted(late[: max(50, len(late) - 100)])  # the last second was quiet
    against = f"p50 {statistics.median(loading):.1f}, max {loading[-1]:.0f} ms of {len(loading)} ticks; "
    against += _timer_probe.said(bare)
    yield Row(
        "timer of 10 ms while loading, late by p99", loading[int(len(loading) * 0.99)], "ms", 15, 4, against=against
    )
