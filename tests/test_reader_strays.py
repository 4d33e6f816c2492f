"""Text and other files without metrics among runs that have some: never an empty run, never lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from event_reading import everything

from tuimon.model.events import Event
from tuimon.model.points import Points
from tuimon.reader import Collector
from tuimon.store import Run, Store


class Watched:
    """A collector, and a store of what it tells."""

    def __init__(self, *roots: Path) -> None:
        self.collector = Collector([str(root) for root in roots])
        self._store = Store()
        self.look()

    def look(self) -> None:
        self.apply(everything(self.collector))

    def apply(self, events: Iterable[Event]) -> None:
        for event in events:
            self._store.apply(event)

    @property
    def runs(self) -> dict[str, Run]:
        return {os.path.basename(run.path): run for run in self._store.snapshot().runs}

    @property
    def text(self) -> dict[str, list[str]]:
        """Run -> its console text."""
        return {
            name: [line for fact in run.facts("console") for line in fact.value["lines"]]
            for name, run in self.runs.items()
        }


def metrics(path: Path, *steps: int, age: float = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"step": step, "loss": 0.5}) + "\n" for step in steps))
    stamp = path.stat().st_mtime - age
    os.utime(path, (stamp, stamp))


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(line + "\n" for line in lines)


POINT = "step:7 - actor/loss:0.25 - critic/score/mean:0.5"  # verl's console logger


def test_text_above_several_runs_is_no_run_and_is_shown_with_the_newest(tmp_path: Path) -> None:
    metrics(tmp_path / "seed0" / "metrics.jsonl", 0, age=600)
    metrics(tmp_path / "seed1" / "metrics.jsonl", 0, age=5)
    write(tmp_path / "train.log", "loading", "training")
    watched = Watched(tmp_path)
    assert set(watched.runs) == {"seed0", "seed1"}
    assert watched.text == {"seed0": [], "seed1": ["loading", "training"]}
    metrics(tmp_path / "seed2" / "metrics.jsonl", 0, age=-5)
    watched.look()
    write(tmp_path / "train.log", "the next seed")
    watched.look()
    assert watched.text == {"seed0": [], "seed1": ["loading", "training"], "seed2": ["the next seed"]}
    assert not watched.collector.skipped


def test_text_that_gets_a_point_is_a_run_with_all_its_text(tmp_path: Path) -> None:
    metrics(tmp_path / "seed0" / "metrics.jsonl", 0)
    metrics(tmp_path / "seed1" / "metrics.jsonl", 0, age=600)
    write(tmp_path / "train.log", "loading")
    watched = Watched(tmp_path)
    assert watched.text == {"seed0": ["loading"], "seed1": []}
    write(tmp_path / "train.log", POINT)
    watched.look()
    assert watched.text == {"seed0": [], "seed1": [], tmp_path.name: ["loading", POINT]}
    run = watched.runs[tmp_path.name]
    assert run.curve("actor/loss").steps.tolist() == [7]
    states = {stream.status.state for stream in watched.runs["seed0"].streams if stream.status}
    assert states == {"current", "superseded"}
    write(tmp_path / "train.log", POINT.replace("7", "8"))
    watched.look()
    assert watched.runs[tmp_path.name].curve("actor/loss").steps.tolist() == [7, 8]


def test_text_near_no_run_is_read_in_silence_until_it_has_a_point(tmp_path: Path) -> None:
    metrics(tmp_path / "a" / "metrics.jsonl", 0)
    write(tmp_path / "b" / "stdout.log", "listening")
    watched = Watched(tmp_path)
    assert set(watched.runs) == {"a"}
    assert [(Path(path).name, reason) for path, reason in watched.collector.skipped] == [
        ("stdout.log", "text without metrics, near no run")
    ]
    write(tmp_path / "b" / "stdout.log", POINT)
    watched.apply(watched.collector.read())
    assert watched.text == {"a": [], "b": ["listening", POINT]}
    assert not watched.collector.skipped


def test_text_near_no_run_joins_metrics_that_appear_beside_it(tmp_path: Path) -> None:
    metrics(tmp_path / "a" / "metrics.jsonl", 0)
    write(tmp_path / "b" / "train.log", "loading")
    watched = Watched(tmp_path)
    metrics(tmp_path / "b" / "metrics.jsonl", 3)
    watched.look()
    assert watched.text == {"a": [], "b": ["loading"]}
    assert not watched.collector.skipped


def test_an_export_has_the_points_of_silent_text(tmp_path: Path) -> None:
    metrics(tmp_path / "a" / "metrics.jsonl", 0)
    write(tmp_path / "b" / "train.log", "loading", POINT)
    collector = Collector([str(tmp_path)])
    list(collector.find())
    found = {source: item.steps.tolist() for source, item in collector.in_file_order() if isinstance(item, Points)}
    assert found == {"a/metrics.jsonl": [0], "b/train.log": [7, 7]}


def test_text_alone_is_a_run(tmp_path: Path) -> None:
    write(tmp_path / "train.log", "loading")
    watched = Watched(tmp_path)
    assert watched.text == {tmp_path.name: ["loading"]}


def test_two_texts_of_one_place_become_a_run_together(tmp_path: Path) -> None:
    metrics(tmp_path / "a" / "metrics.jsonl", 0)
    write(tmp_path / "b" / "stderr.log", "a warning")
    write(tmp_path / "b" / "stdout.log", "loading")
    watched = Watched(tmp_path)
    assert set(watched.runs) == {"a"}
    write(tmp_path / "b" / "stdout.log", POINT)
    watched.look()
    assert sorted(watched.text["b"]) == sorted(["a warning", "loading", POINT])
    assert not watched.collector.skipped
