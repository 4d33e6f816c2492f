"""The state of a mirrored run is that of the run on the host: who writes it there, and what was replaced when."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.mirrored import Mirrored, until

from tuimon.analysis.progress_inputs import progress_of
from tuimon.monitor.local import LocalMonitor
from tuimon.remote import writers
from tuimon.remote.mirror import Mirror
from tuimon.remote.targets import parse
from tuimon.sources.mirror_notes import FileNote, key, load

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

_HOLD = """
import sys
open("/proc/self/comm", "w", encoding="utf-8").write("entraîneur")
file = open(sys.argv[1], "ab")
print("ready", flush=True)
sys.stdin.read()
"""
_SHORT = 20


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("TUIMON_MIRROR", str(path))
    return path


def write(path: Path, steps: int, age: float = 900.0, loss: float = 1.0) -> None:
    """Write a log. age: seconds since its last point."""
    path.parent.mkdir(parents=True, exist_ok=True)
    last = time.time() - age
    rows = ({"step": n, "timestamp": last - 20 * (steps - n), "loss": loss / n} for n in range(1, steps + 1))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path, (last, last))


def states(monitor: LocalMonitor) -> dict[str, tuple[str, str]]:
    """Return state and evidence of each run, by name."""
    monitor.update()
    reports = {run.name: progress_of(run, time.time()) for run in monitor.snapshot().runs}
    return {name: (report.state, report.evidence) for name, report in reports.items()}


def test_processes_of_the_host_decide_whether_a_silent_run_has_ended(tmp_path: Path, cache: Path) -> None:
    logs = tmp_path / "logs"
    write(logs / "ended" / "metrics.jsonl", 50, age=7200.0)
    write(logs / "hung" / "metrics.jsonl", 60)
    rows = "".join(f'{{"step": {step}, "loss": 1.0}}\n' for step in range(1, 70))
    (logs / "copied").mkdir()
    (logs / "copied" / "metrics.jsonl").write_text(rows)
    command = [sys.executable, "-c", _HOLD, str(logs / "hung" / "metrics.jsonl")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        with Mirrored(logs, cache) as mirrored:
            mirrored.until_complete()
            monitor = LocalMonitor([mirrored.keeper.path])
            found = states(monitor)
            assert found["ended"][0] == "ended"
            assert found["copied"] == states(LocalMonitor([logs]))["copied"]
            assert found["hung"][0] == "quiet"
            assert f"entraîneur (pid {holder.pid}) has the log open" in found["hung"][1]
            holder.kill()
            until(lambda: "has the log open" not in states(monitor)["hung"][1], "the writer that was killed is noticed")


def test_process_that_held_a_log_at_an_earlier_start_is_not_reported(tmp_path: Path, cache: Path) -> None:
    write(tmp_path / "log", 50, age=7200.0)
    modified = os.stat(tmp_path / "log").st_mtime
    target = parse("gpu01:logs", lambda path: False)[0]
    first = Mirror(target)
    assert first.lock()
    path, deleted = first.path(["metrics.jsonl"]), first.path(["deleted.jsonl"])
    first.append(path, 0, (tmp_path / "log").read_bytes(), modified)
    for name in (path, deleted):
        first.note(name, writer="open", process="python (pid 4711)", again=True, renewed=True)
    first.save_notes()
    now = [time.time()]
    watching = LocalMonitor([path])
    watching.collector.use_clock(lambda: now[0])

    def state(monitor: LocalMonitor) -> str:
        for _ in range(4):
            now[0] += 1
            found = states(monitor)
        return found.popitem()[1][0]

    assert state(watching) == "quiet"
    first.close()
    second = Mirror(target)
    assert second.lock()
    assert load(second.base) == {key(path): FileNote(renewed=True)}
    assert state(LocalMonitor([path])) == "ended"
    assert state(watching) == "quiet"  # until the host reports the writer
    second.note(path, writer="closed", modified=modified)
    second.save_notes()
    assert state(watching) == "ended"
    second.close()


def test_silence_is_no_alarm_if_the_writer_is_not_known(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a network file system the processes of the host do not show those of the machine that writes the log."""
    write(tmp_path / "run" / "metrics.jsonl", 50)
    device = (tmp_path / "run" / "metrics.jsonl").stat().st_dev
    mounts = b"36 35 0:44 / /data rw shared:1 - nfs4 fs:/x rw\n25 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    assert writers.networks_in(mounts) == {os.makedev(0, 44)}
    monkeypatch.setattr(writers, "networks_in", lambda answer: frozenset({device}))
    with Mirrored(tmp_path / "run", cache) as mirrored:
        mirrored.until_complete()
        ((state, evidence),) = states(LocalMonitor([mirrored.keeper.path])).values()
    assert state == "quiet"
    assert evidence == "last point 15 m ago, usually every 20 s"


def test_log_that_was_replaced_between_two_starts_has_no_superseded_points(tmp_path: Path, cache: Path) -> None:
    log = tmp_path / "run" / "metrics.jsonl"
    write(log, 50, age=60.0)
    settings = log.parent / "config.yaml"
    settings.write_text("lr: 1\n")
    with Mirrored(log.parent, cache) as mirrored:
        mirrored.until_complete()
    write(log, _SHORT, 60.0, loss=2.0)
    os.utime(settings, (1e9, 1e9))
    second = Mirrored(log.parent, cache)
    monitor = LocalMonitor([second.keeper.path])
    monitor.update()  # what was copied before is shown at once
    assert monitor.snapshot().runs[0].point_count == 50
    with second:
        second.until_complete()
        assert (second.here / "config.yaml").stat().st_mtime == 1e9
        monitor.update()
        (run,) = monitor.snapshot().runs
        assert (run.point_count, run.curve("loss").superseded) == (_SHORT, 0)
        assert not monitor.snapshot().notices
        write(log, 10, 60.0, loss=3.0)  # while it is watched, the earlier attempt is kept
        second.until_same("metrics.jsonl")
        monitor.update()
        assert monitor.snapshot().runs[0].point_count == _SHORT + 10
