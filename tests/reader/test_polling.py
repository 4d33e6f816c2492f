"""PollSchedule: intervals at which logs are polled, whatever the clock says."""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.event_reading import read_all

from tuimon.model.events import Columns
from tuimon.monitor.local import LocalMonitor
from tuimon.reader import Collector
from tuimon.reader.polling import MANY, QUIET, QUIET_EVERY, STILL, STILL_EVERY, PollSchedule


@dataclass(eq=False)
class _Log:
    modified: float
    remaining: int = 0


@given(st.integers(0, 30), st.integers(1, 150), st.floats(0, 1e6) | st.just(math.nan))
def test_every_log_is_polled_at_its_interval(before: int, logs: int, age: float) -> None:
    every: list[_Log] = [_Log(-age) for _ in range(logs)]
    schedule: PollSchedule[_Log] = PollSchedule()
    for _ in range(before + 1):  # the first is one for all
        schedule.next(every, 0.0)
    polls = Counter(log for _ in range(QUIET_EVERY * STILL_EVERY) for log in schedule.next(every, 0.0))
    assert list(polls.values()) == [3 if age > QUIET else 9 if age > STILL and logs > MANY else 27] * logs


def test_new_and_growing_logs_are_polled_in_every_round() -> None:
    logs = [_Log(-30.0) for _ in range(300)]
    schedule: PollSchedule[_Log] = PollSchedule()
    assert schedule.next(logs, 0.0) == logs
    logs.append(_Log(-30.0))
    for number in range(9):
        logs[7].modified = number
        chosen = schedule.next(logs, float(number))
        assert (logs[-1] in chosen) == ((number + 2) % STILL_EVERY == 300 % STILL_EVERY or number == 0)
        assert number < STILL_EVERY or logs[7] in chosen
        assert len(chosen) <= 102


def test_logs_with_unread_bytes_are_polled_in_every_round() -> None:
    logs = [_Log(-1e6, remaining=5) for _ in range(300)]
    schedule: PollSchedule[_Log] = PollSchedule()
    assert all(len(schedule.next(logs, 0.0)) == 300 for _ in range(5))


@pytest.mark.parametrize("age", [0.0, STILL + 5, QUIET + 5])
def test_growth_without_events_is_noticed_within_ten_rounds(tmp_path: Path, age: float) -> None:
    """Sixty logs of any age; a row is appended to each, and no event reports it."""
    then = time.time() - age
    paths = [tmp_path / f"run{number}" / "metrics.jsonl" for number in range(60)]
    for path in paths:
        path.parent.mkdir()
        path.write_text('{"step": 0, "loss": 1.0}\n')
        os.utime(path, (then, then))
    collector = Collector([str(tmp_path)])
    read_all(collector)
    for path in paths:
        with path.open("a") as file:
            file.write('{"step": 1, "loss": 0.5}\n')
        os.utime(path, (then, then))
    columns = [event for _ in range(10) for event in collector.read() if isinstance(event, Columns)]
    assert sorted(event.stream for event in columns) == list(range(60))
    assert all(event.steps.tolist() == [1] for event in columns)


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
