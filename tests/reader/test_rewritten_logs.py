"""Logs that grow, are cut off, truncated, replaced and deleted while they are read.

In the end, the points from the first step on disk on equal those of a fresh start, and no point was never written."""

from __future__ import annotations

import json
import random
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.event_points import event as event_message
from support.event_points import records, scalar
from support.live import Held, fresh, held

from tuimon.analysis.progress_inputs import progress_of
from tuimon.model.views import ChartView, Size, Symbols
from tuimon.monitor.local import LocalMonitor
from tuimon.panels import metric_panel
from tuimon.vocabulary import merge_key

METRICS = ["loss", "reward", "kl"]


class Writer:
    """A training that writes a log in pieces, some of which end within a record."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path, self.chance = path, chance
        self.content, self.written, self.step, self.count = b"", 0, 0, 0
        self.ever: Held = {}
        """All points that have been in the log, by metric."""

    def log(self) -> None:
        """Add a step, with its metrics in random order."""
        self.step += self.chance.choice([1, 1, 5])
        row: dict[str, float] = {}
        for name in self.chance.sample(METRICS, self.chance.randint(1, 3)):
            self.count += 1
            row[name] = self.count + 0.5
            self.ever.setdefault(("", merge_key(name)), []).append((self.step, repr(row[name])))
        if self.path.suffix == ".jsonl":
            self.content += json.dumps({"step": self.step, **row}).encode() + b"\n"
        else:
            values = [scalar(name, value) for name, value in row.items()]
            self.content += b"".join(records([event_message(self.step, *values)]))

    def rewrite(self) -> None:
        self.content, self.written = b"", 0
        self.step = self.chance.choice([0, self.step, max(0, self.step - 5)])
        self.log()

    def write(self, part: float = 1.0) -> None:
        """Append a part of the unwritten content; a file that does not exist is written from the beginning."""
        if not part or not self.path.exists():
            self.written = 0
            self.path.write_bytes(b"")
        if self.written == len(self.content):
            self.log()
        begin, self.written = self.written, self.written + max(1, int((len(self.content) - self.written) * part))
        with self.path.open("ab") as file:
            file.write(self.content[begin : self.written])

    def disturb(self) -> None:
        match self.chance.choice(["cut", "truncate", "replace", "copy", "delete"]):
            case "cut":  # a disk loses the last bytes, the writer writes them again
                self.written -= self.chance.randint(0, self.written)
                with self.path.open("ab") as file:
                    file.truncate(self.written)
            case "truncate":
                self.rewrite()
                self.path.write_bytes(b"")
            case "delete":
                self.path.unlink()
                self.rewrite()
            case how:
                if how == "replace":
                    self.rewrite()
                other = self.path.with_name("new")
                other.write_bytes(self.content)
                self.written = len(self.content)
                other.replace(self.path)


@pytest.mark.parametrize("name", ["metrics.jsonl", "events.out.tfevents.1795226051.host"])
@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(["log", "write", "part", "disturb", "read", "look"]), max_size=30), st.integers(0, 99))
def test_a_disturbed_log_is_read_as_by_a_fresh_start(name: str, moves: list[str], seed: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        writer = Writer(Path(directory) / name, random.Random(seed))
        writer.write()
        monitor = LocalMonitor([directory])
        monitor.read()
        for move in [*moves, "write"]:
            match move:
                case "log":
                    writer.log()
                case "write" | "part":
                    writer.write(writer.chance.random() if move == "part" else 1.0)
                case "disturb" if writer.path.exists():
                    writer.disturb()
                case "read":
                    monitor.read()
                case "look":
                    held(monitor.snapshot())
        writer.write()
        monitor.read()
        expected, actual = fresh(directory), held(monitor.snapshot())
        assert expected.keys() <= actual.keys()
        for key, points in actual.items():
            assert set(points) <= set(writer.ever["", key[1]])
            assert len(set(points)) == len(points)
            if key in expected:
                assert [point for point in points if point[0] >= expected[key][0][0]] == expected[key]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_log_that_is_written_anew_keeps_what_was_read(tmp_path: Path, is_deleted: bool) -> None:
    def rows(steps: range, **values: float) -> str:
        return "".join(json.dumps({"step": step, **values}) + "\n" for step in steps)

    path = tmp_path / "metrics.jsonl"
    path.write_text(rows(range(1, 16), reward=0.1, kl=0.01, loss=0.5))
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    path.write_text("")
    if is_deleted:
        path.unlink()
    monitor.update()
    assert len(monitor.snapshot().runs[0].curve("reward")) == 15
    path.write_text(rows(range(1, 2), reward=0.7, kl=0.03))
    monitor.update()
    (run,) = monitor.snapshot().runs
    progress = progress_of(run, time.time())
    assert (run.last_step, progress.step, progress.state) == (1, 1, "running")
    view = metric_panel("reward").view(run, Size(80, 12), 0.0, Symbols.BRAILLE)
    assert isinstance(view, ChartView)
    assert view.note == "15 points superseded"
    assert run.curve("loss").steps.tolist() == list(range(1, 16)), "what was read is kept"
    with path.open("a") as file:
        file.write(rows(range(2, 3), reward=0.7, kl=0.03, loss=0.4))
    monitor.update()
    assert monitor.snapshot().runs[0].last_step == 2
