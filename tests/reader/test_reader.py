"""The reader: from files to events."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
from support.event_points import event as event_message
from support.event_points import image, records, scalar
from support.event_reading import read_all

from tuimon.model.events import Columns, Event
from tuimon.monitor.local import LocalMonitor
from tuimon.reader import Collector, process
from tuimon.sources.watch import Hints, Watcher


def lines(*steps: int) -> str:
    return "".join(json.dumps({"step": step, "loss": 1 / (step + 1)}) + "\n" for step in steps)


def steps(events: list[Event]) -> list[int]:
    return [int(step) for event in events if isinstance(event, Columns) for step in event.steps]


def test_the_newest_log_is_read_first(tmp_path: Path) -> None:
    for number in range(9):
        path = tmp_path / f"run{number}" / "metrics.jsonl"
        path.parent.mkdir()
        path.write_text(lines(number))
        os.utime(path, (1.7e9 + number * 4 % 9, 1.7e9 + number * 4 % 9))
    assert steps(read_all(Collector([str(tmp_path)]))) == sorted(range(9), key=lambda number: -(number * 4 % 9))


def test_records_before_an_incomplete_payload_are_read(tmp_path: Path) -> None:
    few = records([event_message(step, scalar("a", step)) for step in range(6)])
    large = records([event_message(9, image("i", 500_000))])[0]
    data = b"".join([few[0], large, few[1], large, few[2], few[3], large, few[4]])
    inside = len(data) - len(few[4]) - 200_000
    path = tmp_path / "events.out.tfevents.1795226051.host"
    path.write_bytes(data[:inside])
    collector = Collector([str(tmp_path)])
    assert steps(read_all(collector)) == [0, 1, 2, 3]
    with path.open("ab") as file:
        file.write(data[inside:])
    assert steps(read_all(collector)) == [4]
    with path.open("ab") as file:
        file.write(few[5])
    assert steps(read_all(collector)) == [5]


def test_a_restarted_training_that_overwrites_an_old_state_supersedes(
    tmp_path: Path,
) -> None:
    monitor = LocalMonitor([tmp_path])

    def write(number: int, hour: int, loss: float, seen: bool = True) -> None:
        directory = tmp_path / f"checkpoint-{number}"
        directory.mkdir(exist_ok=True)
        state = directory / "new.json"
        rows = [{"step": step, "loss": loss} for step in range(10, number + 1, 10)]
        state.write_text(json.dumps({"global_step": number, "log_history": rows}))
        os.utime(state, (1.7e9 + 3600 * hour,) * 2)
        state.rename(directory / "trainer_state.json")
        if seen:
            monitor.update()

    for hour, number in enumerate((10, 20, 30)):
        write(number, hour, 1.0)
    write(10, 4, 2.0)
    assert monitor.snapshot().runs[0].curve("loss").values.tolist() == [2.0]
    write(20, 5, 2.0)
    assert monitor.snapshot().runs[0].curve("loss").values.tolist() == [2.0, 2.0]
    write(10, 6, 3.0, seen=False)  # two saves between two looks, the later one over what is being followed
    write(20, 7, 3.0)
    monitor.update()
    assert monitor.snapshot().runs[0].curve("loss").values.tolist() == [3.0, 3.0]


# ---------------------------------------------------------------------- bars that are drawn without a pause


def draw(log: Path, *counts: int) -> None:
    with log.open("a") as file:
        file.writelines(f"\rtrain: {n}%|##  | {n}/100 [00:0{n}<01:00, 1.00it/s, loss=0.{n}]" for n in counts)


def test_a_bar_is_read_while_it_grows(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    draw(log, 1, 2)
    collector = Collector([str(tmp_path)])
    list(collector.find())
    read_all(collector)
    draw(log, 3, 4, 5)
    [points] = [event for event in collector.read() if isinstance(event, Columns)]
    assert points.steps.tolist() == [3], "the newest count, and the bar that may still grow, come with a flush"
    [points] = [event for event in collector.flush() if isinstance(event, Columns)]
    assert points.steps.tolist() == [4, 5]


class _Events(Watcher):
    """Reports one change of a file, as inotify does."""

    def __init__(self, log: Path, stop: threading.Event) -> None:
        super().__init__(poll=True)
        self.log, self.stop, self.drawn_at = log, stop, 0.0

    def wait(self, timeout: float | None = None) -> Hints:
        if self.drawn_at:
            self.stop.set()
            return Hints(frozenset(), structure_changed=False)
        draw(self.log, 3)
        self.drawn_at = time.monotonic()
        return Hints(frozenset({str(self.log)}), structure_changed=False)


@pytest.mark.usefixtures("capfdbinary")
def test_a_change_that_an_event_reports_is_growth(tmp_path: Path) -> None:
    """Otherwise last records are not decoded in the pause after it."""
    log, stop = tmp_path / "train.log", threading.Event()
    draw(log, 1, 2)
    watcher = _Events(log, stop)
    session = process._Session(Collector([str(tmp_path)]), watcher, 1.0)
    session.run(stop)
    watcher.close()
    assert session._last_growth >= watcher.drawn_at
