"""Measure how long a home directory of thousands of files takes to open, and whether its runs come first.

    python -m tests.bench.home [FILES [PROJECTS]]

The home has source files, documents, tables that are not runs (prices, a diary, a quiz) and one run in every third
project. The time is that of `tuimon --once` from its start to its end, the median of three, beside that of reading the
names and the first 4 KiB of all files.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SCRIPT = "import os\n\n\ndef main() -> None:\n    print(os.getcwd())\n" * 20
KINDS = ("py", "md", "txt", "json", "csv", "yaml", "log", "html", "png", "ipynb")


def write(folder: Path, files: int, projects: int) -> list[str]:
    """Write a home directory and return the names of the projects that have a run."""
    draw = random.Random(7)
    for index in range(files):
        kind = KINDS[index % len(KINDS)]
        place = folder / f"project_{index % projects:02d}" / f"part_{index // projects % 9}" / "data"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"file_{index}.{kind}").write_bytes(_content(kind, index, draw))
    with_runs = [f"project_{index:02d}" for index in range(0, projects, 3)]
    for number, name in enumerate(with_runs):
        run = folder / name / "outputs" / "run"
        run.mkdir(parents=True)
        rows = [{"step": step, "loss": 1 / (1 + step), "lr": 1e-4} for step in range(200)]
        if number % 3 == 0:
            (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif number % 3 == 1:
            lines = [f"{row['step']},{row['loss']},{row['lr']}" for row in rows]
            (run / "metrics.csv").write_text("\n".join(["step,loss,lr", *lines, ""]))
        else:
            (run / "train.log").write_text("".join(f"step {row['step']} loss {row['loss']:.4f}\n" for row in rows))
    return with_runs


def _content(kind: str, index: int, draw: random.Random) -> bytes:
    if kind == "csv":
        days = range(1, 29)
        if index // 10 % 3 == 0:
            rows = [f"2026-01-{day:02d},{draw.uniform(9, 10):.2f},{draw.uniform(9, 10):.2f}" for day in days]
            return "\n".join(["date,open,close", *rows, ""]).encode()
        if index // 10 % 3 == 1:
            rows = [f"2026-01-{day:02d},went to the lake on day {day}" for day in days]
            return "\n".join(["date,text", *rows, ""]).encode()
        return "\n".join(["question,answer", *(f"what is {day} + {day}?,{2 * day}" for day in days), ""]).encode()
    if kind == "json":
        return json.dumps({"name": f"package-{index}", "version": "1.0", "scores": [draw.random()] * 5}).encode()
    if kind == "png":
        return b"\x89PNG\r\n\x1a\n" + draw.randbytes(6000)
    if kind == "log" and index // 10 % 2:
        pairs = ((second, draw.randint(1, 900)) for second in range(60))
        return "".join(
            f"Jan  1 10:00:{second:02d} host cron[{job}]: job={job} state=ok\n" for second, job in pairs
        ).encode()
    if kind == "log":
        return "".join(f"2026-01-01 10:00:{second:02d} GET /page/{second} 200\n" for second in range(60)).encode()
    if kind == "txt" and index // 10 % 2:
        return "".join(
            f"{line}. In step {line} of {line + 3}, see page {line}: time = money\n" for line in range(80)
        ).encode()
    return SCRIPT.encode()


def open_home(folder: Path) -> str:
    command = [sys.executable, "-m", "tuimon", "--once", str(folder)]
    environment = {**os.environ, "COLUMNS": "120", "LINES": "40"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


def read_heads(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                total += len(file.read(4096))
    return total


def seconds(work: Callable[[Path], object], folder: Path) -> float:
    begin = time.perf_counter()
    work(folder)
    return time.perf_counter() - begin


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    projects = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with_runs = write(folder, files, projects)
        rounds = [(seconds(open_home, folder), seconds(read_heads, folder)) for _ in range(3)]
        ours, heads = (statistics.median(column) for column in zip(*rounds, strict=True))
        screen = open_home(folder)
        found = sum(project in screen for project in with_runs)
        print(f"{files} files, {projects} projects: {ours:.2f} s, all heads read in {heads:.2f} s")
        print(f"  {found} of {len(with_runs)} projects with runs on the screen")
        if "-v" in sys.argv:
            print(screen)


if __name__ == "__main__":
    main()
