"""The values of all metrics around one step, and which of them are unusual there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, structs

from tuimon.analysis.statistics import statistics
from tuimon.draw.numbers import format_exact
from tuimon.exports import texts
from tuimon.exports._shared import dumps
from tuimon.exports.table import Column, no_room, table
from tuimon.panels import by_relevance
from tuimon.store import Curve, Run
from tuimon.text import clean

SCHEMA = 1
_BEFORE = 20
"""Number of points before the step that a value is compared with."""
_FEWEST = 5
"""Minimum number of these points."""
_UNUSUAL = 5.0
"""Robust deviations from the median at which a value counts as unusual."""


class Around(Struct, frozen=True):
    """One metric at a step."""

    name: str
    step: int
    """Step of the last point at or before the requested step."""
    value: float
    before: float | None
    """Value of the previous point, or None."""
    after: float | None
    """Value of the next point, or None."""
    deviations: float
    """Distance from the median of the previous 20 points, in their robust deviations; NaN with fewer than 5 points."""

    @property
    def unusual(self) -> bool:
        """True if the value differs clearly from the previous ones, or is not finite."""
        return abs(self.deviations) >= _UNUSUAL or not math.isfinite(self.value)


def around(run: Run, step: int) -> tuple[Around, ...]:
    """Return the metrics with a point at or before the step, the most important first."""
    entries = (_around(name, run.curve(name), step) for name in by_relevance(run.metrics))
    return tuple(entry for entry in entries if entry is not None)


def _around(name: str, curve: Curve, step: int) -> Around | None:
    index = int(np.searchsorted(curve.steps, step, "right")) - 1
    if index < 0:
        return None
    values = curve.values
    before = float(values[index - 1]) if index else None
    after = float(values[index + 1]) if index + 1 < len(values) else None
    return Around(name, int(curve.steps[index]), float(values[index]), before, after, _deviations(curve, index))


def _deviations(curve: Curve, index: int) -> float:
    previous = statistics(curve.values[max(0, index - _BEFORE) : index])
    distance = float(curve.values[index]) - previous.median
    if previous.count < _FEWEST or not math.isfinite(distance):
        return math.nan
    if previous.spread == 0:
        return 0.0 if distance == 0 else math.copysign(math.inf, distance)
    return distance / previous.spread


def as_text(
    run: Run, step: int, width: int | None = None, unusual: bool = False, samples: Sequence[str] = ()
) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited). unusual: only unusual metrics. samples: directories
    outside of the run with generated texts."""
    entries = [entry for entry in around(run, step) if entry.unusual or not unusual]
    yield f"{clean(run.name)}  around step {step}"
    if entries:
        yield from _table(entries, width)
    else:
        yield "  nothing unusual" if unusual and run.metrics else "  no metric has a point at or before this step"
    if (found := texts.of_run(run, step, samples)) is not None:
        yield from texts.as_lines(found, width)


def _table(entries: list[Around], width: int | None) -> Iterator[str]:
    columns = [
        Column("step", [str(entry.step) for entry in entries]),
        Column("before", [_value_text(entry.before) for entry in entries], need=2),
        Column("value", [_value_text(entry.value) for entry in entries]),
        Column("after", [_value_text(entry.after) for entry in entries], need=4),
        Column("unusual", [_remark(entry) for entry in entries], need=3, left=True),
    ]
    left_out: list[str] = []
    yield from table("metric", [clean(entry.name) for entry in entries], columns, width, left_out=left_out.append)
    yield from no_room(left_out, width)


def _value_text(value: float | None) -> str:
    """Return every digit of a value: the command is for exact values."""
    return "" if value is None else format_exact(value)


def _remark(entry: Around) -> str:
    if not entry.unusual:
        return ""
    if not math.isfinite(entry.value):
        return "not finite"
    if math.isinf(entry.deviations):
        return "constant before"
    return f"{entry.deviations:+.3g} deviations"


def as_json(runs: tuple[Run, ...], step: int, samples: Sequence[str] = ()) -> str:
    """Return {"schema": 1, "step": …, "runs": [{"name", "path", "metrics": […], "texts": {…}}]}.

    Each metric has the fields of Around and "unusual". Numbers are written as in summary_json.
    """
    documents: list[dict[str, Any]] = []
    for run in runs:
        metrics = [
            structs.asdict(entry)
            | {"deviations": None if math.isnan(entry.deviations) else entry.deviations, "unusual": entry.unusual}
            for entry in around(run, step)
        ]
        found = texts.as_fields(texts.of_run(run, step, samples), run.directory)
        documents.append({"name": run.name, "path": run.path, "metrics": metrics, "texts": found})
    return dumps({"schema": SCHEMA, "step": step, "runs": documents})
