"""Processes that tests fork from a warm one are those that `subprocess` would start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

COMMAND = (sys.executable, "-m", "tuimon")


def is_warm(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the process was forked, so that it has the command line of the server."""
    return "warm_server.py" in " ".join(psutil.Process(process.pid).cmdline())


@pytest.mark.parametrize("words", [["--version"], ["summary", "-"], ["export", "none"], ["nothing --at-all"], ["-h"]])
def test_a_warm_process_ends_as_a_cold_one(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> tuple[int, bytes, bytes]:
        text = b'{"step": 1, "loss": 0.5}\n'
        done = subprocess.run([*COMMAND, *words], input=text, capture_output=True, cwd=tmp_path, check=False)
        return done.returncode, done.stdout, done.stderr

    warm = run()
    monkeypatch.setenv("COLD_START", "1")
    assert run() == warm


def test_a_warm_process_is_a_child_with_its_own_session_and_directory(tmp_path: Path) -> None:
    command = [*COMMAND, "watch", "--json", str(tmp_path), "--wait"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path, start_new_session=True
    ) as process:
        warm = is_warm(process)
        status = psutil.Process(process.pid)
        place = status.ppid(), status.cwd(), os.getsid(process.pid)
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    assert warm
    assert place == (os.getpid(), str(tmp_path), process.pid)


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "LC_ALL", "TZ", "COLD_START"])
def test_a_start_that_a_variable_changes_is_cold(variable: str) -> None:
    environment = {**os.environ, variable: "1"}
    with subprocess.Popen([*COMMAND, "watch", "-"], env=environment, stdin=subprocess.PIPE, stdout=-3) as process:
        warm = is_warm(process)
        process.kill()
    assert not warm
