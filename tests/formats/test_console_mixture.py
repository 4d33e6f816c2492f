"""Random logs made with the format strings of the trainers, mixed with other console output: every printed number
becomes a point at its step, and there are no other points."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.console_writers import NOISE, WRITERS, Point, Writer, rlinf_bar
from support.json_points import feed, rows

from tuimon.formats.console._decoder import ConsoleDecoder

LABELS = {
    "[rank{}]:": "rank{}",
    "[rank{}]: ": "rank{}",
    "[default{}]:": "default{}",
    "[1,{}]<stdout>:": "{}",
    "[prterun-gpu01-4711@1,{}]<stdout>: ": "{}",
    "{}: ": "{}",
    "  {}: ": "{}",
    "P0 {}: ": "P0 {}",
    "worker-{}  | ": "worker-{}",
    "\x1b[36mtrainer_{} | \x1b[0m": "trainer_{}",
    "[pod/job-{}/main] ": "job-{}/main",
    "{}: [rank{}]:": "{}/rank{}",
    "[1,{}]<stderr>:[rank{}]: ": "{}/rank{}",
}
"""Label before the lines of a task -> prefix of its metrics."""


def random_log(writer: Writer, rng: random.Random) -> tuple[str, list[Point]]:
    text, wanted, step = "", list[Point](), 0
    for _ in range(rng.choice([1, 3, 30])):
        written, points = writer(rng, step)
        text += f"{rng.choice(NOISE)}\n" * rng.randrange(2) + written
        wanted += points
        step += rng.choice([1, 1, 1, 7, 1000] if writer is rlinf_bar else [0, 1, 1, 1, 7, 1000])
    return text, wanted


def points_read(data: bytes, rng: random.Random) -> list[Point]:
    cuts = [rng.randrange(len(data)) for _ in range(rng.choice([0, 1, 5, 50]))]
    return sorted((name, step, value) for name, step, value, _ in rows(feed(ConsoleDecoder(), data, cuts)))


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=True))
def test_points_read_are_those_printed(writer: Writer, rng: random.Random) -> None:
    text, wanted = random_log(writer, rng)
    data = text.replace("\n", rng.choice(["\n", "\n", "\r\n"])).encode()
    assert points_read(data, rng) == sorted(wanted)


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=True))
def test_tasks_in_one_log_are_read_separately(writer: Writer, rng: random.Random) -> None:
    """Lines of several tasks in any order, each after its label. Metrics of all tasks but one are prefixed with it."""
    form, called = rng.choice(list(LABELS.items()))
    lines: dict[str, list[str]] = {}
    wanted: dict[str, dict[str, list[Point]]] = {}
    for number in rng.sample(range(20), rng.choice([1, 2, 3])):
        text, points = random_log(writer, rng)
        text += "step\n"  # a number is a label when it comes again
        label = called.replace("{}", str(number))
        lines[label] = [form.replace("{}", str(number)) + line for line in text.split("\n")[:-1]]
        wanted[label] = by_name(points)
    data = b"sbatch: job 4711 starts\n"
    while any(lines.values()):
        task = rng.choice([task for task in lines.values() if task])
        data += (task.pop(0) + "\n").encode()
    read = by_name(points_read(data, rng))
    for name in {name for points in wanted.values() for name in points}:
        having = {label: points[name] for label, points in wanted.items() if name in points}
        prefixed = {label: read.pop(f"{label}/{name}", None) for label in having}
        first = [label for label, points in prefixed.items() if points is None]
        assert len(first) == 1
        assert {**prefixed, first[0]: read.pop(name)} == having
    assert not read


def by_name(points: list[Point]) -> dict[str, list[tuple[int, str]]]:
    """Return the sorted (step, value) points of each metric."""
    names = {name for name, _, _ in points}
    return {name: sorted(point[1:] for point in points if point[0] == name) for name in names}
