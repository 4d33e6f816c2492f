"""Measure the cost of a dashboard whose logs are silent or grow, and the time from a write to the screen.

    python -m tests.bench.live [SECONDS]

idle: 200 event files that nobody writes to. Wanted: at most 0.3 % of a core, and no byte to the terminal.
live: one log with 600 metrics, a row each second. Wanted: at most 5 % of a core.
write to screen: the value of a new row appears after 60 ms in the median. Valid if nothing else uses the machine.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from support.event_points import event, records, scalar, version
from support.grid import Grid
from support.terminal import TUIMON, Terminal

WIDE = (200, 50)


def write_quiet(folder: Path, count: int = 200) -> None:
    """Write runs with an event file each, last changed a minute ago."""
    data = b"".join(records([version(), *(event(step, scalar("train/loss", 1 / (step + 1))) for step in range(1000))]))
    for number in range(count):
        path = folder / f"run{number:03}" / "events.out.tfevents.1795226051.host"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        os.utime(path, (time.time() - 60, time.time() - 60))


def row(step: int, metrics: int) -> str:
    return json.dumps({"step": step, **{f"section{i % 7}/metric {i}": 1000.0 + step for i in range(metrics)}}) + "\n"


def shares(terminal: Terminal, seconds: float, write: Callable[[int], object]) -> tuple[float, float]:
    """Return percent of a core, and bytes a second to the terminal, while `write` is called each second."""
    screen = psutil.Process(terminal.process.pid)
    processes = [screen, *screen.children(recursive=True)]
    begun, sent = time.monotonic(), len(terminal.output)
    used = -sum(sum(process.cpu_times()[:2]) for process in processes)
    for number in range(round(seconds)):
        write(number)
        terminal.read(begun + number + 1 - time.monotonic())
    used += sum(sum(process.cpu_times()[:2]) for process in processes)
    taken = time.monotonic() - begun
    return used / taken * 100, (len(terminal.output) - sent) / taken


def main(seconds: float = 20.0) -> None:
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        environment = {"TUIMON_CONFIG": os.devnull, "TUIMON_THEME": "dark", "XDG_STATE_HOME": f"{folder}/state"}
        write_quiet(folder / "quiet")
        with Terminal([*TUIMON, f"{folder}/quiet"], WIDE, environment) as terminal:
            terminal.until(lambda output: b"run199" in output or b"run000" in output)
            terminal.settle(3.0)
            percent, rate = shares(terminal, seconds, lambda number: None)
        print(f"idle, 200 files: {percent:.2f} % of a core, {rate:.0f} bytes/s to the terminal")
        (folder / "live").mkdir()
        log = folder / "live" / "metrics.jsonl"
        log.write_text("".join(row(step, 600) for step in range(100)))
        with Terminal([*TUIMON, f"{folder}/live"], WIDE, environment) as terminal, log.open("a", buffering=1) as file:
            terminal.until(lambda output: b"1099" in output)
            terminal.settle(3.0)
            percent, rate = shares(terminal, seconds, lambda number: file.write(row(100 + number, 600)))
            print(f"live, 600 metrics a second: {percent:.1f} % of a core, {rate / 1e3:.1f} kB/s to the terminal")
            times, fed, grid, first = [], 0, Grid(*WIDE), 100 + round(seconds)
            for step in range(first, first + 20):
                begun = time.monotonic()
                file.write(row(step, 600))
                while grid.find(str(1000 + step)) is None:
                    assert time.monotonic() < begun + 60, f"it was not drawn:\n{grid}"
                    terminal.read(0.001)
                    grid.feed(bytes(terminal.output[fed:]))
                    fed = len(terminal.output)
                times.append((time.monotonic() - begun) * 1e3)
                terminal.read(0.3)
            print(f"write to screen: median {statistics.median(times):.0f} ms, longest of 20 {max(times):.0f} ms")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
