"""Progress bars that are drawn without a pause while the log is followed."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from support.event_reading import read_all

from tuimon.model.events import Columns
from tuimon.reader import Collector, process
from tuimon.sources.watch import Hints, Watcher


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
