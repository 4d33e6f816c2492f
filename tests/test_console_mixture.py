"""Lines of every trainer, made by the format strings of the trainers themselves from random numbers, among all that a
console holds besides: each number that was printed is a point, at its step, and there is no other."""

from __future__ import annotations

import random

import pytest
from console_writers import NOISE, WRITERS, Point, Writer, rlinf_bar
from hypothesis import given, settings
from hypothesis import strategies as st
from json_points import feed, rows

from tuimon.formats.console import ConsoleDecoder

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
"""What stands before the lines of a task -> what stands before its metrics."""


def a_log(writer: Writer, chance: random.Random) -> tuple[str, list[Point]]:
    text, wanted, step = "", list[Point](), 0
    for _ in range(chance.choice([1, 3, 30])):
        written, points = writer(chance, step)
        text += f"{chance.choice(NOISE)}\n" * chance.randrange(2) + written
        wanted += points
        step += chance.choice([1, 1, 1, 7, 1000] if writer is rlinf_bar else [0, 1, 1, 1, 7, 1000])
    return text, wanted


def found(data: bytes, chance: random.Random) -> list[Point]:
    cuts = [chance.randrange(len(data)) for _ in range(chance.choice([0, 1, 5, 50]))]
    return sorted((name, step, value) for name, step, value, _ in rows(feed(ConsoleDecoder(), data, cuts)))


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=True))
def test_what_was_printed_is_what_is_read(writer: Writer, chance: random.Random) -> None:
    text, wanted = a_log(writer, chance)
    data = text.replace("\n", chance.choice(["\n", "\n", "\r\n"])).encode()
    assert found(data, chance) == sorted(wanted)


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=True))
def test_tasks_that_write_into_one_log_are_read_each_by_itself(writer: Writer, chance: random.Random) -> None:
    """Their lines in any order, each behind its label; a metric has the label in its name, but for one task."""
    form, called = chance.choice(list(LABELS.items()))
    lines: dict[str, list[str]] = {}
    wanted: dict[str, dict[str, list[Point]]] = {}
    for number in chance.sample(range(20), chance.choice([1, 2, 3])):
        text, points = a_log(writer, chance)
        text += "step\n"  # a number is a label when it comes again
        label = called.replace("{}", str(number))
        lines[label] = [form.replace("{}", str(number)) + line for line in text.split("\n")[:-1]]
        wanted[label] = by_name(points)
    data = b"sbatch: job 4711 starts\n"
    while any(lines.values()):
        task = chance.choice([task for task in lines.values() if task])
        data += (task.pop(0) + "\n").encode()
    read = by_name(found(data, chance))
    for name in {name for points in wanted.values() for name in points}:
        having = {label: points[name] for label, points in wanted.items() if name in points}
        prefixed = {label: read.pop(f"{label}/{name}", None) for label in having}
        first = [label for label, points in prefixed.items() if points is None]
        assert len(first) == 1
        assert {**prefixed, first[0]: read.pop(name)} == having
    assert not read


def by_name(points: list[Point]) -> dict[str, list[tuple[int, str]]]:
    """The points of each metric, sorted: (step, value)."""
    names = {name for name, _, _ in points}
    return {name: sorted(point[1:] for point in points if point[0] == name) for name in names}
