"""Starting the reader process: a fork of a process with one thread, else a new interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.terminal import TUIMON, Terminal

_START = """
import sys, threading
from tuimon.monitor.spawn import spawn
end = threading.Event()
if {thread}:
    threading.Thread(target=end.wait).start()
reader = spawn([{path!r}], False, 1.0, {patterns})
if {patterns}:
    status = reader.process.wait()
    reader.errors.seek(0)
    print(status, reader.errors.read().decode().splitlines()[-1])
else:
    begun = len(reader.process.stdout.read1(9))
    print(begun, "tuimon.reader" in open(f"/proc/{{reader.process.pid}}/cmdline").read().split("\\0"))
    reader.process.stdin.close()
    print(reader.process.wait(60))
end.set()
"""


def started(path: Path, thread: bool = False, patterns: tuple[str, ...] = ()) -> list[str]:
    script = _START.format(thread=thread, path=str(path), patterns=patterns)
    return subprocess.check_output([sys.executable, "-c", script], text=True, timeout=60).splitlines()


@pytest.mark.parametrize("thread", [False, True])
def test_a_reader_sends_frames_and_ends_when_its_input_is_closed(thread: bool, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.25}\n')
    assert started(tmp_path, thread) == [f"9 {thread}", "0"]


@pytest.mark.parametrize("thread", [False, True])
def test_a_reader_that_fails_leaves_its_error(thread: bool, tmp_path: Path) -> None:
    (line,) = started(tmp_path, thread, ("(",))
    assert line.startswith("1 ")
    assert "Error" in line


def test_the_reader_of_a_dashboard_has_its_own_session_and_descriptors(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.25}\n')
    with Terminal([*TUIMON, str(tmp_path)]) as terminal:
        terminal.until(lambda output: b"loss" in output)
        screen = psutil.Process(terminal.process.pid)
        (reader,) = screen.children()
        assert reader.cmdline() == screen.cmdline()
        assert os.getsid(reader.pid) == reader.pid
        assert not [file.path for file in reader.open_files() if "/dev/pts/" in file.path]
