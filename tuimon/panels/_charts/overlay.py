"""One metric of several runs on one chart, each run in its own colour and with its own marker."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.comparing import distinct_names
from tuimon.analysis.comparison_rows import level_until
from tuimon.draw.chart import plot_columns
from tuimon.draw.limits import x_limits
from tuimon.draw.numbers import format_value
from tuimon.draw.rows import row_width
from tuimon.model.points import Floats
from tuimon.model.views import Axis, ChartView, Envelope, Line, Mark, Role, Row, Rows, Size, Symbols
from tuimon.panels._charts.axes import cursor_place, cursor_x, x_label, y_axis
from tuimon.panels._charts.captions import cursor_value, nonfinite_counts, superseded_value, thinned, with_average
from tuimon.panels._charts.chart import pin_of, scale_note, smoothing_note
from tuimon.panels._charts.marks import marks_of, milestone_legend, milestones, restart_marks
from tuimon.panels._charts.options import X_KINDS, ChartOptions
from tuimon.panels._charts.overlay_legend import LEGEND_GAP, wrapped_legend
from tuimon.panels._charts.overlay_lines import OverlayLine, failure_sign
from tuimon.panels._charts.table import TableLine, line_table
from tuimon.panels._charts.traces import Smoothed, interpolated, scaled, smoothed
from tuimon.panels._metrics import MetricReading, level_difference
from tuimon.panels._text import plural, signed
from tuimon.store import Run, Scale
from tuimon.text import cell_width, clean

MAX_OVERLAY = 32
"""Maximum number of lines on a chart; the note has the number of the others."""
_SAME = 1e-9
"""Fraction by which positions on an axis of numbers may differ and be equal: epochs are sums."""
_NEARLY = 0.01
"""Fraction of the steps by which a seed may end before the longest one and count at its end: about a column."""

SEEDS_NOTE = "seeds: mean, area min to max"
"""What the line and the area of runs that differ only in their seed are."""


class _Trace(Struct, frozen=True):
    """A run with the metric on the chart, and its place on the x axis."""

    run: Run
    reading: MetricReading
    scale: Scale
    limits: tuple[float, float]
    step: int | None = None
    """The step whose value is displayed, that of the last point at or before the cursor's place on the axis (before
    the first step if there is none), or that of the cursor on the axis of steps; None without a cursor."""
    is_inside: bool = False
    """Whether the cursor is between the first and the last point."""

    @property
    def value(self) -> float:
        """The value at `step`; NaN without one."""
        return math.nan if self.step is None else self.reading.curve.value_at(self.step) * self.reading.factor

    def read_at(self, x: float) -> _Trace:
        """Return the trace with the step of its last point at or before x."""
        curve = self.reading.curve
        slack = 0.0 if self.scale.is_time else abs(x) * _SAME
        if not x + slack >= self.limits[0]:
            return replace(self, step=-1 if curve.ordinal else int(curve.steps[0]) - 1, is_inside=False)
        if self.scale.name == "step":
            step = int(x)
        else:
            row = curve.row_near(x + slack, self.scale)
            step = row if curve.ordinal else int(curve.steps[row])
        return replace(self, step=step, is_inside=x - slack <= self.limits[1])


class _Group(Struct, frozen=True):
    """A line of the overlay with the traces that it is made of."""

    line: OverlayLine
    traces: tuple[_Trace, ...]

    @property
    def value(self) -> float:
        """The mean of the group's values at the cursor, over the runs that have one; NaN if none is finite.

        Without a cursor it is the mean of the levels at the ends of the runs in `at_end`.
        """
        if self.traces[0].step is None:
            values = [level_until(reading.curve, None) * reading.factor for reading in self.at_end]
        else:
            values = [trace.value for trace in self.traces if trace.is_inside]
        known = [value for value in values if math.isfinite(value)]
        return float(np.mean(known)) if known else math.nan

    @property
    def at_end(self) -> list[MetricReading]:
        """The runs that have reached the last step of the longest one, but for _NEARLY of the steps; all runs if steps
        are not logged."""
        readings = [trace.reading for trace in self.traces]
        if any(reading.curve.ordinal for reading in readings):
            return readings
        first = min(int(reading.curve.steps[0]) for reading in readings)
        last = max(int(reading.curve.steps[-1]) for reading in readings)
        return [reading for reading in readings if last - int(reading.curve.steps[-1]) <= (last - first) * _NEARLY]


def overlay_of(
    shown: Run,
    title: str,
    lines: Sequence[tuple[OverlayLine, Sequence[tuple[Run, MetricReading | None]]]],
    size: Size,
    symbols: Symbols,
    scale: str,
    options: ChartOptions,
    panel: str,
    base: MetricReading | None = None,
    concepts: Sequence[str] = (),
) -> ChartView:
    """Return a chart of one metric over several runs; a run without the metric has no line.

    Runs share the chosen x axis: steps, time since the start of each, tokens … There is no headline, as the legend has
    a value for each line. Only events of the displayed run are marked, and restarts of the base run.
    """
    axis = options.axis_of(shown)
    groups: list[_Group] = []
    without = 0
    for line, readings in lines:
        traces = [trace for run, reading in readings if (trace := _trace(run, reading, axis)) is not None]
        without += len(readings) - len(traces)
        if traces:
            groups.append(_Group(line, tuple(traces)))
    kind = X_KINDS.get(axis, "number")
    if not groups:
        return ChartView(title, (), Axis(0.0, 1.0, kind=kind), Axis(0.0, 1.0), (), note="no points yet")
    lead = groups[0].traces[0]
    own_scale = _scale_of(shown, axis)
    x = cursor_x(shown, lead.scale if own_scale is None else own_scale, lead.reading.curve, options)
    place = cursor_place(shown, axis, options.cursor, x)
    if x is not None:
        groups = [replace(group, traces=tuple(trace.read_at(x) for trace in group.traces)) for group in groups]
    left, groups = max(len(groups) - MAX_OVERLAY, 0), groups[:MAX_OVERLAY]
    all_traces = [trace for group in groups for trace in group.traces]
    first, last = min(trace.limits[0] for trace in all_traces), max(trace.limits[1] for trace in all_traces)
    low, high = x_limits(first, last, kind) if options.window is None else options.window.limits(last, kind)
    columns = plot_columns(max(size.width, 1), symbols)
    bands: list[Line] = []
    means: list[Line] = []
    block, drawn_points, inside = 1, 0, 0
    pin = pin_of(panel, options, symbols)
    headline: Row = ((place, Role.ACCENT),) if place else ()
    averages = {id(trace): _average(trace, low, high, columns, options) for trace in all_traces}
    smooths = {key: average.at_cursor for key, average in averages.items()}
    room = size.width - cell_width(pin + clean(title)) - row_width(headline)
    of_base = None if base is None or options.base is None else _trace(options.base, base, axis)
    at_base = None if of_base is None or x is None else of_base.read_at(x)
    labels = _labels(groups, room, options, base, smooths, at_base)
    in_title, names_below = len(groups), Rows()
    if not labels:
        names, signs = zip(*((group.line.label, (group.line.marker, group.line.role)) for group in groups), strict=True)
        in_title, labels, names_below = wrapped_legend(names, signs, room - 2, size.width, size.height)
    for index, (group, label) in enumerate(zip(groups, labels, strict=True)):
        envelopes, blocks, _ = zip(*(averages[id(trace)] for trace in group.traces), strict=True)
        block = max(block, *blocks)
        drawn_points += sum(t.reading.curve.count_drawn(low, high, columns, t.scale) for t in group.traces)
        inside += sum(trace.reading.curve.count_within(low, high, trace.scale) for trace in group.traces)
        mean = envelopes[0]
        if len(envelopes) > 1:
            mean, band = mean_and_band(envelopes)
            bands.append(Line("", group.line.area, band, filled=True, behind=True))
        label = label if index < in_title else ""
        means.append(Line(label, group.line.role, mean, metric=group.traces[0].reading.metric, glyph=group.line.marker))
    thinning = thinned(drawn_points, inside) if options.fullscreen and not options.weight else []
    note = _note(groups, left, without, thinning)
    marks, legend = _marks(groups, shown, options, (low, high, columns), concepts, symbols)
    window = None if options.window is None else (low, high)
    rows = list(_table_lines(groups, window, smooths, symbols)) if options.fullscreen else []
    y = y_axis(
        panel,
        scale,
        [trace.reading.curve for trace in all_traces],
        [line.envelope for line in (*bands, *means)],
        None,
        options,
        "",
    )
    return ChartView(
        title,
        headline,
        Axis(low, high, kind=kind, label=x_label(axis, low, high, options.axis_named)),
        y,
        (*bands, *means),
        marks,
        note=", ".join(filter(None, [scale_note(options, y), smoothing_note(options, block), *note])),
        columns=columns,
        cursor=x,
        extent=(first, last),
        legend=names_below,
        table=(*line_table(rows, symbols, options.cursor, size.width, window is not None, place), *legend)
        if rows
        else (),
        sign=pin,
    )


def _trace(run: Run, reading: MetricReading | None, axis: str) -> _Trace | None:
    """Return None for a run without the metric, or without a point on the axis."""
    scale = _scale_of(run, axis)
    if reading is None or scale is None:
        return None
    limits = reading.curve.limits(scale)
    return _Trace(run, reading, scale, limits) if limits is not None else None


def _scale_of(run: Run, axis: str) -> Scale | None:
    """Return an axis of the run, or None if the run does not have it."""
    if run.has_axis(axis):
        return run.scale(axis)
    # In a run that begins at its first step, relative steps equal steps.
    return Scale(axis) if axis == "relative step" else None


def _average(trace: _Trace, low: float, high: float, columns: int, options: ChartOptions) -> Smoothed:
    """Return the curve of a trace as it is drawn: the average, or else the values themselves."""
    curve, factor = trace.reading.curve, trace.reading.factor
    if options.weight:
        return smoothed(curve, options.weight, low, high, columns, trace.scale, factor, trace.step)
    return Smoothed(scaled(curve.envelope(low, high, columns, trace.scale), factor), 1, None)


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


def _marks(
    groups: Sequence[_Group],
    shown: Run,
    options: ChartOptions,
    limits: tuple[float, float, int],
    concepts: Sequence[str],
    symbols: Symbols,
) -> tuple[tuple[Mark, ...], Rows]:
    """Return (marks, legend of the marks of a full-screen chart). limits: low and high x, columns between them."""
    marks: list[Mark] = []
    legend: Rows = ()
    for group in groups:
        for trace in group.traces:
            run, curve = trace.run, trace.reading.curve
            if run.id == shown.id:
                marks += marks_of(run, [curve], trace.scale, *limits, concepts)
                if options.fullscreen:
                    marks += milestones(run, [trace.reading.metric], trace.scale, *limits)
                    texts = milestone_legend(run, options.cursor, symbols)
                    legend = (((f"{group.line.marker} ", group.line.role), *texts),) if texts else ()
            elif options.base is not None and run.id == options.base.id:
                marks += restart_marks(run, [curve], trace.scale, *limits[:2], prefix="base ")
    return tuple(marks), legend


def _table_lines(
    groups: Sequence[_Group],
    window: tuple[float, float] | None,
    smooths: Mapping[int, float | None],
    symbols: Symbols,
) -> Iterator[TableLine]:
    """Yield a row for each run, those of one group below each other. window: x values of the points that count."""
    names = iter(distinct_names([trace.run.name for group in groups for trace in group.traces]))
    for group in groups:
        line = group.line
        for trace in group.traces:
            name = next(names)
            if trace.run.id in line.failed:
                name = f"{name} {failure_sign(symbols)}"
            reading = trace.reading
            within = None if window is None else reading.curve.within(*window, trace.scale)
            curve, factor = reading.curve, reading.factor
            axis, smooth = trace.scale, smooths[id(trace)]
            step = None if axis.name == "step" else trace.step
            yield TableLine(
                trace.run, name, line.role, reading.metric, curve, factor, axis, line.marker, within, smooth, step
            )


def _labels(
    groups: Sequence[_Group],
    room: int,
    options: ChartOptions,
    base: MetricReading | None,
    smooths: Mapping[int, float | None],
    at_base: _Trace | None,
) -> list[str]:
    """Return the entries of the title row: names, values (at the cursor or last), and differences from the base run.

    At the cursor of a smoothed chart it has the averages, too. Averages, then differences, then steps, then values are
    left out if they do not fit for all lines; [] if not even the names fit. smooths: average of each trace, by its
    id(). at_base: the base run at the cursor.
    """
    names = [group.line.label for group in groups]
    logged = [_value(group, options) for group in groups]
    values = [f"{name} {value}" for name, value in zip(names, logged, strict=True)]
    short = [f"{name} {_value(group, options, False)}" for name, group in zip(names, groups, strict=True)]
    differences = [_difference(group, options, base, at_base) for group in groups]
    full = [f"{value}{difference}" for value, difference in zip(values, differences, strict=True)]
    both = [
        f"{name} {with_average(value, _smooth(group, smooths))}{difference}"
        for name, value, group, difference in zip(names, logged, groups, differences, strict=True)
    ]
    for labels in (both, full, values, short, names):
        if sum(cell_width(clean(label)) + LEGEND_GAP for label in labels) <= room:
            return labels
    return []


def _value(group: _Group, options: ChartOptions, with_step: bool = True) -> str:
    """Return the value at the cursor, with its step in the run unless that is the cursor's, and that of a superseded
    attempt; or the level."""
    trace = group.traces[0]
    if trace.step is not None and len(group.traces) == 1:
        reading, is_placed = trace.reading, trace.scale.name != "step"
        value, step = cursor_value(reading.curve, reading.factor, trace.step, own_step=is_placed)
        ended = " ended" if is_placed and not trace.is_inside and step else ""
        superseded = superseded_value(reading.curve, reading.factor, trace.step)
        return f"{value}{ended}{step}{superseded}" if with_step else value
    value = format_value(group.value)
    is_cut = options.cursor is None and len(group.at_end) < len(group.traces)
    return f"{value} ({len(group.at_end)} of {len(group.traces)})" if is_cut else value


def _smooth(group: _Group, smooths: Mapping[int, float | None]) -> float | None:
    """Return the mean of the group's averages at the cursor; None if there are none."""
    known = [smooth for trace in group.traces if (smooth := smooths[id(trace)]) is not None]
    return float(np.mean(known)) if known else None


def _difference(group: _Group, options: ChartOptions, base: MetricReading | None, at_base: _Trace | None) -> str:
    """Return the difference from the base run: at the cursor, or else of the levels that `compare` shows."""
    if base is None or len(group.traces) > 1 or options.base in group.line.runs:
        return ""
    trace = group.traces[0]
    delta = level_difference(trace.reading, base) if trace.step is None else None
    if at_base is not None and at_base.is_inside and trace.is_inside:
        delta = trace.value - at_base.value
    text = signed(delta, "")[0] if delta is not None else ""
    return f" ({text})" if text else ""


def with_difference(headline: Row, own: MetricReading | None, base: MetricReading) -> Row:
    """Return a chart's headline with the difference of the levels from a base run."""
    delta = level_difference(own, base)
    if own is None or delta is None:
        return headline
    text, role = signed(delta, own.meaning.direction)
    return (*headline, (f" {text}", role), (" to base", Role.MUTED)) if text else headline


def _note(groups: Sequence[_Group], left: int, without: int, thinned_note: Sequence[str]) -> list[str]:
    parts = [f"{group.line.label}: {group.line.remark}" for group in groups if group.line.remark]
    parts += [SEEDS_NOTE] if any(len(group.traces) > 1 for group in groups) else []
    parts += nonfinite_counts([trace.reading.curve for group in groups for trace in group.traces])
    parts += thinned_note
    if without:
        parts.append(f"not in {plural(without, 'run')}")
    if left:
        parts.append(f"+{plural(left, 'line')}")
    return parts
