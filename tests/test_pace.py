"""How often logs are looked at that do not grow."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from pathlib import Path

import pytest
from event_reading import everything
from hypothesis import given
from hypothesis import strategies as st

from tuimon.model.events import Columns
from tuimon.reader import Collector
from tuimon.reader.pace import MANY, QUIET, STILL, is_due


@given(st.integers(0, 10**6), st.integers(-1, 5000), st.floats(0, 1e6) | st.just(math.nan), st.integers(1, 5000))
def test_every_log_has_its_turn(turn: int, stream: int, age: float, logs: int) -> None:
    looks = sum(is_due(turn + number, stream, age, logs) for number in range(30))
    assert looks == (3 if age > QUIET else 10 if age > STILL and logs > MANY else 30)


def test_the_looks_are_spread_over_the_rounds() -> None:
    looks = Counter(turn for turn in range(3) for stream in range(300) if is_due(turn, stream, STILL + 1, 300))
    assert looks == {0: 100, 1: 100, 2: 100}


@pytest.mark.parametrize("age", [0.0, STILL + 5, QUIET + 5])
def test_no_growth_is_missed_for_long(tmp_path: Path, age: float) -> None:
    """Sixty logs of any age, each of which gets a row while nobody tells of it."""
    then = time.time() - age
    paths = [tmp_path / f"run{number}" / "metrics.jsonl" for number in range(60)]
    for path in paths:
        path.parent.mkdir()
        path.write_text('{"step": 0, "loss": 1.0}\n')
        os.utime(path, (then, then))
    collector = Collector([str(tmp_path)])
    everything(collector)
    for path in paths:
        with path.open("a") as file:
            file.write('{"step": 1, "loss": 0.5}\n')
        os.utime(path, (then, then))
    found = [event for _ in range(10) for event in collector.read() if isinstance(event, Columns)]
    assert sorted(event.stream for event in found) == list(range(60))
    assert all(event.steps.tolist() == [1] for event in found)
