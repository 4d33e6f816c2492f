"""Measure the start, from process to first curve on a real terminal, compared with bare interpreters and imports.

A run of about 1 MB of TensorBoard events (20 metrics × 1000 steps) written by tensorboard's own writer.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.terminal import TUIMON, Terminal

ROUNDS = 7


def write_run(directory: str) -> int:
    """Returns the size in bytes."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(directory)
    names = ["train/reward", "train/loss", "train/kl", *(f"train/metric_{i}" for i in range(17))]
    for step in range(1000):
        for number, name in enumerate(names):
            value = Summary.Value(tag=name, simple_value=step * 0.001 + number)
            writer.add_event(Event(wall_time=1.7e9 + step, step=step, summary=Summary(value=[value])))
    writer.close()
    return sum(path.stat().st_size for path in Path(directory).iterdir())


def first_curve(directory: str) -> float:
    with Terminal([*TUIMON, directory]) as terminal:
        terminal.until(lambda output: b"reward" in output and "⣀".encode()[:2] in output)
        seconds = time.monotonic() - terminal.started
        terminal.type("q")
        terminal.wait()
    return seconds


def process(*command: str) -> float:
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - start


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its bytecode
    with tempfile.TemporaryDirectory() as directory:
        size = write_run(directory)
        python = sys.executable
        cases = {
            "python -c pass": lambda: process(python, "-c", "pass"),
            "tuimon --version": lambda: process(*TUIMON, "--version"),
            "import textual.app, numpy": lambda: process(python, "-c", "import textual.app, numpy"),
            f"tuimon, first curve ({size / 1e6:.1f} MB)": lambda: first_curve(directory),
            "import tbparse": lambda: process(python, "-c", "import tbparse"),
        }
        times: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, case in cases.items():
                try:
                    times[name].append(case())
                except subprocess.CalledProcessError:
                    times[name].append(float("nan"))
        base = statistics.median(times["import textual.app, numpy"])
        for name, seconds in times.items():
            middle = statistics.median(seconds)
            print(f"  {name:<36} {middle:6.3f} s   {middle / base:5.2f} x of the imports")


if __name__ == "__main__":
    main()
