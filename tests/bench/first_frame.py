"""Compare tuimon's first frame with that of a bare Textual app that also imports numpy.

Both run on a pseudo-terminal of 120×40 in turns; the ratio of the medians is printed. tuimon reads a run of 200 rows of
JSON lines, and its first frame is the first one that shows a value of the run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from support.terminal import TUIMON, Terminal

BARE_APP = """
import numpy
from textual.app import App
from textual.widgets import Static

class Bare(App):
    BINDINGS = [("q", "quit", "quit")]
    def compose(self):
        yield Static(f"the first frame {numpy.pi}")

Bare().run()
"""


def write_run(directory: Path) -> None:
    """Write a run of 200 steps with reward, loss and KL."""
    rows = ({"step": step, "reward": step / 100, "loss": 1 / (step + 1), "kl": step / 5000} for step in range(200))
    (directory / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def first_frame(command: list[str], mark: bytes) -> float:
    """Return the seconds from the start of `command` to the first output that contains `mark`."""
    with Terminal(command) as terminal:
        terminal.until(lambda output: mark in output)
        seconds = time.monotonic() - terminal.started
        terminal.type("q")
        terminal.wait()
    return seconds


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its bytecode
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--tuimon", nargs="+", default=TUIMON, help="command of another tuimon to measure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        write_run(Path(directory))
        cases = {
            "bare Textual app with numpy": ([sys.executable, "-c", BARE_APP], b"the first frame"),
            "tuimon": ([*options.tuimon, directory], b"1.99"),
        }
        seconds: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(options.rounds):
            for name, (command, mark) in cases.items():
                seconds[name].append(first_frame(command, mark))
    bare, ours = (statistics.median(times) for times in seconds.values())
    fastest_bare, fastest = (min(times) for times in seconds.values())
    for name, times in seconds.items():
        print(f"  {name:<30} median {statistics.median(times):.3f} s   min {min(times):.3f} s")
    print(f"  ratio {ours / bare:.2f}   ratio of the minima {fastest / fastest_bare:.2f}")


if __name__ == "__main__":
    main()
