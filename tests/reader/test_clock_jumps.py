"""A clock that is set forward or back by hours while a log is followed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tuimon.monitor.local import LocalMonitor
from tuimon.reader.polling import QUIET_EVERY


@pytest.mark.parametrize("shift", [7200.0, -7200.0])
def test_no_point_is_lost_or_duplicated_when_the_clock_jumps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shift: float
) -> None:
    """The clock jumps by `shift` seconds after a third of the points, and back after two thirds."""
    path, real = tmp_path / "metrics.jsonl", time.time
    monitor = LocalMonitor([tmp_path])
    for part, offset in enumerate((0.0, shift, 0.0)):
        monkeypatch.setattr(time, "time", lambda offset=offset: real() + offset)
        with path.open("a") as file:
            for step in range(10 * part, 10 * part + 10):
                file.write(json.dumps({"step": step, "loss": step / 2, "time": time.time()}) + "\n")
        os.utime(path, (time.time(), time.time()))
        for _ in range(QUIET_EVERY):  # a log that seems to be old is polled less often
            monitor.update()
    [run] = monitor.snapshot().runs
    curve = run.curve("loss")
    assert curve.steps.tolist() == list(range(30))
    assert curve.values.tolist() == [step / 2 for step in range(30)]
