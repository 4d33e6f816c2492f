"""Logs that grow, are cut off, truncated, replaced and deleted while they are read: what is shown in the end begins, at
the first step of what is on disk, to be what a fresh start reads, and holds nothing that was never written."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import pytest
from event_points import event as event_message
from event_points import records, scalar
from hypothesis import given, settings
from hypothesis import strategies as st
from live import Held, fresh, held

from tuimon.monitor import LocalMonitor
from tuimon.vocabulary import merge_key

METRICS = ["loss", "reward", "kl"]


class Writer:
    """A training that writes a log in pieces, some of them ending inside a record."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path, self.chance = path, chance
        self.content, self.written, self.step, self.count = b"", 0, 0, 0
        self.ever: Held = {}
        """Metric -> all points that have been in the log."""

    def log(self) -> None:
        """One step more, its metrics in any order."""
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

    def anew(self) -> None:
        self.content, self.written = b"", 0
        self.step = self.chance.choice([0, self.step, max(0, self.step - 5)])
        self.log()

    def write(self, part: float = 1.0) -> None:
        """Append a part of what is not on disk yet; the whole file where there is none."""
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
                self.anew()
                self.path.write_bytes(b"")
            case "delete":
                self.path.unlink()
                self.anew()
            case how:
                if how == "replace":
                    self.anew()
                other = self.path.with_name("new")
                other.write_bytes(self.content)
                self.written = len(self.content)
                other.replace(self.path)


@pytest.mark.parametrize("name", ["metrics.jsonl", "events.out.tfevents.1795226051.host"])
@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["log", "write", "part", "disturb", "read", "look"]), max_size=30), st.integers(0, 99))
def test_a_log_that_is_disturbed_is_read_as_at_once(name: str, moves: list[str], seed: int) -> None:
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
        wanted, found = fresh(directory), held(monitor.snapshot())
        assert wanted.keys() <= found.keys()
        for key, points in found.items():
            assert set(points) <= set(writer.ever["", key[1]])
            assert len(set(points)) == len(points)
            if key in wanted:
                assert [point for point in points if point[0] >= wanted[key][0][0]] == wanted[key]
