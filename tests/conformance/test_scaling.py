"""Every command is at most linear in metrics, runs, files, lines, columns and depth.

Work is counted, not timed: the number of calls of functions and methods, in Python and in C, that a command makes for a
size, for four and for sixteen times that. If the work is linear, the second step is four times the first.
"""

from __future__ import annotations

import contextlib
import cProfile
import io
import json
import pstats
from collections.abc import Callable
from pathlib import Path

import pytest

from tuimon.commands import main

LINEAR = 4.0
NOISE = 5_000
"""Calls that do not depend on the size: lazy imports, garbage collection."""
TOLERANCE = 1.5
"""For caches that are filled, and for n log n."""


def metrics(folder: Path, size: int) -> None:
    rows = ({"step": step, **{f"group{i % 7}/m{i}": i / (step + 1) for i in range(8 * size)}} for step in range(3))
    write_lines(folder / "metrics.jsonl", rows)


def lines(folder: Path, size: int) -> None:
    write_lines(folder / "metrics.jsonl", ({"step": step, "loss": 1 / (step + 1)} for step in range(200 * size)))


def console_lines(folder: Path, size: int) -> None:
    text = "".join(f"step {step} loss {1 / (step + 1):.4f} lr 0.01\n" for step in range(100 * size))
    (folder / "train.log").write_text(text)


def columns(folder: Path, size: int) -> None:
    names = [f"m{index}" for index in range(8 * size)]
    rows = (",".join([str(step), *(f"{step}.5" for _ in names)]) for step in range(4))
    (folder / "metrics.csv").write_text("\n".join([",".join(["step", *names]), *rows]) + "\n")


def runs(folder: Path, size: int) -> None:
    for number in range(2 * size):
        (folder / f"run{number}").mkdir()
        write_lines(folder / f"run{number}" / "metrics.jsonl", ({"step": step, "loss": 0.5} for step in range(3)))


def files(folder: Path, size: int) -> None:
    write_lines(folder / "metrics.jsonl", ({"step": step, "loss": 0.5} for step in range(3)))
    for number in range(20 * size):
        (folder / f"sample{number}.json").write_text("{}")


def depth(folder: Path, size: int) -> None:
    below = folder.joinpath(*["d"] * (2 * size))
    below.mkdir(parents=True)
    write_lines(below / "metrics.jsonl", ({"step": step, "loss": 0.5} for step in range(3)))


def document_rows(folder: Path, size: int) -> None:
    rows = [{"step": step, "loss": 1 / (step + 1)} for step in range(100 * size)]
    (folder / "trainer_state.json").write_text(json.dumps({"log_history": rows}))


def damaged_lines(folder: Path, size: int) -> None:
    rows = (json.dumps({"step": step, "loss": 0.5}) for step in range(50 * size))
    (folder / "metrics.jsonl").write_text("".join(row + "\n" + row[:9] + "\0\n" for row in rows))


def write_lines(path: Path, rows: object) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))  # type: ignore[attr-defined]


def work(arguments: list[str]) -> int:
    """Return the number of calls that a command makes."""
    profile = cProfile.Profile()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        profile.enable()
        try:
            main(arguments)
        finally:
            profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", ["summary --json", "check", "doctor", "export --format csv -o -"])
@pytest.mark.parametrize(
    "write", [metrics, lines, console_lines, columns, runs, files, depth, document_rows, damaged_lines]
)
def test_work_is_linear(write: Callable[[Path, int], None], command: str, tmp_path: Path) -> None:
    folders = {size: tmp_path / f"{size}" for size in (16, 4, 1)}
    for size, folder in folders.items():
        folder.mkdir()
        write(folder, size)
    large, middle, small = (work([*command.split(), str(folder)]) for folder in folders.values())
    limit = TOLERANCE * LINEAR * max(middle - small, NOISE)
    if large - middle > limit:  # the first time, modules are imported
        large = work([*command.split(), str(folders[16])])
    assert large - middle <= limit, (small, middle, large)
