"""`-` as a path: a pipe is read and followed like any log, and its writer survives the end of the dashboard."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from conftest import DATA
from support.programs import run
from support.terminal import TUIMON, Terminal

from tuimon.analysis.progress_inputs import progress_of
from tuimon.commands._stdin import StdinSpool
from tuimon.errors import TuimonError
from tuimon.monitor.local import LocalMonitor
from tuimon.monitor.piped import StdinPath
from tuimon.monitor.process import ReaderProcess

CONSOLE = DATA / "console" / "grpo_nan" / "console.log"
GOLDEN = DATA / "json/verl/golden.jsonl"
CRASHED = (
    b"step: 1 loss: 2.5\nstep: 2 loss: 2.0\nTraceback (most recent call last):\nRuntimeError: CUDA out of memory\n"
)
STEPS = b"".join(b"step: %d/9 loss: %.2f\n" % (step, 4.5 / step) for step in range(1, 8))


def piped(data: bytes, *arguments: str, directory: Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(directory)}
    done = subprocess.run([*TUIMON, *arguments], input=data, capture_output=True, timeout=120, env=environment)
    assert done.returncode == expect, done.stderr
    assert list(directory.iterdir()) == []  # nothing is left behind
    return subprocess.CompletedProcess(arguments, expect, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize(
    "path",
    [CONSOLE, DATA / "console" / "keras.out", DATA / "exports" / "qwen3vl_grpo" / "training_log.json", GOLDEN],
    ids=lambda path: path.name,
)
def test_a_pipe_is_read_like_the_file(path: Path, tmp_path: Path) -> None:
    """The format is recognised by content, and the points are those of the file."""

    def points(text: str) -> list[tuple[str, int, str]]:
        return [(row["metric"], row["step"], str(row["value"])) for row in map(json.loads, text.splitlines())]

    ours = piped(path.read_bytes(), "export", "-", "--format", "jsonl", directory=tmp_path)
    assert points(ours.stdout) == points(run("export", str(path), "--format", "jsonl").stdout) != []


@pytest.mark.parametrize(
    "words",
    [
        ("summary", "-"),
        ("check", "-", "--json"),
        ("line", "-"),
        ("summary", "-", "--step", "2"),
        ("doctor", "-"),
        ("export", "-"),
        ("report", "-"),
        ("compare", "-", str(GOLDEN)),
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_the_path_of_the_spool_is_never_shown(words: tuple[str, ...], tmp_path: Path) -> None:
    text = piped(STEPS, *words, directory=tmp_path).stdout
    assert "stdin" in text or words[0] == "line"
    assert str(tmp_path) not in text
    # but for the name of a style, and for the log beside it, which may have been written just now
    rest = "".join(line for line in text.splitlines() if "golden" not in line and "verl" not in line)
    assert not re.search(r"(?<!state-)\brunning\b", rest)


def test_the_summary_of_a_pipe(tmp_path: Path) -> None:
    """The modification time of the spool is ignored, but a crash in the log is reported."""
    text = piped(STEPS, "summary", "-", directory=tmp_path).stdout
    assert text.startswith("stdin  (standard input)\n  state        ended: step 7 of 9; the input has ended")
    assert piped(STEPS, "-", directory=tmp_path).stdout.splitlines()[2:] == text.splitlines()[2:]
    for data, state, said in ((STEPS, "ended", "the input has ended"), (CRASHED, "crashed", "out of memory")):
        (run,) = json.loads(piped(data, "summary", "-", "--json", directory=tmp_path).stdout)["runs"]
        assert (run["path"], run["state"]) == ("-", state)
        assert said in run["evidence"]
    for data in (b"", b"\0\1" * 5000):
        nothing = piped(data, "summary", "-", directory=tmp_path, expect=3)
        assert nothing.stdout == ""
        assert "no metric log in standard input" in nothing.stderr
        assert str(tmp_path) not in nothing.stderr


def test_the_reader_process_reports_the_end_of_the_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuimon.monitor.process.CLOCK_EVERY", 3600.0)  # the regular check does not come to help
    log, ended = tmp_path / "stdin" / "stdin.log", threading.Event()
    log.parent.mkdir()
    log.write_bytes(STEPS)
    monitor = ReaderProcess([StdinPath(str(log), ended.is_set)], interval=0.05)
    monitor.start()
    try:
        assert _becomes_true(lambda: any(run.last_step == 7 for run in monitor.snapshot().runs))
        (run,) = monitor.snapshot().runs
        assert run.path == "-"
        assert _becomes_true(lambda: progress_of(monitor.snapshot().runs[0], time.time()).state == "running")
        assert monitor.paths == ["-"]
        checked = threading.Event()
        monitor.listen_to_alerts(lambda _: checked.set())
        assert checked.wait(60)  # else the first alerts announce a change
        announced: list[str] = []
        monitor.on_change = lambda: announced.append(progress_of(monitor.snapshot().runs[0], time.time()).state)
        ended.set()  # no further frame wakes the receiver
        assert _becomes_true(lambda: "ended" in announced), "the screen is not drawn again"
    finally:
        monitor.close()


def test_open_pipe_is_not_taken_for_a_copied_file(tmp_path: Path) -> None:
    """Its temporary file may be written at once and then stay silent while the program behind the pipe compiles."""
    log = tmp_path / "stdin" / "stdin.log"
    log.parent.mkdir()
    log.write_bytes(STEPS)
    silent = time.time() - 120
    os.utime(log, (silent, silent))
    monitor = LocalMonitor([StdinPath(str(log), threading.Event().is_set)])
    monitor.read()
    (run,) = monitor.snapshot().runs
    assert progress_of(run, silent + 5).state == "running"
    statuses = [stream.status for stream in run.streams]
    assert {(status.writer, status.copied) for status in statuses if status} == {("unknown", False)}


def _has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _becomes_true(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_removes_the_spool(number: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}

    def receive_signal() -> None:
        signal.signal(number, signal.SIG_DFL)  # pytest itself may run under nohup

    with subprocess.Popen(
        [*TUIMON, "summary", "-"], stdin=subprocess.PIPE, env=environment, preexec_fn=receive_signal
    ) as process:
        process.stdin.write(b"step: 1 loss: 2.5\n")
        process.stdin.flush()
        end = time.monotonic() + 60
        while not any(file.stat().st_size for file in tmp_path.rglob("stdin.log")):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_followed() -> None:
    command = [*TUIMON, "watch", "-", "--json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for step in (1, 2):
            process.stdin.write(b"step: %d loss: %.2f\n" % (step, 4.5 / step))
            process.stdin.flush()
            while (change := json.loads(process.stdout.readline()))["kind"] != "points":
                pass
            assert (change["steps"], change["values"]) == ([step], [4.5 / step])
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


@pytest.mark.parametrize("way", ["quit", "blocked"])
def test_the_dashboard_follows_a_pipe_whose_writer_survives_it(tmp_path: Path, way: str) -> None:
    """blocked: the terminal takes no output any more, and a signal ends the dashboard."""
    mark, script = tmp_path / "mark", tmp_path / "writer.py"
    script.write_text(WRITER)
    line = f'"{sys.executable}" "{script}" "{mark}" 2>&1 | "{sys.executable}" -m tuimon -; echo "left: $?"'
    with Terminal(["bash", "-c", line], environment={"TMPDIR": str(tmp_path)}) as terminal:
        terminal.until(lambda output: b"reward" in output and b"running" in output)
        if way == "quit":
            terminal.read(0.5)
            terminal.type("q")
            terminal.until(lambda output: b"goes on" in output)
        else:
            bash = psutil.Process(terminal.process.pid)
            (screen,) = (process for process in bash.children() if process.cmdline()[-2:] == ["tuimon", "-"])
            for _ in range(40):  # redraws the whole screen without reading the output
                terminal.type("t")
                time.sleep(0.05)
            screen.send_signal(signal.SIGTERM)
            assert _becomes_true(lambda: _has_ended(screen))
        time.sleep(0.3)  # without a reader the writer would die of SIGPIPE
        assert not mark.exists()
        (tmp_path / "mark.stop").touch()
        terminal.until(lambda output: (b"left: 0" if way == "quit" else b"left: 143") in output)
    assert mark.read_text() == "ended by itself"
    assert not list(tmp_path.glob("tuimon-*"))


def test_a_full_disk_is_reported_and_does_not_stop_the_writer() -> None:
    """The writer can write more than a pipe holds, although nothing is stored."""
    spool = StdinSpool()
    spool.path = "/dev/full"
    spool._source, end = os.pipe()

    def write() -> None:
        with open(end, "wb") as pipe:
            pipe.write(b"step 1 loss 0.5\n" * 100_000)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(TuimonError, match=r"cannot store standard input in .*: No space left on device"):
        spool.read_all()
    writer.join(60)
    assert not writer.is_alive()
    assert spool.ended()


def test_an_input_that_cannot_be_stored_whole_is_partly_read() -> None:
    text = "".join(f"step {step} loss {1 / (step + 1):.5f}\n" for step in range(20_000))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [*TUIMON, "summary", "-", "--strict"], input=text, capture_output=True, text=True, preexec_fn=limit, timeout=200
    )
    assert done.returncode == 5, done.stderr
    assert "loss" in done.stdout
    assert "what came after it was not read" in done.stderr
