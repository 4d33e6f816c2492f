"""Who writes a log, and when it has grown: real processes, with a clock that the test moves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tuimon.analysis.progress_inputs import progress_of
from tuimon.monitor.local import LocalMonitor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

_HOLD = "import sys; f = open(sys.argv[1], 'ab'); print('ready', flush=True); sys.stdin.read()"


class Clock:
    """Seconds that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Watched:
    """A monitor of a log whose clock is moved by the test."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.clock = Clock()
        self.clock.now = log.stat().st_mtime
        self.monitor = LocalMonitor([log])
        self.monitor.collector.use_clock(self.clock)
        self.monitor.update()

    def after(self, seconds: float) -> tuple[str, str]:
        """Return state and evidence after a number of seconds; the log is checked in each of them."""
        for _ in range(int(seconds)):
            self.clock.now += 1
            self.monitor.update()
        (run,) = self.monitor.snapshot().runs
        progress = progress_of(run, self.clock.now)
        return progress.state, progress.evidence


def append(log: Path, steps: range, when: float) -> None:
    with log.open("a") as file:
        file.writelines(json.dumps({"step": step, "total_steps": 1000, "loss": 1 / step}) + "\n" for step in steps)
    os.utime(log, (when, when))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    append(path, range(1, 50), 1_795_000_000.0)
    return path


@pytest.fixture
def holder(log: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _HOLD, str(log)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    with process:
        yield process
        process.kill()


def test_writer_that_is_killed_is_noticed_within_seconds(log: Path, holder: subprocess.Popen[str]) -> None:
    watched = Watched(log)
    assert watched.after(5)[0] == "running"
    append(log, range(50, 60), watched.clock.now)
    assert watched.after(2)[0] == "running"
    holder.kill()
    holder.wait()
    state, evidence = watched.after(15)
    assert state == "ended"
    assert evidence.endswith("step 59 of 1000; no process has its log open")
    append(log, range(60, 70), watched.clock.now)
    assert watched.after(1)[0] == "running", "another process continues the run"


def test_writer_that_opens_its_log_for_each_line_is_not_gone(log: Path) -> None:
    watched = Watched(log)
    for first in range(50, 80):
        append(log, range(first, first + 1), watched.clock.now)
        assert watched.after(1)[0] == "running"
    assert watched.after(50)[0] == "running", "a watched pause shorter than a minute"


def test_silent_writer_that_holds_its_log_is_not_gone(log: Path, holder: subprocess.Popen[str]) -> None:
    watched = Watched(log)
    assert watched.after(100)[0] == "running"


@pytest.mark.parametrize("year", [2020, 2030])
def test_file_that_is_touched_keeps_the_time_at_which_it_grew(log: Path, year: int) -> None:
    watched = Watched(log)
    assert watched.after(6)[0] == "running"
    append(log, range(50, 60), watched.clock.now)
    assert watched.after(3)[0] == "running"
    watched.after(1)
    touched = (year - 1970) * 365.25 * 86_400
    os.utime(log, (touched, touched))
    assert watched.after(1)[0] == "running"
    append(log, range(60, 70), touched)
    assert watched.after(1)[0] == "running"


def test_log_that_is_truncated_deleted_or_cannot_be_opened(log: Path) -> None:
    watched = Watched(log)
    assert watched.after(1)[0] == "running"
    log.write_text("")
    append(log, range(1, 5), watched.clock.now)
    watched.after(1)
    (run,) = watched.monitor.snapshot().runs
    assert run.streams[0].status is not None
    assert run.streams[0].status.message.startswith("truncated at ")
    log.unlink()
    state, evidence = watched.after(1)
    assert (state, "its log was deleted" in evidence) == ("ended", True)
    append(log, range(1, 60), watched.clock.now)
    assert watched.after(1)[0] == "running"
    aside = log.rename(log.with_name("aside"))
    log.mkdir()
    watched.after(1)
    assert watched.monitor.snapshot().notices[-1].level == "warning"
    log.rmdir()
    aside.rename(log)
    watched.after(1)
    messages = [notice.message for notice in watched.monitor.snapshot().notices if "directory" in notice.message]
    assert messages == [f"{log}: no longer a directory, not a file"]
