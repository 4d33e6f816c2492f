"""All metrics of a run around one step: what stood there, before and after it, and what is out of the ordinary."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.statistics import statistics
from tuimon.draw.numbers import format_value
from tuimon.exports._json import dumps
from tuimon.exports._table import Column, no_room, table
from tuimon.panels import telling
from tuimon.store import Curve, Run
from tuimon.text import clean

SCHEMA = 1
_BEFORE = 20
_FEWEST = 5
_UNUSUAL = 5.0
"""Deviations from which a value is called out of the ordinary."""


class Around(Struct, frozen=True):
    """One metric at a step."""

    name: str
    step: int
    """Of its last point at or before the step that was asked for."""
    value: float
    before: float | None
    """Of the point before that one; None where there is none. So is the next."""
    after: float | None
    deviations: float
    """How many robust deviations of the 20 points before it the value lies above their median; NaN with less than 5."""

    @property
    def unusual(self) -> bool:
        """Whether the value stands out from those before it."""
        return abs(self.deviations) >= _UNUSUAL or not math.isfinite(self.value)


def around(run: Run, step: int) -> tuple[Around, ...]:
    """Every metric that has a point at or before the step, the most telling first."""
    return tuple(found for name in telling(run.metrics) if (found := _around(name, run.curve(name), step)) is not None)


def _around(name: str, curve: Curve, step: int) -> Around | None:
    at = int(np.searchsorted(curve.steps, step, "right")) - 1
    if at < 0:
        return None
    values = curve.values
    before = float(values[at - 1]) if at else None
    after = float(values[at + 1]) if at + 1 < len(values) else None
    return Around(name, int(curve.steps[at]), float(values[at]), before, after, _deviations(curve, at))


def _deviations(curve: Curve, at: int) -> float:
    told = statistics(curve.values[max(0, at - _BEFORE) : at])
    away = float(curve.values[at]) - told.median
    if told.count < _FEWEST or not math.isfinite(away):
        return math.nan
    if told.spread == 0:
        return 0.0 if away == 0 else math.copysign(math.inf, away)
    return away / told.spread


def as_text(run: Run, step: int, width: int | None = None, unusual: bool = False) -> Iterator[str]:
    """Lines for a person. unusual: only what is out of the ordinary."""
    found = [one for one in around(run, step) if one.unusual or not unusual]
    yield f"{clean(run.name)}  around step {step}"
    if not found:
        yield "  nothing out of the ordinary" if unusual and run.metrics else "  no metric has a point so early"
        return
    columns = [
        Column("step", [str(one.step) for one in found]),
        Column("before", [_shown(one.before) for one in found], need=2),
        Column("value", [format_value(one.value) for one in found]),
        Column("after", [_shown(one.after) for one in found], need=4),
        Column("unusual", [_unusual(one) for one in found], need=3, left=True),
    ]
    left_out: list[str] = []
    yield from table("metric", [clean(one.name) for one in found], columns, width, left_out=left_out.append)
    yield from no_room(left_out, width)


def _shown(value: float | None) -> str:
    return "" if value is None else format_value(value)


def _unusual(one: Around) -> str:
    if not one.unusual:
        return ""
    if not math.isfinite(one.value):
        return "not finite"
    if math.isinf(one.deviations):
        return "constant before"
    return f"{one.deviations:+.3g} deviations"


def as_json(runs: tuple[Run, ...], step: int) -> str:
    """{"schema": 1, "step": …, "runs": [{"name", "path", "metrics": [{"name", "step", "value", "before", "after",
    "deviations", "unusual"}]}]}; numbers as in summary_json."""
    told: list[dict[str, Any]] = []
    for run in runs:
        metrics = [
            {
                "name": one.name,
                "step": one.step,
                "value": one.value,
                "before": one.before,
                "after": one.after,
                "deviations": None if math.isnan(one.deviations) else one.deviations,
                "unusual": one.unusual,
            }
            for one in around(run, step)
        ]
        told.append({"name": run.name, "path": run.path, "metrics": metrics})
    return dumps({"schema": SCHEMA, "step": step, "runs": told})
