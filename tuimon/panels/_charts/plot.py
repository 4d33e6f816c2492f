"""What a chart shows: the lines read at the cursor, their envelopes in the visible part of x, and the limits of y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_options

import numpy as np
from msgspec import Struct

from tuimon.analysis.words import time_of_day
from tuimon.draw.chart import plot_columns
from tuimon.draw.limits import finite_values, robust_limits, x_limits, y_limits
from tuimon.draw.numbers import format_duration, format_exact
from tuimon.model.views import Axis, Envelope, Size, Symbols
from tuimon.panels._charts.axes import axis_word, end_of_data
from tuimon.panels._charts.options import X_KINDS, ChartOptions
from tuimon.panels._charts.traces import Bins, Smoothed, Stroke, Trace, is_noisy, scale_of
from tuimon.store import Curve, Run, Scale
from tuimon.vocabulary import DATE

NOISY_WEIGHT = 0.9
"""Weight of the average of noisy runs that are drawn over each other, unless the user has chosen one."""
_PLACE = 10
"""Maximum characters of the cursor's place on an axis of numbers."""
_LOG_FROM = 100.0
"""Ratio at which scale="auto" becomes logarithmic, of the values that a tenth of the points are above and below: a
schedule that decays along a line, or a cosine, to a small value spans orders of magnitude in its last points only."""
_SAMPLES = 1000
"""Number of points of a curve, evenly spread, that scale="auto" looks at."""
_LEAST_HEIGHT = 0.25
"""Minimum fraction of the chart's height that its lines keep if the limits are extended to show a band."""


class Plot(Struct, frozen=True, eq=False):
    """What the parts of a chart depend on."""

    run: Run
    strokes: Sequence[Stroke]
    size: Size
    symbols: Symbols
    options: ChartOptions
    axis: str
    x: float | None
    """Place of the cursor on the axis."""
    extent: tuple[float, float]
    """x of the first and the last point."""
    bins: Bins
    raw: dict[int, Envelope]
    """Values of each trace by its `id`."""
    averages: dict[int, Smoothed]
    """Each trace by its `id` as it is drawn: the average, or else the values themselves."""
    noisy: bool
    """Whether the lines are smoothed because they are noisy."""

    @property
    def overlaid(self) -> bool:
        """Whether the lines are those of an overlay of runs."""
        return self.strokes[0].line is not None

    @property
    def lead(self) -> Trace:
        """The first trace of the first line."""
        return self.strokes[0].traces[0]

    @property
    def traces(self) -> list[Trace]:
        """The traces of all lines."""
        return [trace for stroke in self.strokes for trace in stroke.traces]

    @property
    def own(self) -> list[Trace]:
        """The traces of the run that is displayed."""
        return [trace for trace in self.traces if trace.run.id == self.run.id]

    @property
    def kind(self) -> str:
        """`Axis.kind` of the x axis."""
        return X_KINDS.get(self.axis, "number")

    @property
    def counts(self) -> list[int]:
        """Points of each trace in the visible part."""
        return [trace.curve.count_within(self.bins.low, self.bins.high, trace.scale) for trace in self.traces]

    @property
    def place(self) -> str:
        """Where the cursor is on the axis of an overlay: "step 150", "epoch 1.5", "time 17:42:03"; else ""."""
        cursor, x = self.options.cursor, self.x
        if not self.overlaid or cursor is None or x is None:
            return ""
        if self.axis == "step" or not np.isfinite(x):
            return f"{axis_word(self.run, 'step')} {cursor}"
        if self.axis == "duration":
            return f"{self.axis} {format_duration(x)}"
        return f"{axis_word(self.run, self.axis)} {time_of_day(x) if self.axis == 'time' else format_exact(x, _PLACE)}"

    def averages_at_cursor(self, stroke: Stroke) -> list[float | None]:
        """Return the average of each trace of a line at the cursor, None without one."""
        return [self.averages[id(trace)].at_cursor for trace in stroke.traces]


def plot_of(
    run: Run, strokes: Sequence[Stroke], size: Size, symbols: Symbols, options: ChartOptions, axis: str
) -> Plot:
    """Return the limits of x, the lines read at the cursor, and their envelopes."""
    lead = strokes[0].traces[0]
    x = _cursor_x(run, scale_of(run, axis) or lead.scale, lead.curve, options)
    overlaid = strokes[0].line is not None
    if x is not None and options.cursor is not None:
        strokes = [stroke.read_at(x if overlaid else None, options.cursor) for stroke in strokes]
    traces = [trace for stroke in strokes for trace in stroke.traces]
    first, last = min(trace.limits[0] for trace in traces), max(trace.limits[1] for trace in traces)
    kind = X_KINDS.get(axis, "number")
    if options.window is None:
        limits = x_limits(first, last, kind)
    else:
        last = max(last, end_of_data(run, lead.scale, lead.metric, last))
        limits = options.window.limits(last, kind)
    bins = Bins(*limits, plot_columns(max(size.width, 1), symbols))
    raw = {id(trace): trace.envelope(bins) for trace in traces}
    noisy = overlaid and options.smoothing is None and 2 * sum(map(is_noisy, raw.values())) > len(raw)
    if noisy:
        options = with_options(options, smoothing=NOISY_WEIGHT)
    weight = options.weight
    averages = {
        id(trace): trace.smoothed(weight, bins) if weight else Smoothed(raw[id(trace)], 1, None) for trace in traces
    }
    return Plot(run, strokes, size, symbols, options, axis, x, (first, last), bins, raw, averages, noisy)


def _cursor_x(run: Run, scale: Scale, curve: Curve, options: ChartOptions) -> float | None:
    """Return the x value of the cursor's step, or None without a cursor.

    On a time axis it is the time at which the run's most frequent metric was logged, the same on all charts.
    """
    if options.cursor is None:
        return None
    if curve.ordinal:
        if not (scale.is_time or scale.is_counter):
            return float(options.cursor)
        return float(curve.x_of_rows(np.array([min(max(options.cursor, 0), len(curve) - 1)]), scale)[0])
    reference = run.curve(run.busiest_metric) if scale.is_time and run.busiest_metric is not None else curve
    return reference.x_of_step(options.cursor, scale)


def y_axis(
    plot: Plot, panel: str, scale: str, envelopes: Sequence[Envelope], beside: Sequence[Envelope], label: str
) -> Axis:
    """Return the y axis for these envelopes.

    panel: the panel's id. scale: the panel's own scale, linear | auto. beside: bands and thresholds, which extend the
    limits as long as the lines keep _LEAST_HEIGHT.
    """
    options, traces = plot.options, plot.traces
    kind = "time" if all(trace.meaning.unit == DATE for trace in traces) else "number"
    chosen = options.y_scale if options.y_scale != "auto" else _scale_of(scale, [trace.curve for trace in traces])
    fixed = options.fixed_limits(panel)
    if fixed is not None and (chosen != "log" or fixed[0] > 0):
        return Axis(*fixed, chosen, kind, label)
    robust = robust_limits(envelopes, chosen) if options.y_range == "robust" else None
    if robust is not None:
        low, high = y_limits((), chosen, robust)
    else:
        shown = [*envelopes, *beside] if _leave_room(envelopes, beside) else envelopes
        low, high = y_limits(shown, chosen)
    return Axis(low, high, chosen, kind, label)


def _leave_room(envelopes: Sequence[Envelope], beside: Sequence[Envelope]) -> bool:
    lines, both = finite_values(envelopes), finite_values([*envelopes, *beside])
    if not len(lines):
        return True
    with np.errstate(over="ignore"):
        return bool(np.ptp(lines) >= np.ptp(both) * _LEAST_HEIGHT)


def _scale_of(scale: str, curves: Sequence[Curve]) -> str:
    if scale != "auto":
        return scale
    lows = [curve.min.value for curve in curves if curve.min is not None]
    if not lows or min(lows) <= 0:
        return "linear"
    values = np.concatenate([curve.values[:: -(-len(curve) // _SAMPLES)] for curve in curves if len(curve)])
    values = values[np.isfinite(values)]
    if not len(values):
        return "linear"
    low, high = np.percentile(values, (10, 90), method="closest_observation")
    return "log" if high / low >= _LOG_FROM else "linear"
