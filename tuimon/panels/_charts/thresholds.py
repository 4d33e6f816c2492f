"""Thresholds of the user as dashed lines of a chart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuimon.analysis.metric_filter import chosen
from tuimon.draw.numbers import format_exact
from tuimon.model.views import Envelope, Line, Role, Symbols
from tuimon.panels._charts.options import ChartOptions
from tuimon.panels._metrics import panel_concepts
from tuimon.vocabulary import Meaning

_DASH = 4
"""Dots of a dash and of the gap after it."""


def thresholds_of(
    panel: str, metric: str, meaning: Meaning, metrics: Sequence[str], options: ChartOptions
) -> tuple[float, ...]:
    """Return the thresholds of a chart, ascending. The parameters are those of `has_threshold`."""
    values: set[float] = set()
    for name, limits in options.thresholds:
        if has_threshold(name, panel, metric, meaning, metrics):
            values.update(limits)
    return tuple(sorted(values))


def has_threshold(name: str, panel: str, metric: str, meaning: Meaning, metrics: Sequence[str]) -> bool:
    """Whether the thresholds under a name belong to a chart.

    The name is the id of a panel, for all charts of its concepts, a metric of the run, a concept, or a pattern.
    panel: id of the chart's panel. metric, meaning: the first metric of the chart. metrics: all metrics of the run.
    """
    if name in (panel, metric):
        return True
    concepts = panel_concepts().get(name)
    if concepts is not None:
        return meaning.concept in concepts
    if name in metrics:
        return False
    return f"{meaning.concept}.".startswith(f"{name}.") or bool(chosen((metric,), (name,))[0])


def threshold_lines(values: Sequence[float], columns: int) -> list[Line]:
    """Return a dashed line for each threshold, labelled with its value."""
    on = np.arange(columns) // _DASH % 2 == 0
    gaps = np.where(on & ~np.append(on[1:], False), 1.0, 0.0)
    lines = []
    for value in values:
        flat = np.where(on, value, np.nan)
        lines.append(Line(format_exact(value), Role.WARNING, Envelope(flat, flat, flat, flat, gaps), behind=True))
    return lines


def outside_notes(values: Sequence[float], low: float, high: float, symbols: Symbols) -> list[str]:
    """Return "↑ 5, 6" for the thresholds above the limits, and "↓ -2" for those below."""
    above, below = [value for value in values if value > high], [value for value in values if value < low]
    arrows = "^v" if symbols is Symbols.ASCII else "↑↓"
    sides = zip(arrows, (above, below), strict=True)
    return [f"threshold {arrow} {', '.join(map(format_exact, outside))}" for arrow, outside in sides if outside]


def threshold_limits(values: Sequence[float], columns: int) -> list[Envelope]:
    """Return an envelope from the lowest to the highest threshold, for the limits of the y axis; [] without any."""
    if not values:
        return []
    low, high = np.full(columns, min(values)), np.full(columns, max(values))
    return [Envelope(low, high, low, high, np.zeros(columns))]
