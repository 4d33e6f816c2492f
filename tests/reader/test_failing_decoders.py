"""A decoder that raises ends the reading of one log: its points up to there are shown, and the other logs go on."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.event_reading import read_all
from support.live import Live, all_read, curve
from support.loud import CONTAINED
from support.mirrored import Mirrored
from support.terminal import TUIMON

from tuimon import registry
from tuimon.errors import ExitCode
from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.json.lines import MetricLines
from tuimon.formats.mlflow.database import MLflowDecoder
from tuimon.monitor.local import LocalMonitor
from tuimon.reader import Collector
from tuimon.remote.tree import mode_of

POISON = b'{"step": 1000, "poison": 1}\n'
TEXT = b"step 1 loss 0.5\nstep 2 loss 0.25\n"
REASON = "jsonl failed: KeyError: 'poison' (test_failing_decoders.py, line "
FAILING = """
import tuimon.formats.json.lines as lines
feed = lines.MetricLines.feed
def fail(self, data):
    if b"poison" in data:
        raise KeyError("poison")
    return feed(self, data)
lines.MetricLines.feed = fail
"""
"""Imported at the start of a process: its decoder of JSON lines raises."""


def rows(begin: int, end: int) -> bytes:
    return b"".join(b'{"step": %d, "loss": %d.5}\n' % (step, step % 7) for step in range(begin, end))


def points(begin: int, end: int) -> list[tuple[int, float]]:
    return [(step, step % 7 + 0.5) for step in range(begin, end)]


def held(monitor: LocalMonitor, run: str) -> list[int]:
    """Return the steps of the loss of a run."""
    [found] = [found for found in monitor.snapshot().runs if found.name == run]
    return found.curve("loss").steps.tolist() if found.point_count else []


def broken(*_: object) -> Any:
    raise ValueError("broken")


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in ("bad", "good"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "metrics.jsonl").write_bytes(rows(0, 5))
    return tmp_path / "logs"


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder of JSON lines that raises, and a program that is not a test of it."""
    feed = MetricLines.feed

    def fail(self: MetricLines, data: bytes) -> Any:
        if b"poison" in data:
            raise KeyError("poison")
        return feed(self, data)

    monkeypatch.setattr(MetricLines, "feed", fail)
    monkeypatch.setattr(registry, "_failure_of", CONTAINED)


@pytest.mark.usefixtures("failing")
def test_a_log_fails_alone_while_it_grows(logs: Path) -> None:
    monitor = LocalMonitor([logs])
    monitor.update()
    append(logs / "bad" / "metrics.jsonl", POISON)
    append(logs / "good" / "metrics.jsonl", rows(5, 8))
    monitor.update()
    append(logs / "bad" / "metrics.jsonl", rows(5, 9))
    append(logs / "good" / "metrics.jsonl", rows(8, 9))
    monitor.update()
    assert held(monitor, "good") == list(range(9))
    assert held(monitor, "bad") == list(range(5))
    [problem] = monitor.collector.problems
    assert problem.path == str(logs / "bad" / "metrics.jsonl")
    assert problem.reason.startswith(REASON)
    assert "report it" in problem.hint
    [status] = [
        stream.status
        for run in monitor.snapshot().runs
        for stream in run.streams
        if stream.status and stream.status.state == "unreadable"
    ]
    size = len(rows(0, 5) + POISON + rows(5, 9))
    assert (status.read, status.size) == (len(rows(0, 5)), size)
    assert monitor.collector.partly_unreadable
    [notice] = [notice for notice in monitor.snapshot().notices if "poison" in notice.message]
    assert notice.hint == problem.hint


@pytest.mark.usefixtures("failing")
def test_all_rows_in_front_are_shown_at_the_start(logs: Path) -> None:
    """The rows in front of the failure are in the same block of bytes."""
    (logs / "bad" / "metrics.jsonl").write_bytes(rows(0, 900) + POISON + rows(1001, 1200))
    monitor = LocalMonitor([logs])
    monitor.update()
    shown = held(monitor, "bad")
    assert shown == list(range(len(shown)))
    assert 896 <= len(shown) <= 900, "the failure is found to within 64 bytes"
    assert held(monitor, "good") == list(range(5))
    assert len(monitor.collector.problems) == 1


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_no_memory_and_ctrl_c_are_not_the_failure_of_a_log(
    error: type[BaseException], logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: MetricLines, data: bytes) -> Any:
        raise error

    monitor = LocalMonitor([logs])
    monkeypatch.setattr(MetricLines, "feed", fail)
    with pytest.raises(error):
        monitor.update()


def test_a_failure_is_a_failed_test_elsewhere(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MetricLines, "flush", lambda self: {}["x"])
    with pytest.raises(KeyError):
        read_all(Collector([str(logs)]))


@pytest.mark.parametrize("name", ["flush", "unread"])
def test_each_method_may_raise(name: str, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (logs / "good" / "metrics.jsonl").unlink()
    (logs / "good" / "train.log").write_bytes(TEXT)
    monkeypatch.setattr(registry, "_failure_of", CONTAINED)
    monkeypatch.setattr(MetricLines, name, property(broken) if name == "unread" else broken)
    monitor = LocalMonitor([logs])
    monitor.update()
    assert [problem.path for problem in monitor.collector.problems] == [str(logs / "bad" / "metrics.jsonl")]
    assert held(monitor, "bad") == list(range(5))
    assert held(monitor, "good") == [1, 2]


def test_a_file_whose_format_cannot_be_told_fails_alone(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (logs / "notes.txt").write_bytes(TEXT)
    monkeypatch.setattr(registry, "_failure_of", CONTAINED)
    monkeypatch.setattr(ConsoleDecoder, "has_row", broken)
    monitor = LocalMonitor([logs])
    monitor.update()
    assert held(monitor, "good") == list(range(5))
    [problem] = monitor.collector.problems
    assert problem.path == str(logs / "notes.txt")
    assert problem.reason.startswith("console failed: ValueError: broken (test_failing")
    assert monitor.collector.partly_unreadable
    assert mode_of("/x/notes.txt", TEXT) == "whole", "a mirror has it, so that it is named"


def test_a_database_fails_alone(logs: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (logs / "mlflow.db").write_bytes(gzip.decompress((data / "mlflow" / "mlflow.db.gz").read_bytes()))
    monkeypatch.setattr(registry, "_failure_of", CONTAINED)
    monkeypatch.setattr(MLflowDecoder, "read", broken)
    monitor = LocalMonitor([logs])
    monitor.update()
    monitor.update()
    assert held(monitor, "good") == list(range(5))
    assert [(path, reason) for path, reason in monitor.collector.skipped if "ValueError: broken" in reason]
    assert [notice for notice in monitor.snapshot().notices if "ValueError: broken" in notice.message]


@pytest.fixture
def failing_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of tuimon whose decoder of JSON lines raises."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(FAILING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("COLD_START", "1")


@pytest.mark.usefixtures("failing_everywhere")
def test_the_reader_process_survives(logs: Path) -> None:
    bad, good = logs / "bad" / "metrics.jsonl", logs / "good" / "metrics.jsonl"
    with Live(logs) as live:
        live.until(all_read)
        reader = live.monitor.process_id
        append(bad, POISON)
        append(good, rows(5, 8))
        names = {run.name: number for number, run in enumerate(live.snapshot.runs)}
        live.until_points("loss", points(0, 8), names["good"])
        live.until(lambda snapshot: any("poison" in notice.message for notice in snapshot.notices))
        append(good, rows(8, 9))
        live.until_points("loss", points(0, 9), names["good"])
        assert curve(live.snapshot, "loss", names["bad"]) == [(step, repr(value)) for step, value in points(0, 5)]
        assert live.monitor.process_id == reader


@pytest.mark.usefixtures("failing_everywhere")
def test_check_names_the_log(logs: Path) -> None:
    append(logs / "bad" / "metrics.jsonl", POISON)
    done = subprocess.run([*TUIMON, "check", "--strict", str(logs)], capture_output=True, text=True, timeout=100)
    assert done.returncode == ExitCode.PARTLY_READ
    assert f"{logs / 'bad' / 'metrics.jsonl'}: jsonl failed: KeyError: 'poison' (sitecustomize.py, line " in done.stderr


@pytest.mark.usefixtures("failing_everywhere")
def test_check_names_a_pipe(tmp_path: Path) -> None:
    text = (rows(0, 5) + POISON).decode()
    done = subprocess.run([*TUIMON, "check", "-"], input=text, capture_output=True, text=True, timeout=100)
    assert "standard input: jsonl failed: KeyError: 'poison'" in done.stderr
    assert str(tmp_path) not in done.stderr


@pytest.mark.usefixtures("failing")
def test_a_mirror_is_like_a_directory(logs: Path, tmp_path: Path) -> None:
    append(logs / "bad" / "metrics.jsonl", POISON)
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        monitor = LocalMonitor([mirrored.keeper.path])
        monitor.update()
        append(logs / "good" / "metrics.jsonl", rows(5, 8))
        mirrored.until_same("good/metrics.jsonl")
        monitor.update()
    assert held(monitor, "bad") == list(range(5))
    assert held(monitor, "good") == list(range(8))
    [problem] = monitor.collector.problems
    assert problem.reason.startswith(REASON)
