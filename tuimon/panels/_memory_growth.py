"""When a GPU will be full: the growth of the fullest device of each phase, told only where it is more than noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.analysis.trend import trend
from tuimon.model.views import Role, Span
from tuimon.panels._memory import MemoryTable
from tuimon.panels._select import curve_or_none
from tuimon.panels._text import thousands
from tuimon.store import Curve, Run

_FEWEST = 20
"""Points of the newest half of the run that a forecast is made from, at the least."""
_LEAST_RISE = 0.01
"""Part of the device that it must have grown by over them."""
_FARTHEST = 4.0
"""A forecast reaches no farther than so many times the steps that it is made from."""
_NOW = 5


class Forecast(Struct, frozen=True):
    """A device that fills up, in steps from the newest point."""

    row: int
    """Which of the phases."""
    column: str
    slope: float
    """Part of the device a step."""
    steps: float
    """Until it is full, if it goes on."""
    soonest: float
    latest: float
    """By the 95 % interval of the slope."""


def growth(curve: Curve, scale: float = 1.0) -> tuple[float, float, float, float] | None:
    """(slope, steps until 1.0, soonest, latest) of a fraction that rises; None where that is not sure.

    By Theil & Sen's slope over the newest half of the run, significant by Mann & Kendall's test, and rising in both
    halves of it: what rose once and stands still since foretells nothing.
    """
    half = len(curve) // 2
    steps, values = curve.steps[half:], curve.values[half:] * scale
    if len(steps) < _FEWEST:
        return None
    quarters = [part[np.isfinite(part)] for part in np.array_split(values, 4)]
    medians = [float(np.median(part)) for part in quarters if len(part)]
    if len(medians) < 4 or medians[3] - medians[0] < _LEAST_RISE / 2:
        return None
    if not (medians[0] < medians[1] and medians[2] < medians[3]):
        return None
    found = trend(steps, values)
    if found.direction != "rising" or found.slope_low <= 0 or found.change < _LEAST_RISE:
        return None
    finite = values[np.isfinite(values)]
    left = 1.0 - float(np.median(finite[-_NOW:]))
    if left <= 0 or left / found.slope > _FARTHEST * found.steps:
        return None
    return found.slope, left / found.slope, left / found.slope_high, left / found.slope_low


def soonest_full(
    run: Run,
    table: MemoryTable,
    cells: Sequence[Sequence[float | None]],
    phases: Sequence[str],
    columns: Sequence[str],
    kind: str,
    left: int | None,
) -> Forecast | None:
    """The device that will be full first, of the fullest of each phase; None where none is foretold to be before the
    run ends. cells: their newest fractions; left: steps until the end of the run, None unknown."""
    best: Forecast | None = None
    for place, (phase, row) in enumerate(zip(phases, cells, strict=True)):
        known = [(value, column) for value, column in zip(row, columns, strict=True) if value is not None]
        if not known:
            continue
        column = max(known)[1]
        metric = table.metric_of.get((phase, column, kind))
        curve = curve_or_none(run, metric) if metric else None
        found = growth(curve, table.scale_of[curve.metric]) if curve is not None else None
        if found is None or (left is not None and found[2] > left):
            continue
        if best is None or found[1] < best.steps:
            best = Forecast(place, column, *found)
    return best


def forecast_words(found: Forecast, name: str) -> Span:
    """ "; critic.train_step on device 5 is full in 35 steps (30 to 41) at 0.15 points a step".

    name: of the phase; "" where it goes on about the one that was spoken of.
    """
    where = "" if not name else f"; {name} is" if found.column == "all" else f"; {name} on device {found.column} is"
    soon = f"{_round(found.steps)} steps ({_round(found.soonest)} to {_round(found.latest)})"
    return f"{where or ','} full in {soon} at {found.slope * 100:.2g} points a step", Role.WARNING


def _round(steps: float) -> str:
    """Two digits are all that a forecast is worth."""
    digits = max(len(str(int(steps))) - 2, 0)
    return thousands(int(round(steps, -digits)))
