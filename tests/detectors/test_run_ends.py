"""Runs that have ended, hang or were killed: logs on this disk, written by real processes."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.event_points import event, records, scalar, version
from support.programs import run

from tuimon.analysis.progress import ProgressReport
from tuimon.analysis.progress_inputs import progress_of
from tuimon.model.alerts import Alert
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.sources import copies, filesystem
from tuimon.sources.writers import writers

TRACKIO = Path(__file__).parent.parent / "data" / "trackio" / "tiny-rl.db.gz"
AGES = (150, 1200, 10800)
PACE = 0.5
Hold = Callable[..., "subprocess.Popen[str]"]
_HOLD = "import sys, time; f = open(sys.argv[1], sys.argv[2]); print('ready', flush=True); time.sleep(600)"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def hold() -> Iterator[Hold]:
    """Return a function that starts a process which holds a file open until the test ends."""
    processes: list[subprocess.Popen[str]] = []

    def start(path: Path, mode: str = "ab") -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", _HOLD, str(path), mode], stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def event_file(directory: Path, age: float, steps: int = 60) -> Path:
    """Write an event file whose last point was logged `age` seconds ago."""
    now = time.time()
    messages = (
        event(step, scalar("train/loss", 1 / step), wall=now - age - (steps - step) * PACE)
        for step in range(1, steps + 1)
    )
    directory.mkdir()
    path = directory / f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}.0"
    path.write_bytes(b"".join(records([version(), *messages])))
    os.utime(path, (now - age, now - age))
    return path


def rows_of(directory: Path, age: float, steps: int = 50, timed: bool = True) -> Path:
    """Write a log with a row for each step, the last one `age` seconds ago."""
    directory.mkdir(exist_ok=True)
    now = time.time()
    path = directory / "metrics.jsonl"
    with path.open("w") as file:
        for step in range(1, steps + 1):
            times = {"timestamp": now - age - (steps - step) * PACE} if timed else {}
            file.write(json.dumps({"step": step, "loss": 1 / step, **times}) + "\n")
    os.utime(path, (now - age, now - age))
    return path


def configure(directory: Path, total: int, age: float) -> None:
    """Write a config with the total number of steps, older than the log."""
    config = directory / "config.yaml"
    config.write_text(f"max_steps: {total}\n")
    os.utime(config, (time.time() - age - 60,) * 2)


def outcome(path: Path) -> tuple[ProgressReport, list[Alert]]:
    """Return the progress of the run at `path` now, and its liveness alerts."""
    monitor = LocalMonitor([path])
    monitor.update()
    snapshot = monitor.snapshot()
    (only,) = snapshot.runs
    return progress_of(only, time.time()), [alert for alert in snapshot.alerts if alert.rule == "liveness"]


@pytest.mark.parametrize(
    ("age", "mode", "state", "reason", "count"),
    [
        *((age, "", "ended", "closed", 0) for age in AGES),
        *((age, "ab", "quiet", "open", 1) for age in AGES),
        (150, "rb", "ended", "closed", 0),  # a viewer that reads the log is no writer
    ],
)
def test_event_file_that_a_process_holds_open(
    tmp_path: Path, age: float, mode: str, state: str, reason: str, count: int, hold: Hold
) -> None:
    path = event_file(tmp_path / "run", age)
    process = hold(path, mode) if mode else None
    progress, alerts = outcome(tmp_path / "run")
    assert (progress.state, progress.reason, len(alerts)) == (state, reason, count)
    assert all(process is not None and f"(pid {process.pid}) has the log open" in alert.message for alert in alerts)


def test_process_that_is_killed_ends_the_stall(tmp_path: Path, hold: Hold) -> None:
    process = hold(event_file(tmp_path / "run", 1200))
    configure(tmp_path / "run", 100, 1200)
    assert outcome(tmp_path / "run")[0].state == "quiet"
    process.kill()
    process.wait()
    progress, alerts = outcome(tmp_path / "run")
    assert (progress.state, progress.is_early) == ("ended", True)
    assert "ended early" in alerts[0].message
    assert "step 60 of 100" in alerts[0].message
    assert run("check", str(tmp_path / "run"), expect=4).stdout.startswith("warning")


@pytest.mark.parametrize(
    ("total", "age", "state", "has_died", "severities"),
    [
        (50, 150, "finished", False, []),
        (51, 10800, "ended", False, []),
        (60, 10800, "ended", True, ["warning"]),
        (60, 150, "quiet", False, ["warning"]),
        (100, 10800, "ended", True, ["warning"]),
        (100, 90000, "ended", True, ["info"]),  # a stop is a warning for a day
    ],
)
def test_total_decides_how_a_run_has_ended(
    tmp_path: Path, total: int, age: float, state: str, has_died: bool, severities: list[str]
) -> None:
    """A writer may open such a log for each line: that no process has it open shows nothing."""
    rows_of(tmp_path / "run", age)
    configure(tmp_path / "run", total, age)
    progress, found = outcome(tmp_path / "run")
    assert (progress.state, progress.has_died) == (state, has_died)
    assert [alert.severity for alert in found] == severities


def test_console_of_a_living_process_is_a_sign_of_life(tmp_path: Path, hold: Hold) -> None:
    rows_of(tmp_path / "run", 150)
    console = tmp_path / "run" / "train.log"
    console.write_text("starting\n")
    os.utime(console, (time.time() - 150,) * 2)
    hold(console)
    assert outcome(tmp_path / "run")[0].state == "quiet"


@pytest.mark.parametrize(("status", "state"), [("1", "ended"), ("3", "finished")])
def test_mlflow_run_without_an_end_has_ended(tmp_path: Path, status: str, state: str) -> None:
    directory = tmp_path / "mlruns" / "0" / ("ab" * 16)
    (directory / "metrics").mkdir(parents=True)
    now, age = time.time(), 10800
    end = "end_time: null" if status == "1" else f"end_time: {int((now - age) * 1000)}"
    (directory / "meta.yaml").write_text(f"run_id: {'ab' * 16}\nrun_name: a\nstatus: {status}\n{end}\n")
    loss = directory / "metrics" / "loss"
    loss.write_text("".join(f"{int((now - age - 30 + step / 2) * 1000)} {1 / step} {step}\n" for step in range(1, 61)))
    for path in (directory / "meta.yaml", loss):
        os.utime(path, (now - age, now - age))
    progress, alerts = outcome(directory)
    assert (progress.state, alerts) == (state, []), progress.evidence


def test_nothing_is_concluded_on_a_network_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem.Mounts, "is_remote", lambda self, directory: True)
    event_file(tmp_path / "run", 150)
    assert outcome(tmp_path / "run")[0].state == "quiet"


def test_writer_is_unknown_if_no_process_can_be_inspected(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    assert writers([str(path)], proc=str(tmp_path / "proc"))[str(path)].state == "unknown"
    assert writers([str(path)])[str(path)].state == "closed"
    assert writers([str(tmp_path / "none")]) == {}


def test_writer_of_a_file_with_another_name_is_found(tmp_path: Path, hold: Hold) -> None:
    (tmp_path / "other").mkdir()
    target, link = tmp_path / "log", tmp_path / "link"
    link.symlink_to(target)
    process = hold(target)
    hold(tmp_path / "other" / "log")
    assert writers([str(link)])[str(link)].process.endswith(f"(pid {process.pid})")


def test_copy_without_times_is_not_running(tmp_path: Path, hold: Hold) -> None:
    path = rows_of(tmp_path / "run", 0, timed=False)
    assert copies.is_copy(str(path), appended=True) is True
    progress, alerts = outcome(tmp_path / "run")
    assert (progress.state, progress.reason, alerts) == ("unknown", "no times", [])
    hold(path)
    assert outcome(tmp_path / "run")[0].state == "running"


def test_log_that_has_grown_for_a_while_is_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rows_of(tmp_path / "run", 0, timed=False)
    monkeypatch.setattr(copies, "birth_time", lambda path, status: status.st_mtime - 60)
    assert copies.is_copy(str(path), appended=True) is False
    assert outcome(tmp_path / "run")[0].state == "running"


def test_a_document_that_was_copied_with_its_directory_is_not_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"epoch": epoch, "loss": 1 / epoch} for epoch in range(1, 20)]
    history = tmp_path / "run" / "training_history.json"
    history.parent.mkdir()
    history.write_text(json.dumps(rows))
    progress, _ = outcome(history.parent)
    assert (progress.state, progress.reason) == ("unknown", "no times")
    births = {str(history.parent): -60.0}  # the directory of a training that goes on exists for a while
    monkeypatch.setattr(copies, "birth_time", lambda path, status: status.st_mtime + births.get(path, 0.0))
    assert outcome(history.parent)[0].state == "running"
    births.clear()
    assert copies.is_copy(str(history), appended=False) is True
    assert copies.is_copy(str(history), appended=False, in_checkpoint=True) is False


def test_run_in_a_database_that_no_process_holds_open_has_ended(tmp_path: Path) -> None:
    database = tmp_path / "trackio" / "tiny-rl.db"
    database.parent.mkdir()
    with gzip.open(TRACKIO) as packed, database.open("wb") as file:
        shutil.copyfileobj(packed, file)
    os.utime(database, (time.time() - 86_400,) * 2)
    assert {progress_of(own, time.time()).state for own in open_run(database).runs} == {"ended"}


def test_bars_after_the_last_row_do_not_resume_a_cancelled_run(tmp_path: Path) -> None:
    """The time of the fatal line is that of the scheduler, and the file was changed later, as by a copy."""
    log = tmp_path / "slurm-7.out"
    bars = [f"\r {step}%|#    | {step}/100 [00:{step:02}<01:00,  1.00it/s]" for step in range(1, 58)]
    rows = {
        step: f"\n{{'loss': {1 / step:.4f}, 'learning_rate': 1e-05, 'epoch': {step / 100}}}\n"
        for step in range(10, 60, 10)
    }
    text = "".join(bar + rows.get(step, "") for step, bar in enumerate(bars, 1))
    log.write_text(
        f"{text}\nslurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-20T21:10:00 DUE TO TIME LIMIT ***\n"
    )
    os.utime(log, (time.time() - 600,) * 2)
    run = open_run(str(tmp_path)).runs[0]
    progress = progress_of(run, time.time())
    assert (progress.state, progress.cause, progress.step) == ("crashed", "time limit reached", 57)
