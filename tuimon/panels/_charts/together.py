"""Several metrics in one chart, each drawn from its own minimum to its own maximum if their units differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_options

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.printed_units import meaning_of
from tuimon.draw.numbers import format_value
from tuimon.model.points import Floats
from tuimon.model.views import Axis, ChartView, Envelope, Line, Size, Symbols
from tuimon.panels._charts.chart import chart_of
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._metrics import drawn_curve
from tuimon.store import Run

MOST_TOGETHER = 8
"""Maximum number of metrics in the chart: as many as there are colours of curves."""


class TogetherPanel(Struct, frozen=True):
    """A chart of the given metrics of the displayed run, whatever their units are."""

    metrics: tuple[str, ...]
    id: str = "together"
    order: int = 0
    kind: str = "chart"
    rows: int = 0

    @property
    def title(self) -> str:
        """Names of the metrics."""
        return ", ".join(self.metrics)

    def relevant(self, run: Run) -> bool:
        """Whether the run has one of the metrics."""
        return any(name in run.metrics for name in self.metrics)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> ChartView:
        """Return the chart. The legend has the range of each line, unless all have one unit and share the axis."""
        curves = [(name, curve) for name in self.metrics if (curve := drawn_curve(run, name)) is not None]
        series = [(name, meaning_of(run, name), curve) for name, curve in curves]
        quantities = {(meaning.concept.partition(".")[0], meaning.unit) for _, meaning, _ in series}
        alike = len(quantities) == 1 and bool(series[0][1].concept)  # of reward.train and reward.val, the reward
        if not alike:
            options = with_options(options, y_scale="linear", y_range="full", y_fixed=(), thresholds=())
        view = chart_of(run, "together", series, size, symbols, options=options, label=lambda name: name, panel=self.id)
        return view if alike or len(series) < 2 else _normalised(view)


def _normalised(view: ChartView) -> ChartView:
    """Return the chart with each line from 0, its minimum in the window, to 1, its maximum."""
    ranges = {
        line.metric: _range([other for other in view.lines if other.metric == line.metric]) for line in view.lines
    }
    lines = tuple(_placed(line, *ranges[line.metric]) for line in view.lines if line.metric)
    note = ", ".join(filter(None, ["each from its lowest to its highest value", view.note]))
    return replace(view, lines=lines, y=Axis(0.0, 1.0), note=note, headline=())


def _range(lines: Sequence[Line]) -> tuple[float, float]:
    values = np.concatenate([part for line in lines for part in (line.envelope.low, line.envelope.high)])
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


def _placed(line: Line, low: float, high: float) -> Line:
    def place(values: Floats) -> Floats:
        if high <= low:
            return np.where(np.isfinite(values), 0.5, np.nan)
        placed: Floats = values / 2 - low / 2  # the difference of two large values stays finite
        return placed / (high / 2 - low / 2)

    envelope = line.envelope
    placed = Envelope(
        place(envelope.low), place(envelope.high), place(envelope.first), place(envelope.last), envelope.gap_after
    )
    label = f"{line.label} {format_value(low)} to {format_value(high)}" if line.label else ""
    return replace(line, envelope=placed, label=label)
