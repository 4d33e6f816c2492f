"""Measure the time from a logged point to its digits on a real terminal, with file system events and without.

A writer appends a row; the time ends when its value is written to the pseudo-terminal. For comparison: a bare poll
(stat every 50 ms, without decoding or screen).
"""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from support.terminal import TUIMON, Terminal

ROUNDS = 40
INTERVAL = 0.5


def reward(number: int) -> int:
    """A number of which every digit differs from the previous one: only changed cells are sent to the terminal."""
    return 1111 * (number % 9 + 1)


def row(number: int) -> str:
    return json.dumps({"step": number, "timestamp": time.time(), "reward": reward(number), "loss": 1.0}) + "\n"


def measured(settings: Mapping[str, str]) -> list[float]:
    """Time (s) from write to terminal in each round."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "metrics.jsonl"
        log.write_text("".join(row(number) for number in range(100)))
        with Terminal([*TUIMON, directory], environment=settings) as terminal:
            terminal.until(lambda output: str(reward(99)).encode() in output)
            terminal.read(1.5)
            times = []
            for number in range(100, 100 + ROUNDS):
                digits = str(reward(number)).encode()
                size = len(terminal.output)
                start = time.perf_counter()
                with log.open("a") as file:
                    file.write(row(number))
                while digits not in terminal.output[size:]:
                    terminal.read(0.001)
                    assert time.perf_counter() - start < 30, digits
                times.append(time.perf_counter() - start)
                terminal.read(0.15 + 0.37 * (number % 3) / 3)
            terminal.type("q")
            return times


def bare_poll(every: float) -> list[float]:
    """Time (s) until a loop of stat() sees a write, in each round."""
    times = []
    with tempfile.NamedTemporaryFile("a") as file:
        path = Path(file.name)
        for number in range(ROUNDS):
            size = path.stat().st_size
            seen = threading.Event()

            def look(size: int = size, seen: threading.Event = seen) -> None:
                while path.stat().st_size == size:
                    time.sleep(every)
                seen.set()

            threading.Thread(target=look).start()
            time.sleep(0.01 + 0.013 * (number % 7))
            start = time.perf_counter()
            file.write("x")
            file.flush()
            seen.wait()
            times.append(time.perf_counter() - start)
    return times


def print_row(name: str, seconds: list[float], base: float) -> float:
    ordered = sorted(seconds)
    middle = statistics.median(ordered)
    last = ordered[int(len(ordered) * 0.95)]
    print(f"  {name:<44} p50 {middle * 1000:6.1f} ms   p95 {last * 1000:6.1f} ms   {middle / base:5.2f} x", flush=True)
    return middle


def main() -> None:
    print(f"{ROUNDS} appended rows each; x: against the bare 50 ms poll")
    base = statistics.median(bare_poll(0.05))
    print_row("bare poll, stat every 50 ms", bare_poll(0.05), base)
    print_row("tuimon, write to screen, events", measured({}), base)
    poll = print_row(
        f"tuimon, write to screen, poll = true, {INTERVAL} s",
        measured({"TUIMON_POLL": "1", "TUIMON_INTERVAL": str(INTERVAL)}),
        base,
    )
    print(f"  the poll's median is its interval / 2 and {1000 * (poll - INTERVAL / 2):.0f} ms")


if __name__ == "__main__":
    main()
