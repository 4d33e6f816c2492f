"""When a GPU will be full: the growth of the fullest device of each phase."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tuimon.analysis.forecast import Growth, growth, soon
from tuimon.model.views import Role, Span
from tuimon.panels._memory import MemoryTable
from tuimon.panels._select import curve_or_none
from tuimon.store import Run


class Forecast(Struct, frozen=True):
    """A device that fills up."""

    row: int
    """Which of the phases."""
    column: str
    growth: Growth


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
        found = growth(curve.steps, curve.values, table.scale_of[curve.metric]) if curve is not None else None
        if found is None or (left is not None and found.soonest > left):
            continue
        if best is None or found.steps < best.growth.steps:
            best = Forecast(place, column, found)
    return best


def forecast_words(found: Forecast, name: str) -> Span:
    """ "; critic.train_step on device 5 is full in 35 steps (30 to 41) at 0.15 points a step".

    name: of the phase; "" where it goes on about the one that was spoken of.
    """
    where = "" if not name else f"; {name} is" if found.column == "all" else f"; {name} on device {found.column} is"
    return f"{where or ','} full in {soon(found.growth)} at {found.growth.slope * 100:.2g} points a step", Role.WARNING
