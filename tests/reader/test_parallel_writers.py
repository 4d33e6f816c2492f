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

from tuimon.reader import Collector
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
        (
            "node1.5",
            "node1.5",
            {f"events.out.tfevents.{START:.0f}.node1.5.0", f"events.out.tfevents.{START + 1:.0f}.node1.5.0"},
        ),
        (
            "node1",
            "node1",
            {f"events.out.tfevents.{START:.0f}.node1", f"events.out.tfevents.{START + 1:.0f}.node1"},
        ),  # tensorboardX
    ],
)
def test_trainings_of_two_processes_are_two_runs(tmp_path: Path, first: str, second: str, names: set[str]) -> None:
    write(tmp_path, first, START, range(1, 101))
    write(tmp_path, second, START + 1, range(1, 101), offset=1.0)
    runs = runs_in(tmp_path)
    assert runs.keys() == names
    assert [last_value(runs[name]) for name in sorted(runs)] == [2.135, 3.135]
    assert {len(run.curve("loss")) for run in runs.values()} == {100}


def test_files_whose_names_differ_before_the_time_only_are_two_runs(tmp_path: Path) -> None:
    write(tmp_path, "node1.5", START, range(1, 101))
    first = next(tmp_path.iterdir())
    first.rename(first.with_name(first.name.replace("events", "eval", 1)))
    write(tmp_path, "node1.5", START, range(1, 101), offset=1.0)
    assert runs_in(tmp_path).keys() == {
        "eval.out.tfevents.1795650000.node1.5.0",
        "events.out.tfevents.1795650000.node1.5.0",
    }


def test_each_host_resumes_its_own_training(tmp_path: Path) -> None:
    for offset, writers in enumerate((("node1.5", "node1.9"), ("node2.6", "node2.10"))):
        write(tmp_path, writers[0], START + offset, range(1, 61), offset)
        write(tmp_path, writers[1], START + 1000 + offset, range(51, 101), offset)
    runs = runs_in(tmp_path)
    assert {name: last_value(run) for name, run in runs.items()} == {"node1": 2.135, "node2": 3.135}
    assert {run.curve("loss").superseded for run in runs.values()} == {10}


def test_processes_with_equal_values_are_one_run(tmp_path: Path) -> None:
    for process in (1, 2):
        write(tmp_path, f"node{process}.5", START + process, range(1, 101))
    (run,) = runs_in(tmp_path).values()
    assert len(run.curve("loss")) == 100


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
def test_files_without_points_are_separated_as_they_grow(tmp_path: Path, first_steps: int, delay: int) -> None:
    """Points are written to a file some time after the file was created, and after the other process has started."""
    start = time.time()
    for number, host in enumerate(("node1.5", "node2.6")):
        write(tmp_path, host, start + delay * number, range(1, 1 + first_steps), offset=number)
    store, collector = Store(), Collector([str(tmp_path)])
    assert len(read(store, collector)) == first_steps
    for number, host in enumerate(("node1.5", "node2.6")):
        write(tmp_path, host, start + delay * number, range(1 + first_steps, 101), offset=number)
    runs = read(store, collector)
    assert sorted(map(last_value, runs.values())) == [2.135, 3.135]
    assert {len(run.curve("loss")) for run in runs.values()} == {100}
