"""A case: the files of one training, and what a reader should get from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import nan
from random import Random

from support.strangers.trainings import Row, Training

Point = tuple[int, float, float]
"""(step, value, wall time or NaN)"""


@dataclass
class Case:
    """The files of a training and the points in them."""

    seed: int
    writer: str
    training: Training
    files: list[tuple[str, bytes]]
    truth: dict[str, list[Point]]
    """Points by the name that is written in the file, attempts joined."""
    units: dict[str, str] = field(default_factory=dict)
    """Units that the file names for a metric."""
    names: Mapping[str, str] = field(default_factory=dict)
    """See Written."""
    traits: list[str] = field(default_factory=list)


@dataclass
class Written:
    """What a writer made of a training."""

    files: list[tuple[str, bytes]]
    names: Mapping[str, str] = field(default_factory=dict)
    """Name of a metric -> name under which it is written; "" if it is not written."""
    units: dict[str, str] = field(default_factory=dict)
    timed: bool = False
    """Whether the times of the rows are written."""
    traits: list[str] = field(default_factory=list)
    rows: list[Row] | None = None
    """The rows that are complete in the file; None for all."""


Writer = Callable[[Training, Random], Written]


def truth_of(training: Training, written: Written) -> dict[str, list[Point]]:
    """Return the points by name. A later attempt takes the place of the earlier ones from its first step on."""
    truth: dict[str, list[Point]] = {}
    kept = None if written.rows is None else {id(row) for row in written.rows}
    for attempt in training.attempts:
        begun: set[str] = set()
        for row in attempt:
            if kept is not None and id(row) not in kept:
                continue
            for cell in row.cells:
                name = written.names.get(cell.name, cell.name)
                if not name:
                    continue
                step = row.step
                points = truth.setdefault(name, [])
                if name not in begun:
                    begun.add(name)
                    points[:] = [point for point in points if point[0] < step]
                points.append((step, cell.value, row.time if written.timed else nan))
    return truth
