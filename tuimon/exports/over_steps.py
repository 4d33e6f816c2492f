"""The mean and the extremes of all metrics over a range of steps."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import step_name, with_training_steps
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.statistics import Statistics, statistics
from tuimon.draw.numbers import format_exact
from tuimon.exports._shared import dumps, known
from tuimon.exports.metrics import unit_columns
from tuimon.exports.table import Column, no_room, table
from tuimon.panels import by_relevance
from tuimon.store import Run
from tuimon.text import clean

SCHEMA = 1


class OverSteps(Struct, frozen=True):
    """One metric over a range of steps."""

    name: str
    first: int
    """Step of its first point in the range."""
    last: int
    """Step of its last point in the range."""
    values: Statistics


def over_steps(run: Run, first: int, last: int, metrics: Container[str] | None = None) -> tuple[OverSteps, ...]:
    """Return the metrics with a point from step `first` to step `last`, both included, the most important first.

    metrics: names to choose from; None for all.
    """
    entries = []
    for name in by_relevance(run.metrics):
        if metrics is not None and name not in metrics:
            continue
        curve = with_training_steps(run, name)
        begin, end = np.searchsorted(curve.steps, first, "left"), np.searchsorted(curve.steps, last, "right")
        if begin < end:
            steps = int(curve.steps[begin]), int(curve.steps[end - 1])
            entries.append(OverSteps(name, *steps, statistics(curve.values[begin:end])))
    return tuple(entries)


def as_text(run: Run, entries: Sequence[OverSteps], width: int | None = None) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited)."""
    first, last = min(entry.first for entry in entries), max(entry.last for entry in entries)
    yield f"{clean(run.name)}  {step_name(run)}s {first} to {last}"
    left_out = any(entry.values.left_out for entry in entries)
    columns = [
        Column("points", [str(entry.values.count) for entry in entries]),
        Column("mean", [format_exact(entry.values.mean) for entry in entries]),
        Column("± std", [_deviation(entry.values) for entry in entries], need=2),
        Column("min", [format_exact(entry.values.min) for entry in entries], need=4),
        Column("max", [format_exact(entry.values.max) for entry in entries], need=4),
        *unit_columns(run, [entry.name for entry in entries]),
    ]
    if left_out:
        columns.append(Column("not finite", [str(entry.values.left_out or "") for entry in entries], need=1))
    heads: list[str] = []
    yield from table("metric", [clean(entry.name) for entry in entries], columns, width, left_out=heads.append)
    yield from no_room(heads, width)


def _deviation(values: Statistics) -> str:
    return f"{values.deviation:.4g}" if values.count > 1 else ""


def as_json(runs: Sequence[tuple[Run, Sequence[OverSteps]]], first: int, last: int) -> str:
    """Return {"schema": 1, "steps": [first, last], "runs": [{"name", "path", "metrics": […]}]}."""
    documents: list[dict[str, Any]] = [
        {"name": run.name, "path": run.path, "metrics": [_fields(run, entry) for entry in entries]}
        for run, entries in runs
    ]
    return dumps({"schema": SCHEMA, "steps": [first, last], "runs": documents})


def _fields(run: Run, entry: OverSteps) -> dict[str, Any]:
    values = entry.values
    return {
        "name": entry.name,
        "unit": meaning_of(run, entry.name).logged_unit,
        "first_step": entry.first,
        "last_step": entry.last,
        "count": values.count,
        "not_finite": values.left_out,
        "mean": known(values.mean),
        "deviation": known(values.deviation) if values.count > 1 else None,
        "min": known(values.min),
        "max": known(values.max),
    }
