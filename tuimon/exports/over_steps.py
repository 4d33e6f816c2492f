"""The mean and the extremes of all metrics over a range of steps."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import step_name, with_training_steps
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.statistics import statistics
from tuimon.draw.numbers import format_exact
from tuimon.exports.documents import Version, known
from tuimon.exports.metrics import unit_columns
from tuimon.exports.table import Column, no_room, table
from tuimon.panels import by_relevance
from tuimon.store import Run
from tuimon.text import clean


class OverSteps(Struct, frozen=True, kw_only=True):
    """One metric over a range of steps."""

    name: str
    unit: str
    """Of the logged values, as in `tuimon summary`."""
    first_step: int
    """Step of its first point in the range."""
    last_step: int
    """Step of its last point in the range."""
    count: int
    """Number of finite values."""
    not_finite: int
    """Number of values that are not finite."""
    mean: float | None
    """Of the finite values."""
    deviation: float | None
    """Standard deviation of the sample; null with fewer than 2 values."""
    min: float | None
    max: float | None


class RunOverSteps(Struct, frozen=True, kw_only=True):
    """A run over a range of steps."""

    name: str
    path: str
    metrics: tuple[OverSteps, ...]
    """The most telling first."""


class OverStepsDocument(Struct, frozen=True, kw_only=True):
    """The metrics of runs over a range of steps (--steps)."""

    schema: Version = 1
    steps: tuple[int, int]
    """First and last step asked for."""
    runs: tuple[RunOverSteps, ...]


def run_over_steps(run: Run, steps: tuple[int, int], metrics: Container[str] | None = None) -> RunOverSteps:
    """Return the metrics with a point in these steps, the most important first.

    steps: first and last, both included. metrics: names to choose from; None for all.
    """
    entries, (first, last) = [], steps
    for name in by_relevance(run.metrics):
        if metrics is not None and name not in metrics:
            continue
        curve = with_training_steps(run, name)
        begin, end = np.searchsorted(curve.steps, first, "left"), np.searchsorted(curve.steps, last, "right")
        if begin < end:
            values = statistics(curve.values[begin:end])
            entries.append(
                OverSteps(
                    name=name,
                    unit=meaning_of(run, name).logged_unit,
                    first_step=int(curve.steps[begin]),
                    last_step=int(curve.steps[end - 1]),
                    count=values.count,
                    not_finite=values.left_out,
                    mean=known(values.mean),
                    deviation=known(values.deviation) if values.count > 1 else None,
                    min=known(values.min),
                    max=known(values.max),
                )
            )
    return RunOverSteps(name=run.name, path=run.path, metrics=tuple(entries))


def as_text(run: Run, part: RunOverSteps, width: int | None = None) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited)."""
    entries = part.metrics
    first, last = min(entry.first_step for entry in entries), max(entry.last_step for entry in entries)
    yield f"{clean(run.name)}  {step_name(run)}s {first} to {last}"
    left_out = any(entry.not_finite for entry in entries)
    columns = [
        Column("points", [str(entry.count) for entry in entries]),
        Column("mean", [_exact(entry.mean) for entry in entries]),
        Column("± std", ["" if (own := entry.deviation) is None else f"{own:.4g}" for entry in entries], need=2),
        Column("min", [_exact(entry.min) for entry in entries], need=4),
        Column("max", [_exact(entry.max) for entry in entries], need=4),
        *unit_columns(entry.unit for entry in entries),
    ]
    if left_out:
        columns.append(Column("not finite", [str(entry.not_finite or "") for entry in entries], need=1))
    heads: list[str] = []
    yield from table("metric", [clean(entry.name) for entry in entries], columns, width, left_out=heads.append)
    yield from no_room(heads, width)


def _exact(value: float | None) -> str:
    return format_exact(math.nan if value is None else value)
