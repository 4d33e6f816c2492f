"""Traces of a chart: a metric of a run with its place on the x axis, its envelopes, averages and bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from tuimon.analysis.comparison_rows import level_until
from tuimon.analysis.smoothing import smooth
from tuimon.draw.raster import spark_columns, sparkline
from tuimon.model.points import Floats
from tuimon.model.views import DIM_ROLES, SERIES_ROLES, Envelope, Role, Symbols
from tuimon.panels._charts.overlay_lines import OverlayLine
from tuimon.panels._metrics import MetricReading
from tuimon.store import Curve, Run, Scale, envelope_of_points
from tuimon.store.envelope import wide_enough

_BLOCKS = 2048
"""Maximum number of values (block means) per chart that an average is computed from."""
_NEGLIGIBLE = 1e-9
"""Points with a smaller weight than this are left out of an average."""
_SAME = 1e-9
"""Fraction by which positions on an axis of numbers may differ and be equal: epochs are sums."""
_FEWEST_NOISY, _NOISY = 30, 0.1
"""Minimum number of columns of a curve that counts as noisy, and length of its steps relative to its range."""
_NEARLY = 0.01
"""Fraction of the steps by which a seed may end before the longest one and count at its end: about a column."""


class Bins(Struct, frozen=True):
    """The part of an x axis that a chart shows, in as many columns as its canvas has dots."""

    low: float
    high: float
    columns: int

    @property
    def width(self) -> float:
        """Width of a column."""
        return (self.high - self.low) / self.columns

    def has(self, x: float) -> bool:
        """Whether an x value is shown."""
        return self.low <= x <= self.high


class Smoothed(NamedTuple):
    """The average of a curve, as it is drawn."""

    envelope: Envelope
    block: int
    """Number of points in a block."""
    at_cursor: float | None
    """The average at the last point at or before the cursor; None without a cursor or outside of the x limits."""


class Series(Struct, frozen=True, eq=False):
    """What a line of a chart is made of: a metric of a run, or of the runs that share a line of an overlay."""

    readings: tuple[tuple[Run, MetricReading | None], ...]
    """(run, its metric or None if it has none)."""
    label: str = ""
    """Name in the legend; "" for what distinguishes the metric from those of the other lines."""
    line: OverlayLine | None = None
    """The line of an overlay, which has its own name, marker and colour."""


class Trace(MetricReading, frozen=True, eq=False):
    """A metric of a run on the x axis of a chart."""

    run: Run
    scale: Scale
    limits: tuple[float, float]
    """x of the first and the last point."""
    step: int | None = None
    """The step whose value is displayed, that of the last point at or before the cursor's place on the axis (before
    the first step if there is none), or that of the cursor on the axis of steps; None without a cursor."""
    is_inside: bool = False
    """Whether the cursor is between the first and the last point."""
    own_step: bool = False
    """Whether `step` was found by its place on an axis on which runs differ in it; it is shown beside the value."""

    @property
    def value(self) -> float:
        """The value at `step`; NaN without one."""
        return math.nan if self.step is None else self.curve.value_at(self.step) * self.factor

    def read_at(self, x: float | None, cursor: int) -> Trace:
        """Return the trace with the step of its last point at or before x; with the cursor's own step without x."""
        if x is None:
            return replace(self, step=cursor, is_inside=True)
        slack, own_step = 0.0 if self.scale.is_time else abs(x) * _SAME, self.scale.name != "step"
        if not x + slack >= self.limits[0]:
            step = -1 if self.curve.ordinal else int(self.curve.steps[0]) - 1
            return replace(self, step=step, is_inside=False, own_step=own_step)
        step = int(x)
        if own_step:
            row = self.curve.row_near(x + slack, self.scale)
            step = row if self.curve.ordinal else int(self.curve.steps[row])
        return replace(self, step=step, is_inside=x - slack <= self.limits[1], own_step=own_step)

    def envelope(self, bins: Bins, curve: Curve | None = None) -> Envelope:
        """Return the envelope of the curve, or of another one on the same axis, in the unit of the concept."""
        curve = self.curve if curve is None else curve
        return scaled(curve.envelope(bins.low, bins.high, bins.columns, self.scale), self.factor)

    def smoothed(self, weight: float, bins: Bins) -> Smoothed:
        """Return the debiased exponential average of the part that is shown.

        Up to 2048 points inside it, the average covers every point since the first (except points whose weight is below
        1e-9). Of more points, blocks of 2, 4, 8 … are averaged first: a weight then smooths a chart as much whatever
        the length of the curve, and the cost depends on the chart only.
        """
        curve, scale = self.curve, self.scale
        before = math.ceil(math.log(_NEGLIGIBLE) / math.log(weight))
        x, values, block = curve.block_means(bins.low, bins.high, _BLOCKS, before, scale)
        average = smooth(values, weight)
        known = np.isfinite(average)
        x, average = x[known], average[known]
        at_cursor: float | None = None
        if self.step is not None and (row := curve.row_after(self.step) - 1) >= 0:
            place = float(curve.x_of_rows(np.array([row]), scale)[0])
            last = int(np.searchsorted(x, place, "right")) - 1
            if bins.has(place) and last >= 0:
                at_cursor = float(average[last]) * self.factor
        envelope = envelope_of_points(x, average, bins.low, bins.high, bins.columns)
        return Smoothed(scaled(envelope, self.factor), block, at_cursor)


class Stroke(Struct, frozen=True, eq=False):
    """A line of a chart with its traces; several are drawn as their mean in an area from lowest to highest."""

    traces: tuple[Trace, ...]
    label: str
    role: Role
    glyph: str
    line: OverlayLine | None

    @property
    def area(self) -> Role:
        """Role of the area around the mean, and of raw values behind an average."""
        return DIM_ROLES[SERIES_ROLES.index(self.role)] if self.role in SERIES_ROLES else Role.FAINT

    @property
    def value(self) -> float:
        """The mean of the values at the cursor, over the traces that have one; NaN if none is finite.

        Without a cursor it is the mean of the levels at the ends of the traces in `at_end`.
        """
        if self.traces[0].step is None:
            values = [level_until(trace.curve, None) * trace.factor for trace in self.at_end]
        else:
            values = [trace.value for trace in self.traces if trace.is_inside]
        known = [value for value in values if math.isfinite(value)]
        return float(np.mean(known)) if known else math.nan

    @property
    def at_end(self) -> Sequence[Trace]:
        """The traces that have reached the last step of the longest one, but for _NEARLY of the steps; all traces if
        steps are not logged."""
        if any(trace.curve.ordinal for trace in self.traces):
            return self.traces
        first = min(int(trace.curve.steps[0]) for trace in self.traces)
        last = max(int(trace.curve.steps[-1]) for trace in self.traces)
        return [trace for trace in self.traces if last - int(trace.curve.steps[-1]) <= (last - first) * _NEARLY]

    def read_at(self, x: float | None, cursor: int) -> Stroke:
        """Return the line with its traces read at the cursor."""
        return replace(self, traces=tuple(trace.read_at(x, cursor) for trace in self.traces))


def strokes_of(series: Sequence[Series], axis: str, markers: str) -> tuple[list[Stroke], int]:
    """Return (lines that have points on the axis, number of metrics that have none).

    A metric without any point counts only in an overlay. markers: symbols of the lines of one run.
    """
    strokes: list[Stroke] = []
    without = 0
    for own in series:
        traces = [trace for run, reading in own.readings if (trace := trace_of(run, reading, axis)) is not None]
        known = [reading for _, reading in own.readings if own.line or (reading is not None and len(reading.curve))]
        without += len(known) - len(traces)
        if traces:
            index = len(strokes)
            label, glyph = own.label, markers[index : index + 1]
            role = SERIES_ROLES[index % len(SERIES_ROLES)]
            if own.line is not None:
                label, glyph, role = own.line.label, own.line.marker, own.line.role
            strokes.append(Stroke(tuple(traces), label, role, glyph, own.line))
    return strokes, without


def trace_of(run: Run, reading: MetricReading | None, axis: str) -> Trace | None:
    """Return the trace of a metric; None for a run without it, or without a point on the axis."""
    scale = scale_of(run, axis)
    if reading is None or scale is None:
        return None
    limits = reading.curve.limits(scale)
    return None if limits is None else Trace(**asdict(reading), run=run, scale=scale, limits=limits)


def scale_of(run: Run, axis: str) -> Scale | None:
    """Return an axis of the run, or None if the run does not have it."""
    if run.has_axis(axis):
        return run.scale(axis)
    # In a run that begins at its first step, relative steps equal steps.
    return Scale(axis) if axis == "relative step" else None


def scaled(envelope: Envelope, factor: float) -> Envelope:
    """Return the envelope with its values multiplied by `factor`."""
    if factor == 1.0:
        return envelope
    low, high = envelope.low * factor, envelope.high * factor
    if factor < 0:
        low, high = high, low
    return Envelope(low, high, envelope.first * factor, envelope.last * factor, envelope.gap_after)


def spark(curve: Curve, factor: float, cells: int, symbols: Symbols) -> str:
    """Return the curve as a sparkline of `cells` cells; "" without a point."""
    limits = curve.limits()
    if limits is None:
        return ""
    envelope = curve.envelope(*wide_enough(*limits), spark_columns(cells, symbols))
    return sparkline(scaled(envelope, factor), cells, symbols)


def is_noisy(envelope: Envelope) -> bool:
    """Whether half of the steps from column to column are longer than a tenth of the curve's range (5 to 95 %)."""
    known = np.isfinite(envelope.last)
    values = envelope.last[known]
    if len(values) < _FEWEST_NOISY:
        return False
    low, high = np.percentile(values, (5, 95))
    steps = np.maximum(np.abs(np.diff(values)), (envelope.high - envelope.low)[known][1:])
    return bool(np.median(steps) > _NOISY * (high - low) > 0)


def interpolated(values: Floats) -> Floats | None:
    """Fill NaN columns between finite ones by linear interpolation; return None if no column is finite."""
    full = np.flatnonzero(np.isfinite(values))
    if not len(full):
        return None
    return np.interp(np.arange(len(values)), full, values[full], left=np.nan, right=np.nan)


def mean_and_band(envelopes: Sequence[Envelope]) -> tuple[Envelope, Envelope]:
    """Return (mean, band) of several runs by column: the mean of their last values, and from lowest to highest value.

    Columns of a run without a point are interpolated; a run does not count before its first and after its last point.
    """
    lasts = _stacked([envelope.last for envelope in envelopes])
    lows, highs = _stacked([envelope.low for envelope in envelopes]), _stacked([e.high for e in envelopes])
    counts = np.isfinite(lasts).sum(axis=0)
    known = counts > 0
    mean, least, most = (np.full(len(known), np.nan) for _ in range(3))
    scale = np.nanmax(np.abs(lasts)) or 1.0 if known.any() else 1.0  # sums of large values stay finite
    mean[known] = np.nansum(lasts[:, known] / scale, axis=0) / counts[known] * scale
    least[known], most[known] = np.nanmin(lows[:, known], axis=0), np.nanmax(highs[:, known], axis=0)
    none, gaps = np.zeros(len(known)), np.ones(len(known))
    return Envelope(mean, mean, mean, mean, none), Envelope(least, most, least, most, gaps)


def _stacked(columns: Sequence[Floats]) -> Floats:
    rows = [interpolated(values) for values in columns]
    return np.stack([np.full(len(columns[0]), np.nan) if row is None else row for row in rows])
