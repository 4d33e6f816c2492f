"""`-` as a path: a pipe is read and followed like any log, and who writes into it is not killed by our leaving."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from conftest import DATA
from support.terminal import TUIMON, Terminal

from tuimon.analysis.progress_inputs import progress_of
from tuimon.monitor import ReaderProcess
from tuimon.monitor.piped import Piped
from tuimon.monitor.process import CLOCK_EVERY


def piped(data: bytes, *arguments: str, directory: Path, expect: int = 0) -> str:
    environment = {**os.environ, "TMPDIR": str(directory)}
    done = subprocess.run([*TUIMON, *arguments], input=data, capture_output=True, timeout=60, env=environment)
    assert done.returncode == expect, done.stderr
    assert list(directory.iterdir()) == []  # nothing is left behind
    return done.stdout.decode()


@pytest.mark.parametrize(
    "path",
    [
        DATA / "console" / "grpo_nan" / "console.log",
        DATA / "console" / "keras.out",
        DATA / "exports" / "qwen3vl_grpo" / "training_log.json",
        DATA / "json/verl/golden.jsonl",
    ],
    ids=lambda path: path.name,
)
def test_what_is_piped_is_read_as_the_file_would_be(path: Path, tmp_path: Path) -> None:
    """The format is told from the content: the points are those of the file itself."""

    def points(text: str) -> list[tuple[str, int, str]]:
        return [(row["metric"], row["step"], str(row["value"])) for row in map(json.loads, text.splitlines())]

    ours = piped(path.read_bytes(), "export", "-", "--format", "jsonl", directory=tmp_path)
    direct = subprocess.run([*TUIMON, "export", str(path), "--format", "jsonl"], capture_output=True, text=True)
    assert points(ours) == points(direct.stdout)
    assert points(ours)


def test_the_summary_of_a_pipe(tmp_path: Path) -> None:
    data = (DATA / "console" / "grpo_nan" / "console.log").read_bytes()
    text = piped(data, "summary", "-", directory=tmp_path)
    assert text.startswith("stdin  (")
    assert "grad_norm is NaN" in text
    assert piped(data, "-", directory=tmp_path).splitlines()[2:] == text.splitlines()[2:]
    assert piped(b"", "summary", "-", directory=tmp_path, expect=3) == ""
    assert piped(b"\0\1" * 5000, "summary", "-", directory=tmp_path, expect=3) == ""


CRASHED = (
    b"step: 1 loss: 2.5\nstep: 2 loss: 2.0\nTraceback (most recent call last):\nRuntimeError: CUDA out of memory\n"
)
STEPS = b"".join(b"step: %d/9 loss: %.2f\n" % (step, 4.5 / step) for step in range(1, 8))


@pytest.mark.parametrize(
    "words",
    [
        ("summary", "-"),
        ("summary", "-", "--json"),
        ("check", "-", "--json"),
        ("line", "-"),
        ("at", "-", "--step", "2"),
        ("doctor", "-"),
        ("export", "-"),
        ("report", "-"),
        ("compare", "-", str(DATA / "json/verl/golden.jsonl")),
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_nobody_is_shown_the_file_that_a_pipe_is_kept_in(words: tuple[str, ...], tmp_path: Path) -> None:
    text = piped(STEPS, *words, directory=tmp_path)
    assert "stdin" in text or words[0] == "line"
    assert str(tmp_path) not in text
    # but for the name of a style, and for the log beside it, which may have been written just now
    told = "".join(line for line in text.splitlines() if not line.startswith("verl"))
    assert not re.search(r"(?<!state-)\brunning\b", told)


def test_a_pipe_that_has_ended_is_told_as_ended(tmp_path: Path) -> None:
    """No time of the file says whether the run lives; what the log itself says of its end stands."""
    text = piped(STEPS, "summary", "-", directory=tmp_path)
    assert text.startswith("stdin  (standard input)\n  state       quiet: the input has ended")
    for data, state, said in ((STEPS, "quiet", "the input has ended"), (CRASHED, "crashed", "out of memory")):
        (run,) = json.loads(piped(data, "summary", "-", "--json", directory=tmp_path))["runs"]
        assert (run["path"], run["state"]) == ("-", state)
        assert said in run["evidence"]


def test_what_a_pipe_lacks_is_said_of_standard_input(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([*TUIMON, "summary", "-"], input=b"", capture_output=True, env=environment)
    assert b"no metric log in standard input" in done.stderr
    assert str(tmp_path).encode() not in done.stderr


def test_a_screen_is_told_that_the_pipe_has_ended(tmp_path: Path) -> None:
    log, ended = tmp_path / "stdin" / "stdin.log", threading.Event()
    log.parent.mkdir()
    log.write_bytes(STEPS)
    monitor = ReaderProcess([Piped(str(log), ended.is_set)], interval=0.05)
    monitor.start()
    try:
        assert _comes(lambda: any(run.last_step == 7 for run in monitor.snapshot().runs))
        (run,) = monitor.snapshot().runs
        assert (run.path, progress_of(run, time.time()).state) == ("-", "running")
        assert monitor.paths == ["-"]
        ended.set()  # and nothing more comes that would wake anybody
        soon = CLOCK_EVERY / 2
        assert _comes(lambda: progress_of(monitor.snapshot().runs[0], time.time()).state == "quiet", soon)
    finally:
        monitor.close()


def _comes(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_who_is_told_to_end_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}

    def heard() -> None:
        signal.signal(number, signal.SIG_DFL)  # what nohup starts, this too, would not hear it

    with subprocess.Popen(
        [*TUIMON, "summary", "-"], stdin=subprocess.PIPE, env=environment, preexec_fn=heard
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"step: 1 loss: 2.5\n")
        process.stdin.flush()
        end = time.monotonic() + 20
        while not any(file.stat().st_size for file in tmp_path.rglob("stdin.log")):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_followed() -> None:
    command = [*TUIMON, "summary", "-", "--watch", "--json", "--interval", "0.05"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for step in (1, 2):
            process.stdin.write(b"step: %d loss: %.2f\n" % (step, 4.5 / step))
            process.stdin.flush()
            told = json.loads(process.stdout.readline())
            assert [metric["last"] for metric in told["runs"][0]["metrics"]] == [4.5 / step]
        process.terminate()


WRITER = """
import sys, time
for step in range(1, 4000):
    print(f"step: {step} loss: {1 / step:.4f} reward: {step / 10:.2f}", flush=True)
    if step > 40:
        time.sleep(0.01)
    if __import__("os").path.exists(sys.argv[1] + ".stop"):
        break
open(sys.argv[1], "w").write("ended by itself")
"""


def test_the_screen_follows_a_pipe_and_leaving_it_kills_nobody(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = tmp_path / "writer.py"
    script.write_text(WRITER)
    line = f'"{sys.executable}" "{script}" "{mark}" 2>&1 | "{sys.executable}" -m tuimon -; echo "left: $?"'
    environment = {"TMPDIR": str(tmp_path)}
    with Terminal(["bash", "-c", line], environment=environment) as terminal:
        terminal.until(lambda output: b"reward" in output and b"running" in output)
        terminal.read(0.5)
        terminal.type("q")
        terminal.until(lambda output: b"goes on" in output)
        assert not mark.exists()
        time.sleep(0.3)
        (tmp_path / "mark.stop").touch()
        terminal.until(lambda output: b"left: 0" in output)
    assert mark.read_text() == "ended by itself"
    assert not list(tmp_path.glob(f"{tempfile.gettempprefix()}*"))
    assert not list(tmp_path.glob("tuimon-*"))


def test_the_pipe_is_handed_over_by_a_screen_whose_terminal_takes_nothing(tmp_path: Path) -> None:
    mark, script = tmp_path / "mark", tmp_path / "writer.py"
    script.write_text(WRITER)
    line = f'"{sys.executable}" "{script}" "{mark}" 2>&1 | "{sys.executable}" -m tuimon -; echo "left: $?"'
    with Terminal(["bash", "-c", line], environment={"TMPDIR": str(tmp_path)}) as terminal:
        terminal.until(lambda output: b"reward" in output and b"running" in output)
        (screen,) = (p for p in psutil.Process(terminal.process.pid).children() if p.cmdline()[-2:] == ["tuimon", "-"])
        for _ in range(40):  # the whole screen in other colours, again and again, and nobody reads it
            terminal.type("t")
            time.sleep(0.05)
        screen.send_signal(signal.SIGTERM)
        assert _comes(lambda: not screen.is_running() or screen.status() == psutil.STATUS_ZOMBIE)
        time.sleep(0.3)  # a writer whose pipe nobody reads dies of its next line
        assert not mark.exists()
        (tmp_path / "mark.stop").touch()
        terminal.until(lambda output: b"left: 143" in output)
    assert mark.read_text() == "ended by itself"
    assert not list(tmp_path.glob("tuimon-*"))
