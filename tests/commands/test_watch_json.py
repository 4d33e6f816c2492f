"""`tuimon watch --json` as a program: a growing log, a slow consumer, and the end."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import psutil
import pytest

WIDE = 50


def append(path: Path, first: int, last: int, metrics: int = 1) -> None:
    path.mkdir(exist_ok=True)
    with (path / "metrics.jsonl").open("a") as stream:
        for step in range(first, last + 1):
            stream.write(json.dumps({"step": step, **{f"m{n}/loss": step + n / 7 for n in range(metrics)}}) + "\n")


@contextmanager
def watching(*words: str) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        [sys.executable, "-m", "tuimon", "watch", "--json", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield program
    finally:
        program.kill()
        program.communicate(timeout=120)


def until(program: subprocess.Popen[str], kind: str, **wanted: Any) -> dict[str, Any]:
    """Read lines up to one with these fields."""
    for text in program.stdout:
        line: dict[str, Any] = json.loads(text)
        if line["kind"] == kind and all(line[name] == value for name, value in wanted.items()):
            return line
    raise AssertionError("the program has ended")


def test_a_line_follows_each_change(tmp_path: Path) -> None:
    append(tmp_path, 1, 3)
    with watching(str(tmp_path)) as program:
        assert until(program, "points")["steps"] == [1, 2, 3]
        assert until(program, "state")["step"] == 3
        append(tmp_path, 4, 4)
        assert until(program, "points")["steps"] == [4]
        assert until(program, "state")["step"] == 4
        with (tmp_path / "metrics.jsonl").open("a") as stream:
            stream.write('{"step": 5, "m0/loss": NaN}\n')
        assert until(program, "points")["values"] == ["NaN"]
        assert until(program, "alert", rule="nonfinite")["active"]
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 143
        assert program.stderr.read() == ""


def test_wait_waits(tmp_path: Path) -> None:
    with watching(str(tmp_path / "run"), "--wait") as program:
        append(tmp_path / "run", 1, 3)
        assert until(program, "run")["path"] == str(tmp_path / "run")
        assert until(program, "points")["start"] == 0


def test_a_consumer_that_does_not_read_costs_no_memory_and_one_that_closes_ends_it(tmp_path: Path) -> None:
    append(tmp_path, 1, 200, WIDE)
    with watching(str(tmp_path)) as program:
        until(program, "run")
        fill(program.stdout)
        process = psutil.Process(program.pid)
        before = process.memory_info().rss
        append(tmp_path, 201, 4000, WIDE)
        wanted = {f"m{n}/loss": [step + n / 7 for step in range(1, 4001)] for n in range(WIDE)}
        assert process.memory_info().rss == pytest.approx(before, abs=3 << 20)
        received: dict[str, list[float]] = {}
        for text in program.stdout:
            line = json.loads(text)
            if line["kind"] == "points":
                received.setdefault(line["metric"], [])[line["start"] :] = line["values"]
                if line["metric"] == f"m{WIDE - 1}/loss" and len(received[line["metric"]]) == 4000:
                    break
        assert received == wanted
        program.stdout.close()
        append(tmp_path, 4001, 4300, WIDE)
        assert program.wait(60) == 0
        assert program.stderr.read() == ""
        program.stdout = open(os.devnull)  # noqa: SIM115  for communicate


def fill(pipe: IO[str]) -> None:
    """Wait until the pipe is half full: a program that has more to write than it holds then waits in a write."""
    enough = fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) // 2
    count = bytearray(4)
    while int.from_bytes(count, sys.byteorder) < enough:
        time.sleep(0.01)
        fcntl.ioctl(pipe, termios.FIONREAD, count)
