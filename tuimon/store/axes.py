"""What a curve may be drawn against: steps, wall time, or a counter that the run logs itself (epoch, samples, tokens).

A counter never goes back while steps go on, so each border of a chart's columns is turned into a step: no point needs
an x of its own, and the cost is that of the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from tuimon.model.points import Floats, Steps
from tuimon.store.tally import Indices
from tuimon.vocabulary import classify

if TYPE_CHECKING:
    from tuimon.store.curve import Curve

COUNTERS = {"epoch": "progress.epoch", "samples": "progress.samples", "tokens": "progress.tokens"}
"""Axis -> the concept of its counter."""
_RISING = 0.95
"""The part of a counter's points that must not be below the one before: what was measured of a single step is none."""


class Scale(Struct, frozen=True, eq=False):
    """How points come to their places along an axis; `Run.scale` gives that of a run."""

    name: str
    """step | relative step | time (seconds since the epoch) | duration (seconds since the run's first point) |
    epoch | samples | tokens."""
    zero: int = 0
    """The step at which a relative step is 0."""
    steps: Steps = field(default_factory=lambda: np.empty(0, np.int64))
    """Of a counter: the steps at which it was logged, ascending, none twice."""
    counts: Floats = field(default_factory=lambda: np.empty(0))
    """… and how far it had come, never falling."""

    @property
    def is_time(self) -> bool:
        """Whether wall times tell where a point stands, and not its step."""
        return self.name in ("time", "duration")

    @property
    def is_counter(self) -> bool:
        """Whether a counter's table tells it."""
        return self.name in COUNTERS

    def at(self, steps: Steps) -> Floats:
        """Where these steps stand: how far the counter had come when it was last logged; NaN before that."""
        if not self.is_counter:
            return steps.astype(np.float64) - self.zero
        rows = np.searchsorted(self.steps, steps, "right") - 1
        found = np.full(len(steps), np.nan)
        found[rows >= 0] = self.counts[rows[rows >= 0]]
        return found

    def edges(self, steps: Steps, borders: Floats) -> Indices:
        """For ascending steps and the borders of columns along a counter: where each column begins, and the end of the
        last, which takes in its right border."""
        rows = np.searchsorted(self.counts, borders, "left")
        rows[-1] = np.searchsorted(self.counts, borders[-1], "right")
        inside = rows < len(self.steps)
        found = np.full(len(borders), len(steps), np.int64)
        found[inside] = np.searchsorted(steps, self.steps[rows[inside]], "left")
        return found


def named(name: str) -> Scale:
    """The axes that need no run. ValueError for another one."""
    if name not in ("step", "time", "duration"):
        raise ValueError(f"no axis {name!r}: step, time or duration, or what Run.scale gives")
    return Scale(name)


def counter(name: str, curves: Iterable[Curve]) -> Scale | None:
    """The first of some curves that counts how far a run has come; None where none does.

    Not one that only repeats the step, and not what was measured of each step alone.
    """
    for curve in curves:
        finite = np.isfinite(curve.values)
        steps, values = curve.steps[finite], curve.values[finite]
        if len(steps) < 2 or (values == steps).all():
            continue
        rising = np.diff(values) >= 0
        if values[-1] <= values[0] or rising.mean() < _RISING:
            continue
        last = np.append(steps[1:] != steps[:-1], True)  # of equal steps the last one stands
        return Scale(name, 0, steps[last], np.maximum.accumulate(values)[last])
    return None


def counters_among(metrics: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(axis, metric) of what may be a counter of the training, the preferred first."""
    axes = {concept: axis for axis, concept in COUNTERS.items()}
    found = []
    for place, name in enumerate(metrics):
        meaning = classify(name)
        if meaning.concept in axes and meaning.split == "train":
            found.append((meaning.preference, place, axes[meaning.concept], name))
    return ((axis, name) for _, _, axis, name in sorted(found))
