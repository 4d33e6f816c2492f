"""Several metrics in one chart, each drawn from its own minimum to its own maximum if their units differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_options

import numpy as np
from msgspec.structs import replace

from tuimon.draw.limits import finite_values, robust_limits
from tuimon.draw.numbers import format_value
from tuimon.draw.raster import unit_height
from tuimon.model.points import Floats
from tuimon.model.views import Axis, ChartView, Envelope, Size, Symbols
from tuimon.panels._charts.chart import chart_of
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.overlay_lines import SHAPES
from tuimon.panels._charts.panel import Panel
from tuimon.panels._charts.traces import Series
from tuimon.panels._metrics import reading_drawn
from tuimon.store import Run

MOST_TOGETHER = 8
"""Maximum number of metrics in the chart: as many as there are colours of curves."""


class TogetherPanel(Panel, frozen=True):
    """A chart of the given metrics of the displayed run, whatever their units are."""

    metrics: tuple[str, ...] = ()
    kind: str = "chart"

    def relevant(self, run: Run) -> bool:
        """Whether the run has one of the metrics."""
        return any(name in run.metrics for name in self.metrics)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> ChartView:
        """Return the chart. The legend has the range of each line, unless all have one unit and share the axis."""
        readings = [reading for name in self.metrics if (reading := reading_drawn(run, name)) is not None]
        quantities = {(reading.meaning.concept.partition(".")[0], reading.meaning.unit) for reading in readings}
        alike = len(quantities) == 1 and bool(readings[0].meaning.concept)  # of reward.train and reward.val, the reward
        linear = with_options(options, y_scale="linear", y_range="full", y_fixed=(), thresholds=())
        view = chart_of(
            run,
            "together",
            [Series(((run, reading),), reading.metric) for reading in readings],
            size,
            symbols,
            options if alike else linear,
            panel=self.id,
            markers=SHAPES if options.weight and not alike else "",
        )
        return view if alike or len(readings) < 2 else _normalised(view, options)


def together_panel(metrics: tuple[str, ...]) -> TogetherPanel:
    """Return the panel of these metrics, titled with their names."""
    return TogetherPanel("together", ", ".join(metrics), metrics=metrics)


def _normalised(view: ChartView, options: ChartOptions) -> ChartView:
    """Return the chart with each metric from 0, the lowest value that is drawn of it, to 1, the highest, on the chosen
    scale."""
    scale = "linear" if options.y_scale == "auto" else options.y_scale
    drawn: dict[str, list[Envelope]] = {}
    for line in view.lines:
        if line.metric:
            drawn.setdefault(line.metric, []).append(line.envelope)
    axes = {metric: _axis_of(envelopes, scale, options.y_range) for metric, envelopes in drawn.items()}
    lines = tuple(
        replace(
            line,
            envelope=_placed(line.envelope, axes[line.metric], scale),
            values=_with_range(line.values, _range(drawn[line.metric])),
        )
        for line in view.lines
        if line.metric
    )
    words = "each from its lowest to its highest value"
    words += " without outliers" if options.y_range == "robust" else ""
    words += f" on its own {scale} scale" if scale != "linear" else ""
    words += ", raw values dim" if options.weight else ""
    return replace(view, lines=lines, y=Axis(0.0, 1.0, kind="extent"), notes=(words, *view.notes), headline=())


def _with_range(values: Sequence[str], limits: str) -> tuple[str, ...]:
    """Return the forms of a value with the range of the line, which has no other place; the range alone without one."""
    return (f"{values[0]} ({limits})", f"{values[-1]} ({limits})", limits) if values else (limits,)


def _range(envelopes: Sequence[Envelope]) -> str:
    values = finite_values(envelopes)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    return f"{format_value(low)} to {format_value(high)}"


def _axis_of(envelopes: Sequence[Envelope], scale: str, y_range: str) -> Axis | None:
    """Return the axis from the lowest to the highest value (of the positive ones on a log scale, without outliers in
    the robust range); None if these are equal or there is no value."""
    values = finite_values(envelopes)
    robust = robust_limits(envelopes, scale) if y_range == "robust" else None
    values = values if robust is None else np.array(robust)
    if scale == "log":
        values = values[values > 0]
    if not len(values) or values.min() == values.max():
        return None
    return Axis(float(values.min()), float(values.max()), scale)


def _placed(envelope: Envelope, axis: Axis | None, scale: str) -> Envelope:
    """Return the envelope as fractions of its axis; without an axis in the middle, and values without a logarithm at
    the bottom."""

    def place(values: Floats) -> Floats:
        placed = np.where(np.isfinite(values), 0.5, np.nan) if axis is None else unit_height(values, axis)
        return np.where(values <= 0, 0.0, placed) if scale == "log" else placed

    return Envelope(
        place(envelope.low), place(envelope.high), place(envelope.first), place(envelope.last), envelope.gap_after
    )
