"""How long a logged point takes to the screen: with file system events and without, on a real terminal.

A writer appends a row with a value that no earlier one had; the time is over when its digits come out of the
program's pseudo-terminal. The bare poll (stat every 50 ms, no decoding, no screen) stands beside it.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.terminal import TUIMON, Terminal

ROUNDS = 40
INTERVAL = 0.5


def row(number: int) -> str:
    return json.dumps({"step": number, "timestamp": time.time(), "reward": 1000 + number, "loss": 1.0}) + "\n"


def measured(options: list[str]) -> list[float]:
    """Seconds from write to terminal, a round each."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "metrics.jsonl"
        log.write_text("".join(row(number) for number in range(100)))
        with Terminal([*TUIMON, *options, directory]) as terminal:
            terminal.until(lambda output: b"1099" in output)
            terminal.read(1.5)
            found = []
            for number in range(100, 100 + ROUNDS):
                wanted = str(1000 + number).encode()
                size = len(terminal.output)
                start = time.perf_counter()
                with log.open("a") as file:
                    file.write(row(number))
                # the step and the value change at once; a changed cell range may cut the common digits off
                while wanted[-2:] not in terminal.output[size:]:
                    terminal.read(0.001)
                    assert time.perf_counter() - start < 30, wanted
                found.append(time.perf_counter() - start)
                terminal.read(0.15 + 0.37 * (number % 3) / 3)
            terminal.type("q")
            return found


def bare_poll(every: float) -> list[float]:
    """Seconds until a loop of stat() sees a write."""
    found = []
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
            found.append(time.perf_counter() - start)
    return found


def told(name: str, seconds: list[float], base: float) -> float:
    ordered = sorted(seconds)
    middle = statistics.median(ordered)
    last = ordered[int(len(ordered) * 0.95)]
    print(f"  {name:<44} p50 {middle * 1000:6.1f} ms   p95 {last * 1000:6.1f} ms   {middle / base:5.2f} x", flush=True)
    return middle


def main() -> None:
    print(f"{ROUNDS} appended rows each; x: against the bare 50 ms poll")
    base = statistics.median(bare_poll(0.05))
    told("bare poll, stat every 50 ms", bare_poll(0.05), base)
    told("tuimon, write to screen, events", measured([]), base)
    poll = told(
        f"tuimon, write to screen, --poll {INTERVAL} s", measured(["--poll", "--interval", str(INTERVAL)]), base
    )
    print(f"  the poll's median is its interval / 2 and {1000 * (poll - INTERVAL / 2):.0f} ms")


if __name__ == "__main__":
    main()
