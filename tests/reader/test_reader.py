"""The reader: from files to events, in this process and as a separate process."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.event_points import event as event_message
from support.event_points import image, records, scalar
from support.event_reading import read_all

from tuimon.errors import NothingFound
from tuimon.model.events import (
    CheckpointsFound,
    Columns,
    Event,
    MetricsFound,
    Progress,
    RunFound,
    SegmentStarted,
    StreamFound,
    StreamStatus,
)
from tuimon.monitor.local import LocalMonitor
from tuimon.reader import Collector
from tuimon.wire import FrameDecoder


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


def test_names_are_announced_before_they_are_used(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(lines(0, 1, 2))
    events = read_all(Collector([str(tmp_path)]))
    announced: dict[int, int] = {}
    for event in events:
        if isinstance(event, MetricsFound):
            assert event.first == announced.get(event.stream, 0)
            announced[event.stream] = event.first + len(event.names)
        if isinstance(event, Columns):
            assert event.metric.max() < announced[event.stream]
    assert steps(events) == [0, 1, 2]
    assert [type(event) for event in events[:2]] == [RunFound, StreamFound]


def test_growth_new_files_and_new_runs(tmp_path: Path) -> None:
    first = tmp_path / "run_a" / "metrics.jsonl"
    first.parent.mkdir()
    first.write_text(lines(0, 1))
    collector = Collector([str(tmp_path)])
    assert steps(read_all(collector)) == [0, 1]
    with first.open("a") as file:
        file.write(lines(2))
    assert steps(list(collector.read())) == [2]
    second = tmp_path / "run_b" / "metrics.jsonl"
    second.parent.mkdir()
    second.write_text(lines(7))
    events = read_all(collector)
    assert steps(events) == [7]
    assert [event.run for event in events if isinstance(event, StreamFound)] == [1]


def test_a_truncated_file_is_a_new_segment(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(lines(0, 1, 2))
    collector = Collector([str(tmp_path)])
    read_all(collector)
    path.write_text(lines(0))
    events = list(collector.read())
    assert any(isinstance(event, SegmentStarted) for event in events)
    assert steps(events) == [0]


def test_a_restarted_log_may_have_its_metrics_in_another_order(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(f'{{"step": {step}, "loss": 1.0, "reward": 2.0}}\n' for step in range(6)))
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    path.write_text("".join(f'{{"step": {step}, "reward": 4.0, "loss": 3.0}}\n' for step in range(2, 4)))
    monitor.update()
    (run,) = monitor.snapshot().runs
    for metric, value in (("loss", 3.0), ("reward", 4.0)):
        curve = run.curve(metric)
        assert curve.steps.tolist() == [0, 1, 2, 3]
        assert curve.values.tolist() == [value - 2] * 2 + [value] * 2
        assert curve.superseded == 4


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


def test_an_empty_file_is_recognised_when_it_has_content(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    path.touch()
    collector = Collector([str(tmp_path)])
    assert steps(read_all(collector)) == []
    path.write_text(lines(4))
    assert steps(read_all(collector)) == [4]


def test_a_damaged_file_does_not_affect_a_good_one(tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text(lines(0, 1))
    (tmp_path / "bad.jsonl").write_bytes(lines(0).encode() + b'{"step": 1, "loss": \xff\xfe{{{\n' + lines(2).encode())
    (tmp_path / "events.out.tfevents.1.host.1.0").write_bytes(b"\x00garbage" * 100)
    collector = Collector([str(tmp_path)])
    events = read_all(collector)
    assert sorted(steps(events)) == [0, 0, 1, 2]
    damaged = {event.stream: event.damaged for event in events if isinstance(event, StreamStatus)}
    assert sum(damaged.values()) >= 1


def test_only_the_newest_trainer_state_is_read(tmp_path: Path) -> None:
    for number, rows in ((10, 1), (20, 2)):
        path = tmp_path / f"checkpoint-{number}" / "trainer_state.json"
        path.parent.mkdir()
        history = [{"step": 10 * (row + 1), "loss": 1.0} for row in range(rows)]
        path.write_text(json.dumps({"log_history": history, "global_step": number, "max_steps": 30}))
        os.utime(path, (1000.0 * number, 1000.0 * number))
    collector = Collector([str(tmp_path)])
    assert steps(read_all(collector)) == [10, 20]
    assert any("superseded" in reason for _, reason in collector.skipped)


def test_nothing_found_lists_the_formats(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('{"hello": "world"}')
    collector = Collector([str(tmp_path)])
    read_all(collector)
    with pytest.raises(NothingFound) as caught:
        collector.require_something()
    assert "notes.json: not a metric log" in caught.value.message
    assert "TensorBoard, W&B" in caught.value.hint


def test_nothing_below_a_run_is_changed(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(lines(0, 1))
    (tmp_path / "training_log.json").write_text('{"train_history": [{"step": 1, "loss": 2}]}')
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in tmp_path.iterdir()}
    read_all(Collector([str(tmp_path)]))
    assert {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in tmp_path.iterdir()} == before


# ---------------------------------------------------------------------- as a process


class Reader:
    """A reader process and the events it has sent."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tuimon.reader", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self._decoder = FrameDecoder()
        self.events: list[Event] = []

    def until(self, condition: Callable[[Reader], bool], seconds: float = 60.0) -> None:
        """Read events until the condition holds."""
        assert self.process.stdout is not None
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            data = os.read(self.process.stdout.fileno(), 1 << 20) if self._readable() else b""
            self.events += self._decoder.feed(data)
            if condition(self):
                return
            time.sleep(0.01)
        raise AssertionError(f"it never came; got {[type(e).__name__ for e in self.events]}")

    @property
    def steps(self) -> list[int]:
        return steps(self.events)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()

    def _readable(self) -> bool:
        assert self.process.stdout is not None
        return bool(select.select([self.process.stdout], [], [], 0)[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    path.write_text(lines(0, 1))
    return path


@pytest.fixture(params=[(), ("--poll", "--interval", "0.1")], ids=["events", "poll"])
def reader(request: pytest.FixtureRequest, path: Path) -> Iterator[Reader]:
    reader = Reader(*request.param, str(path.parent))
    yield reader
    reader.end()


def test_the_process_reports_existing_and_new_points(reader: Reader, path: Path) -> None:
    reader.until(lambda r: r.steps == [0, 1] and any(isinstance(e, Progress) and e.caught_up for e in r.events))
    with path.open("a") as file:
        file.write(lines(2))
    reader.until(lambda r: r.steps == [0, 1, 2])
    (path.parent / "other.jsonl").write_text(lines(9))
    reader.until(lambda r: r.steps[-1] == 9)


def test_the_process_has_caught_up_after_searching_all_checkpoints(path: Path) -> None:
    for step in range(1, 201):
        (path.parent / f"checkpoint-{step}").mkdir()
    (path.parent / "checkpoint-200" / "eval.jsonl").write_text(lines(77))
    reader = Reader(str(path.parent))
    reader.until(lambda r: any(isinstance(event, Progress) and event.caught_up for event in r.events))
    assert sorted(reader.steps) == [0, 1, 77]
    (found,) = (event for event in reader.events if isinstance(event, CheckpointsFound))
    assert found.steps == tuple(range(1, 201))
    reader.end()


def test_the_process_ends_when_standard_input_closes(reader: Reader) -> None:
    reader.until(lambda r: r.steps == [0, 1])
    assert reader.process.stdin is not None
    reader.process.stdin.close()
    assert reader.process.wait(timeout=60) == 0


def test_only_the_newest_of_many_checkpoint_states_is_read(tmp_path: Path) -> None:
    for number in range(14, 30):
        directory = tmp_path / f"checkpoint-{number * 10}"
        directory.mkdir()
        rows = [{"step": step, "loss": 1 / step} for step in range(1, number * 10 + 1)]
        state = directory / "trainer_state.json"
        state.write_text(json.dumps({"global_step": number * 10, "log_history": rows}))
        os.utime(state, (1.7e9 + 100 * number,) * 2)
        (directory / "config.json").write_text('{"hidden_size": 896}')
    collector = Collector([str(tmp_path)])
    assert steps(read_all(collector)) == list(range(1, 291))
    newest = tmp_path / "checkpoint-290" / "trainer_state.json"
    assert sorted(path for path, _ in collector.skipped) == sorted(
        str(path) for path in tmp_path.rglob("trainer_state.json") if path != newest
    )
    assert {reason for _, reason in collector.skipped} == {f"superseded by {newest}"}
    assert list(collector.find()) == []
    later = tmp_path / "checkpoint-300" / "trainer_state.json"
    later.parent.mkdir()
    later.write_text(json.dumps({"log_history": [{"step": 300, "loss": 0.5}]}))
    assert [event.path for event in collector.find() if isinstance(event, StreamFound)] == [str(later)]
    assert steps(list(collector.read())) == [300]


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
