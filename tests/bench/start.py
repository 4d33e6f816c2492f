"""Measure the start beside a bare Textual app.

`python -m tests.bench.start CHECKOUT …` measures other checkouts in turns.

The terminal answers queries. `first frame` is the time from the process to the first curve (one run) or to 20 rows of
the run list (100 runs). The small run has three logs: event file, JSONL, console; the wide one 10,000 metrics.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import psutil
from support.event_points import event, records, scalar, version
from support.terminal import Terminal

ROUNDS = 10
_BARE = """
import numpy
from textual.app import App
from textual.widgets import Static
class Bare(App):
    BINDINGS = [("q", "quit", "quit")]
    def compose(self):
        yield Static("\u28c0 curve")
Bare().run()
"""
_ANSWERS = {b"\x1b]11;?": b"\x1b]11;rgb:1010/1010/1010\x1b\\", b"\x1b[c": b"\x1b[?62;22c", b"\x1b[6n": b"\x1b[1;1R"}
_CURVE = re.compile(rb"\xe2[\xa0-\xa3][\x80-\xbf]")
_ROW = re.compile(rb"trial_\d\d")


def main(*others: str) -> None:
    """others: paths of checkouts of tuimon that are measured in turns with this one."""
    trees = [str(Path(__file__).parents[2]), *others]
    python = sys.executable
    tuimon = [python, "-P", "-m", "tuimon"]
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        shown = write_corpora(folder)
        cases: dict[str, dict[str, Callable[..., tuple[float, float]]]] = {
            "python -c pass": {"": partial(process, command=[python, "-c", "pass"])},
            "bare Textual app with numpy": {"": partial(first_frame, [python, "-c", _BARE], shown=_CURVE.search)},
        }
        for tree in trees:
            for words in ("--version", "--once", "line", "summary"):
                arguments = [words] if words == "--version" else [words, f"{folder}/small"]
                case = partial(process, command=[*tuimon, *arguments])
                cases.setdefault(f"tuimon {words}", {})[tree] = case
            for name, test in shown.items():
                case = partial(first_frame, [*tuimon, f"{folder}/{name}"], shown=test)
                cases.setdefault(f"first frame, {name}", {})[tree] = case
        times: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for _ in range(ROUNDS + 1):  # the first writes bytecode
            for name, case in cases.items():
                for tree, measure in case.items():
                    times.setdefault((name, tree), []).append(measure(environment=surroundings(tree, folder)))
    base = [statistics.median(column) for column in zip(*times["bare Textual app with numpy", ""][1:], strict=True)]
    for (name, tree), measured in times.items():
        wall, used = zip(*measured[1:], strict=True)
        middle, cpu = statistics.median(wall), statistics.median(used)
        print(
            f"  {name:<28} {middle:6.3f} s (least {min(wall):.3f}) {middle / base[0]:5.2f} x bare app,"
            f"  CPU {cpu:.3f} s (least {min(used):.3f}) {cpu / base[1]:5.2f} x  {tree}"
        )


def surroundings(tree: str, folder: Path) -> dict[str, str]:
    """Return the environment in which the tuimon of a checkout runs, with its bytecode, as if it were installed."""
    settings = {"TUIMON_CONFIG": os.devnull, "XDG_STATE_HOME": f"{folder}/state", "PYTHONPATH": tree}
    return {**settings, "PYTHONDONTWRITEBYTECODE": ""}


def event_file() -> bytes:
    """Return about 1 MB of events: 20 metrics, 1000 steps."""
    names = ["train/reward", "train/loss", "train/kl", *(f"train/metric_{i}" for i in range(17))]
    rows = ((step, number, name) for step in range(1000) for number, name in enumerate(names))
    points = (event(step, scalar(name, step * 0.001 + number), wall=1.7e9 + step) for step, number, name in rows)
    return b"".join(records([version(), *points]))


def write_corpora(folder: Path) -> dict[str, Callable[[bytes], object]]:
    """Write the logs below `folder`; return by directory how its first frame is recognised."""
    noise = random.Random(1)

    def rows(count: int, metrics: int) -> str:
        values = [{f"train/metric_{n}": noise.random() for n in range(metrics)} for _ in range(100)]
        lines = ({"step": step, "timestamp": 1.7e9 + step, **values[step % 100]} for step in range(count))
        return "".join(json.dumps(line) + "\n" for line in lines)

    for name in ("small", "large", "wide", *(f"many/trial_{n:02}" for n in range(100))):
        (folder / name).mkdir(parents=True)
    (folder / "small/events.out.tfevents.1700000000.host.1.0").write_bytes(event_file())
    (folder / "small/metrics.jsonl").write_text(rows(500, 12))
    console = (
        f"2024-05-01 10:{n // 60:02}:{n % 60:02} step {n}/900 loss: {1 / (n + 1):.4f} lr: 1e-4\n" for n in range(900)
    )
    (folder / "small/train.log").write_text("".join(console))
    (folder / "large/metrics.jsonl").write_text(rows(100_000, 10))
    (folder / "wide/metrics.jsonl").write_text(rows(20, 10_000))
    for n in range(100):
        (folder / f"many/trial_{n:02}/metrics.jsonl").write_text(rows(100, 5))
    curves = dict.fromkeys(("small", "large", "wide"), _CURVE.search)
    return {**curves, "many": lambda output: len(set(_ROW.findall(output))) >= 20}


def first_frame(
    command: Sequence[str], shown: Callable[[bytes], object], environment: dict[str, str]
) -> tuple[float, float]:
    """Return the seconds, and those of CPU time, from the start to a screen that is `shown`.

    The terminal answers queries at once.
    """
    with Terminal(command, environment={"COLORFGBG": "", **environment}) as terminal:
        answered = dict.fromkeys(_ANSWERS, 0)
        end = terminal.started + 60
        while not shown(bytes(terminal.output)):
            assert time.monotonic() < end, bytes(terminal.output[-2000:])
            terminal.read(0.002)
            for query, answer in _ANSWERS.items():
                for _ in range(terminal.output.count(query) - answered[query]):
                    answered[query] += 1
                    terminal.type(answer.decode())
        seconds = time.monotonic() - terminal.started
        screen = psutil.Process(terminal.process.pid)
        used = sum(sum(each.cpu_times()[:2]) for each in (screen, *screen.children()))
        terminal.read(0.3)
        terminal.type("q")
        terminal.wait()
    return seconds, used


def process(command: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the seconds, and those of CPU time, that a command takes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(*sys.argv[1:])
