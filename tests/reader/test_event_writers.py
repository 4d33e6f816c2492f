"""Event files that several processes write in one directory at the same time."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.event_points import event, records, scalar, version
from support.event_reading import read_all

from tuimon.formats.tensorboard.event_file import FORMAT
from tuimon.reader import Collector
from tuimon.reader.event_writers import EventWriters
from tuimon.reader.training_values import Beginning
from tuimon.store import Run, Store

START = 1_795_650_000.0


def write(
    directory: Path, writer: str, start: float, steps: Iterable[int], offset: float = 0.0, noise: float = 0.0,
    seconds: float = 2.0,
) -> None:  # fmt: skip
    """Write an event file or append to it. writer: its host, and its process unless it is tensorboardX. seconds: time
    of a step."""
    values = random.Random(writer)
    path = directory / f"events.out.tfevents.{start:.0f}.{writer}{'.0' if '.' in writer else ''}"
    is_new = not path.exists()
    events = [
        event(
            step,
            scalar("loss", 2 + offset + math.exp(-step / 50) + noise * values.gauss()),
            wall=start + seconds * step,
        )
        for step in steps
    ]
    with path.open("ab") as file:
        file.write(b"".join(records([*([version()] if is_new else []), *events])))


def read(store: Store, collector: Collector) -> dict[str, Run]:
    for item in read_all(collector):
        store.apply(item)
    return {run.name: run for run in store.snapshot().runs if run.point_count}


def runs_in(directory: Path) -> dict[str, Run]:
    return read(Store(), Collector([str(directory)]))


def last_value(run: Run) -> float:
    return round(float(run.curve("loss").values[-1]), 3)


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("node1.5", "node2.6", {"node1", "node2"}),
        ("node1.5", "node1.6", {"node1.5", "node1.6"}),
        ("node1.5", "node1.5", {"1795650000.node1.5.0", "1795650001.node1.5.0"}),
        ("node1", "node1", {"1795650000.node1", "1795650001.node1"}),  # tensorboardX
    ],
)
def test_trainings_of_two_processes_are_two_runs(tmp_path: Path, first: str, second: str, names: set[str]) -> None:
    write(tmp_path, first, START, range(1, 101))
    write(tmp_path, second, START + 1, range(1, 101), offset=1.0)
    runs = runs_in(tmp_path)
    assert runs.keys() == names
    assert [last_value(runs[name]) for name in sorted(runs)] == [2.135, 3.135]
    assert {len(run.curve("loss")) for run in runs.values()} == {100}


def test_each_host_resumes_its_own_training(tmp_path: Path) -> None:
    for offset, writers in enumerate((("node1.5", "node1.9"), ("node2.6", "node2.10"))):
        write(tmp_path, writers[0], START + offset, range(1, 61), offset)
        write(tmp_path, writers[1], START + 1000 + offset, range(51, 101), offset)
    runs = runs_in(tmp_path)
    assert {name: last_value(run) for name, run in runs.items()} == {"node1": 2.135, "node2": 3.135}
    assert {run.curve("loss").superseded for run in runs.values()} == {10}


def test_processes_of_one_training_are_sources_of_one_run(tmp_path: Path) -> None:
    for process in (1, 2):
        write(tmp_path, f"node{process}.5", START + process, range(1, 101), noise=0.05)
    (run,) = runs_in(tmp_path).values()
    assert run.provenance("loss") == (("host node1", 100), ("host node2", 100))
    curve = run.curve("loss")
    assert (len(curve), curve.superseded, curve.disagreements) == (100, 0, ())


def test_two_seeds_with_like_values_are_two_runs(tmp_path: Path) -> None:
    """The second one takes 1 % longer for a step, which the first steps do not show."""
    store, collector = Store(), Collector([str(tmp_path)])
    lengths = []
    for steps in (range(1, 7), range(7, 101)):
        write(tmp_path, "node1.5", START, steps, noise=0.05, seconds=2.0)
        write(tmp_path, "node2.5", START + 1, steps, noise=0.05, seconds=2.02)
        lengths.append([len(run.curve("loss")) for run in read(store, collector).values()])
    assert lengths == [[6], [100, 100]]


@pytest.mark.parametrize("first_step", [81, 1])
@pytest.mark.parametrize("writers", [("node1.5", "node2.6"), ("node1", "node1")])
def test_a_job_that_continues_or_begins_again_stays_one_run(
    tmp_path: Path, writers: tuple[str, str], first_step: int
) -> None:
    write(tmp_path, writers[0], START, range(1, 101))
    write(
        tmp_path, writers[1], START + 201, range(first_step, 201), offset=1.0
    )  # the files were changed now, as copies
    (run,) = runs_in(tmp_path).values()
    assert (run.curve("loss").superseded, last_value(run)) == (101 - first_step, 3.018)


@pytest.mark.parametrize(("first_steps", "delay"), [(0, 60), (2, 1)])
def test_files_with_few_points_are_separated_as_they_grow(tmp_path: Path, first_steps: int, delay: int) -> None:
    """Points are written to a file some time after the file was created, and after the other process has started."""
    start = time.time()
    for number, host in enumerate(("node1.5", "node2.6")):
        write(tmp_path, host, start + delay * number, range(1, 1 + first_steps), offset=number)
    store, collector = Store(), Collector([str(tmp_path)])
    assert len(read(store, collector)) == min(first_steps, 1)
    for number, host in enumerate(("node1.5", "node2.6")):
        write(tmp_path, host, start + delay * number, range(1 + first_steps, 101), offset=number)
    runs = read(store, collector)
    assert sorted(map(last_value, runs.values())) == [2.135, 3.135]
    assert {len(run.curve("loss")) for run in runs.values()} == {100}


@pytest.mark.parametrize(("delay", "times_read"), [(1, 1), (100, 0)])
def test_beginnings_of_files_are_read_once_and_only_if_their_times_overlap(
    tmp_path: Path, delay: int, times_read: int
) -> None:
    for number in range(4):
        write(tmp_path, f"node{number}.5", START - 1e7 + delay * number, range(1, 4))  # copied: changed now
    paths = sorted(map(str, tmp_path.iterdir()))
    calls: list[str] = []

    def beginning(path: str) -> Beginning | None:
        calls.append(path)
        return Beginning({"loss": {1: 1.0}}, [1], whole=True)

    parallel, undecided = EventWriters(beginning, lambda path: False).of(paths, FORMAT)
    assert not parallel.names
    assert sorted(calls) == times_read * paths
    assert undecided == set(times_read * paths)
