"""Measure how the cost of commands grows with metrics, runs and files, each size four times the one before.

    python -m tests.bench.command_scaling [metrics | runs | files …] [--command summary …] [--sizes 2]

For each command the CPU seconds at each size, and the ratio to the size before: up to 4 is proportional, as the start
of the program is a part of small sizes. A command is ended after LIMIT seconds.

    metrics   columns of one JSON-lines log with 8 rows: 1,000 to 16,000
    runs      directories with a log of 30 rows and a config: 125 to 2,000
    files     files in one run, of which a tenth looks like a log and is not: 3,125 to 50,000
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

LIMIT = 600
COMMANDS = {
    "summary": ["summary", "--json"],
    "summary as text": ["summary"],
    "check": ["check", "--json"],
    "export": ["export"],
    "compare": ["compare", "--json"],
}


def metrics(folder: Path, count: int) -> None:
    """Two runs, as compare needs them."""
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        with (folder / name / "metrics.jsonl").open("w") as log:
            for step in range(8):
                row = {f"layer_{n // 8}/stat_{n % 8}": math.sin(n + step) for n in range(count)}
                log.write(json.dumps({"step": step, **row}) + "\n")


def runs(folder: Path, count: int) -> None:
    for number in range(count):
        run = folder / f"grpo_seed{number}"
        run.mkdir(parents=True)
        rows = ({"step": s, "reward": 0.01 * s * (number % 9 + 1), "loss": 1 / (s + 1), "kl": 0.1} for s in range(30))
        (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (run / "config.json").write_text(json.dumps({"optim": {"lr": number % 7 * 1e-4}, "seed": number}))


def files(folder: Path, count: int) -> None:
    """Two runs with half of the files each."""
    for number in range(count):
        place = folder / "ab"[number % 2] / f"part{number // 200}"
        if number % 200 < 2:
            place.mkdir(parents=True)
        kind = number // 2 % 10
        name, text = {0: ("notes.txt", "nothing here\n"), 1: ("tokens.json", '{"vocab": {"a": 1}}')}.get(
            kind, (f"x.{('py', 'png', 'safetensors', 'yaml')[kind % 4]}", "")
        )
        (place / f"{number}{name}").write_text(text)
    for name in "ab":
        log = "".join(json.dumps({"step": s, "loss": 1 / (s + 1)}) + "\n" for s in range(30))
        (folder / name / "metrics.jsonl").write_text(log)


AXES: dict[str, tuple[Callable[[Path, int], None], int]] = {
    "metrics": (metrics, 1_000),
    "runs": (runs, 125),
    "files": (files, 3_125),
}


def cost(words: list[str], path: Path, state: Path) -> float:
    """Return CPU seconds of a command and its children; NaN after LIMIT."""
    environment = {**os.environ, **{f"XDG_{name}_HOME": str(state / name) for name in ("STATE", "CACHE", "CONFIG")}}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "tuimon", *words, str(path)]
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return math.nan
    if b"Traceback" in done.stderr:
        raise RuntimeError(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axes", nargs="*", choices=[[], *AXES], metavar="metrics | runs | files")
    parser.add_argument("--command", action="append", choices=COMMANDS, help="measure only these")
    parser.add_argument("--sizes", type=int, default=3, help="number of sizes (3)")
    options = parser.parse_args()
    for axis in options.axes or AXES:
        write, least = AXES[axis]
        sizes = [least * 4**power for power in range(options.sizes)]
        with tempfile.TemporaryDirectory(prefix="bench") as name:
            folder = Path(name)
            for size in sizes:
                write(folder / str(size), size)
            print(f"{axis:<18}" + "".join(f"{size:>12,}" for size in sizes) + "   ratios", flush=True)
            for command in options.command or COMMANDS:
                print(f"  {command:<16}", end="", flush=True)
                costs: list[float] = []
                for size in sizes:
                    costs.append(cost(COMMANDS[command], folder / str(size), folder / "home"))
                    print(f"{costs[-1]:>10.2f} s", end="", flush=True)
                ratios = [after / before for before, after in pairwise(costs)]
                print("   " + " ".join(f"{ratio:.1f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
