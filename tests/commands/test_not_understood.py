"""Files that are complete and give no point, in the commands that say so, and files that may still give one."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from support.programs import run

from tuimon.analysis.progress_inputs import not_understood, progress_of
from tuimon.monitor.local import LocalMonitor, open_run

_TEXT = "loading the corpus\nwarming up\nthe moon is 4 days old\n"


def console(path: Path, age: float) -> Path:
    """Write a console log without a metric that was last changed `age` seconds ago."""
    path.mkdir(exist_ok=True)
    log = path / "train.log"
    log.write_text(_TEXT)
    os.utime(log, (time.time() - age,) * 2)
    return log


def test_commands_name_the_file_and_what_would_be_understood(tmp_path: Path) -> None:
    path = str(console(tmp_path / "run", 900))
    for command in ("summary", "doctor"):
        done = run(command, path, "--strict", expect=5)
        assert ": train.log: no metric in it; lines such as" in done.stdout
        run(command, path)
    done = run("check", path, expect=3)
    assert "nothing to check: train.log: no metric in it" in done.stderr
    assert "tuimon doctor" in done.stderr
    document = json.loads(run("summary", path, "--json").stdout)
    assert document["runs"][0]["state"] == "unknown"


@pytest.mark.parametrize("text", ["", _TEXT])
def test_empty_and_growing_logs_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("tuimon.reader.writer_watch.is_copy", lambda *args: False)
    log = tmp_path / "train.log"
    log.write_text(text)
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    now = time.time()
    assert not_understood(monitor.snapshot(), now) == {}
    assert [progress_of(only, now).reason for only in monitor.snapshot().runs] == ["no point"] * bool(text)
    assert run("check", str(tmp_path), expect=3).stdout.startswith("no active alerts") is bool(text)


@pytest.mark.parametrize(
    ("end", "age", "state", "code"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n", 900, "crashed", 4),
        ("Training complete.\n", 10, "unknown", 3),
    ],
)
def test_the_end_of_a_log_without_a_point(tmp_path: Path, end: str, age: float, state: str, code: int) -> None:
    log = console(tmp_path / "run", age)
    with log.open("a") as file:
        file.write(end)
    assert [progress_of(found, time.time()).state for found in open_run(log).runs] == [state]
    run("check", str(log), expect=code)


def test_text_beside_a_log_with_points_is_no_problem(tmp_path: Path) -> None:
    console(tmp_path, 900)
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.4}\n')
    run("summary", str(tmp_path), "--strict")
    run("check", str(tmp_path), "--strict")
