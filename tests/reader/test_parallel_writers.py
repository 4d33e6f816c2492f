"""Event files that several processes write in one directory at the same time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from support.event_points import event, records, scalar, version
from support.event_reading import read_all

from tuimon.reader import Collector
from tuimon.store import Store

START = 1_795_650_000.0


class Part(NamedTuple):
    """An event file, or what is appended to it."""

    writer: str
    """Its host, and its process unless it is tensorboardX."""
    start: float
    """Seconds after START."""
    steps: Iterable[int]
    offset: float = 0.0
    """Of the values."""
    kind: str = "events"


def write(directory: Path, *parts: Part) -> None:
    for writer, start, steps, offset, kind in parts:
        name = f"{kind}.out.tfevents.{START + start:.0f}.{writer}{'.0' if '.' in writer else ''}"
        is_new = not (directory / name).exists()
        rows = (
            event(step, scalar("loss", 2 + offset + math.exp(-step / 50)), wall=START + start + 2 * step)
            for step in steps
        )
        with (directory / name).open("ab") as file:
            file.write(b"".join(records([*([version()] if is_new else []), *rows])))


def read(store: Store, collector: Collector) -> dict[str, tuple[int, float, int]]:
    """Return the number of points, the last value and the superseded points of the loss of each run."""
    for item in read_all(collector):
        store.apply(item)
    curves = {run.name: run.curve("loss") for run in store.snapshot().runs if run.point_count}
    return {name: (len(curve), round(float(curve.values[-1]), 3), curve.superseded) for name, curve in curves.items()}


FIRST, SECOND = (100, 2.135, 0), (100, 3.135, 0)
WHOLE = range(1, 101)
JOBS: dict[str, tuple[list[Part], dict[str, tuple[int, float, int]]]] = {
    "two hosts": (
        [Part("node1.5", 0, WHOLE), Part("node2.6", 1, WHOLE, 1.0)], {"node1": FIRST, "node2": SECOND},
    ),
    "two processes of a host": (
        [Part("node1.5", 0, WHOLE), Part("node1.6", 1, WHOLE, 1.0)], {"node1.5": FIRST, "node1.6": SECOND},
    ),
    "one process id": (
        [Part("node1.5", 0, WHOLE), Part("node1.5", 1, WHOLE, 1.0)],
        {"events.out.tfevents.1795650000.node1.5.0": FIRST, "events.out.tfevents.1795650001.node1.5.0": SECOND},
    ),
    "tensorboardX": (
        [Part("node1", 0, WHOLE), Part("node1", 1, WHOLE, 1.0)],
        {"events.out.tfevents.1795650000.node1": FIRST, "events.out.tfevents.1795650001.node1": SECOND},
    ),
    "names that differ before the time only": (
        [Part("node1.5", 0, WHOLE, kind="eval"), Part("node1.5", 0, WHOLE, 1.0)],
        {"eval.out.tfevents.1795650000.node1.5.0": FIRST, "events.out.tfevents.1795650000.node1.5.0": SECOND},
    ),
    "each host resumes its own training": (
        [Part("node1.5", 0, range(1, 61)), Part("node1.9", 1000, range(51, 101)),
         Part("node2.6", 1, range(1, 61), 1.0), Part("node2.10", 1001, range(51, 101), 1.0)],
        {"node1": (100, 2.135, 10), "node2": (100, 3.135, 10)},
    ),
    "equal values": ([Part("node1.5", 1, WHOLE), Part("node2.5", 2, WHOLE)], {"job": FIRST}),
    **{
        f"{second} goes on after {first} at step {step}": (
            [Part(first, 0, WHOLE), Part(second, 201, range(step, 201), 1.0)], {"job": (200, 3.018, 101 - step)},
        )
        for first, second in (("node1.5", "node2.6"), ("node1", "node1"))
        for step in (81, 1)
    },
}  # fmt: skip
"""Event files of a directory, and the runs: points, last value and superseded points of each."""


@pytest.mark.parametrize(("parts", "expected"), JOBS.values(), ids=JOBS)
def test_runs_of_event_files_in_one_directory(
    tmp_path: Path, parts: list[Part], expected: dict[str, tuple[int, float, int]]
) -> None:
    (job := tmp_path / "job").mkdir()
    write(job, *parts)
    assert read(Store(), Collector([str(job)])) == expected


@pytest.mark.parametrize(("first_steps", "delay"), [(0, 60), (2, 1)])
def test_files_without_points_are_separated_as_they_grow(tmp_path: Path, first_steps: int, delay: int) -> None:
    """Points are written to a file some time after the file was created, and after the other process has started."""
    now = time.time() - START
    hosts = [("node1.5", now, 0.0), ("node2.6", now + delay, 1.0)]
    for host, start, offset in hosts:
        write(tmp_path, Part(host, start, range(1, 1 + first_steps), offset))
    store, collector = Store(), Collector([str(tmp_path)])
    assert len(read(store, collector)) == first_steps
    for host, start, offset in hosts:
        write(tmp_path, Part(host, start, range(1 + first_steps, 101), offset))
    assert sorted(read(store, collector).values()) == [FIRST, SECOND]
