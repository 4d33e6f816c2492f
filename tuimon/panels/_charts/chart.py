"""Metrics of one run, or one metric of several runs -> a ChartView with the given display options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_options
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.aligned_steps import counts_alike
from tuimon.analysis.comparing import distinct_names
from tuimon.draw.chart import LEGEND_ENTRY, plot_columns
from tuimon.draw.limits import x_limits
from tuimon.draw.rows import row_width
from tuimon.model.views import Axis, ChartView, Envelope, Line, Role, Row, Rows, Size, Symbols
from tuimon.panels._charts.axes import cursor_place, cursor_x, end_of_data, x_label, y_axis
from tuimon.panels._charts.captions import (
    HEIGHT_OF_ROW,
    chart_notes,
    cursor_headline,
    headline_of,
    labels_of,
    legend_rows,
    legend_values,
)
from tuimon.panels._charts.marks import (
    chart_marks,
    milestone_legend,
    note_rows,
    outside_notes,
    threshold_limits,
    threshold_lines,
    thresholds_of,
    undrawn_alerts,
)
from tuimon.panels._charts.options import DEFAULTS, X_KINDS, ChartOptions
from tuimon.panels._charts.overlay_lines import FAILURE_SIGN
from tuimon.panels._charts.table import line_table
from tuimon.panels._charts.traces import (
    Series,
    Smoothed,
    Stroke,
    Trace,
    is_noisy,
    mean_and_band,
    scale_of,
    scaled,
    smoothed,
    strokes_of,
    trace_of,
)
from tuimon.panels._metrics import FEW_POINTS, MetricReading
from tuimon.panels._text import plural
from tuimon.store import Run
from tuimon.text import cell_width, clean
from tuimon.vocabulary import DATE, unit_text

NOISY_WEIGHT = 0.9
"""Weight of the average of noisy runs that are drawn over each other, unless the user has chosen one."""
MAX_OVERLAY = 32
"""Maximum number of lines on a chart; the note has the number of the others."""
_COLUMNS_PER_DOT = 6
"""Minimum distance of dots, in columns of the canvas, on average."""


def chart_of(
    run: Run,
    title: str,
    series: Sequence[Series],
    size: Size,
    symbols: Symbols,
    options: ChartOptions = DEFAULTS,
    *,
    panel: str = "",
    scale: str = "linear",
    concepts: Sequence[str] = (),
    left: int = 0,
    undrawn: Sequence[str] = (),
    base: MetricReading | None = None,
    behind: Series | None = None,
    markers: str = "",
) -> ChartView:
    """Return a chart of series, of which the first leads: "reward 0.51 ↑ 0.02" above one line, or a line for each run.

    - run: the run that is displayed; its events are marked, and the chart has its axis.
    - panel: the panel's id, for its limits and pin in `options`. scale: its own scale, linear | auto.
    - left: number of metrics without a line, besides `undrawn`.
    - base: the metric of the base run in `options`, from which the legend of an overlay has the differences.
    - behind: the metric of the base and of its seeds, whose area and mean lie behind the lines of another run.
    - markers: symbols of the lines of one run, drawn along averages and their values.
    """
    axis = options.axis_of(run)
    kind = X_KINDS.get(axis, "number")
    strokes, without = strokes_of(series, axis, markers)
    if not strokes:
        note = f"no point has a value on axis {axis}" if without else "no points yet"
        return ChartView(title, (), Axis(0.0, 1.0, kind=kind), Axis(0.0, 1.0), (), notes=(note,))
    lines_left = max(len(strokes) - MAX_OVERLAY, 0)
    plot = _plot_of(run, strokes[:MAX_OVERLAY], size, symbols, options, axis)
    overlaid, lead, traces = plot.overlaid, plot.lead, plot.traces
    low, high, columns = plot.low, plot.high, plot.columns
    raw = {id(t): scaled(t.curve.envelope(low, high, columns, t.scale), t.factor) for t in traces}
    noisy = overlaid and options.smoothing is None and 2 * sum(map(is_noisy, raw.values())) > len(raw)
    if noisy:
        options = with_options(options, smoothing=NOISY_WEIGHT)
        plot = replace(plot, options=options)
    averages = {id(trace): _average(plot, trace, raw[id(trace)]) for trace in traces}
    background, fronts = _layers(plot, raw, averages)
    levels = thresholds_of(panel, lead.metric, lead.meaning, run.metrics, options)
    shown = [raw[id(trace)] for trace in traces]
    seeds = _seed_lines(plot, behind) if behind is not None else []
    beside = [line.envelope for line in seeds]
    if overlaid:  # so that noise does not flatten the averages
        shown = [*fronts, *(line.envelope for line in background if line.filled)]
        beside = [line.envelope for line in background if not line.filled]
    y = y_axis(
        panel,
        scale,
        [trace.curve for trace in traces],
        shown,
        [*beside, *threshold_limits(levels, columns)],
        options,
        lead.metric if len(plot.strokes) == 1 and not overlaid and lead.metric != title else "",
        "time" if all(trace.meaning.unit == DATE for trace in traces) else "number",
    )
    background[:0] = seeds
    background += threshold_lines([level for level in levels if y.low <= level <= y.high], columns)
    pin = "◆ " if panel in options.pins else ""
    headline, place = _headline(plot, averages)
    drawn, names_below = _lines(plot, fronts, averages, base, cell_width(pin + clean(title)) + row_width(headline))
    own = [trace for trace in traces if trace.run.id == run.id]
    unseen = () if overlaid else undrawn
    notes = undrawn_alerts(run, unseen, options.alerts) + outside_notes(levels, y.low, y.high)
    notes.append(f"smoothed by {options.weight:g}" if noisy else "")
    notes.append(f"{y.scale} scale" if y.scale != "linear" and options.y_scale == "auto" else "")
    block = max(average.block for average in averages.values())
    notes.append(f"smooth {options.weight:g} over means of {block} points" if options.weight and block > 1 else "")
    if options.window is not None and not overlaid and not sum(plot.counts):
        notes.append("no point in this window; 0 shows all")
    else:
        more = 0 if overlaid else left + len(undrawn) + without
        notes += chart_notes(run, plot.strokes, options, more)
    if overlaid:
        notes.append(f"not in {plural(without, 'run')}" if without else "")
        notes.append(f"+{plural(lines_left, 'line')}" if lines_left else "")
    table: Rows = ()
    if options.fullscreen:
        table = *_table(plot), *note_rows(own, options.note, low, high)
    units = {unit_text(trace.meaning.unit) for trace in traces}
    return ChartView(
        title,
        headline,
        Axis(low, high, kind=kind, label=_own_count(run, lead) or x_label(axis, low, high, options.axis_named)),
        y,
        (*background, *drawn),
        chart_marks(run, own, traces, options, low, high, columns, concepts, unseen),
        tuple(filter(None, notes)),
        columns,
        cursor=plot.x,
        extent=plot.extent,
        legend=names_below,
        table=table,
        unit=units.pop() if len(units) == 1 else "",
        sign=pin,
        place=place,
    )


class _Plot(Struct, frozen=True, eq=False):
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
    low: float
    high: float
    columns: int
    counts: Sequence[int]
    """Points of each trace between `low` and `high`."""

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
    def place(self) -> str:
        """Where the cursor is on the axis of an overlay: "step 150"; else ""."""
        return cursor_place(self.run, self.axis, self.options.cursor, self.x) if self.overlaid else ""


def _plot_of(
    run: Run, strokes: Sequence[Stroke], size: Size, symbols: Symbols, options: ChartOptions, axis: str
) -> _Plot:
    """Return the limits of x, and the lines read at the cursor."""
    lead = strokes[0].traces[0]
    x = cursor_x(run, scale_of(run, axis) or lead.scale, lead.curve, options)
    if x is not None and options.cursor is not None:
        place = None if strokes[0].line is None else x
        strokes = [stroke.read_at(place, options.cursor) for stroke in strokes]
    traces = [trace for stroke in strokes for trace in stroke.traces]
    first, last = min(trace.limits[0] for trace in traces), max(trace.limits[1] for trace in traces)
    kind = X_KINDS.get(axis, "number")
    if options.window is None:
        low, high = x_limits(first, last, kind)
    else:
        last = max(last, end_of_data(run, lead.scale, lead.metric, last))
        low, high = options.window.limits(last, kind)
    counts = [trace.curve.count_within(low, high, trace.scale) for trace in traces]
    columns = plot_columns(max(size.width, 1), symbols)
    return _Plot(run, strokes, size, symbols, options, axis, x, (first, last), low, high, columns, counts)


def _headline(plot: _Plot, averages: dict[int, Smoothed]) -> tuple[Row, Row]:
    """Return (headline, what is in its place beside a legend that has the values)."""
    options, lead = plot.options, plot.lead
    if plot.overlaid:
        return ((plot.place, Role.ACCENT),) if plot.place else (), ()
    if options.cursor is None:
        return headline_of(lead.curve, lead.meaning, lead.factor, plot.symbols, options.fullscreen), ()
    headline = cursor_headline(lead, options, averages[id(lead)].at_cursor)
    return headline, ((f"@ {options.cursor}", Role.ACCENT),) if len(plot.strokes) > 1 else ()


def _lines(
    plot: _Plot, fronts: Sequence[Envelope], averages: dict[int, Smoothed], base: MetricReading | None, taken: int
) -> tuple[list[Line], Rows]:
    """Return (lines in the foreground with their entries of the legend, rows of names that do not fit into the title).

    base: the metric of the base run. taken: cells of the title row without the legend.
    """
    options, strokes = plot.options, plot.strokes
    at_base = None if base is None or options.base is None else trace_of(options.base, base, plot.axis)
    if at_base is not None and plot.x is not None and options.cursor is not None:
        at_base = at_base.read_at(plot.x, options.cursor)
    labels = _labels(strokes)
    values = [
        legend_values(stroke, index, [averages[id(own)].at_cursor for own in stroke.traces], options, at_base)
        for index, stroke in enumerate(strokes)
    ]
    names_below: Rows = ()
    room = plot.size.width - taken
    is_high = plot.size.height >= HEIGHT_OF_ROW
    if is_high and plot.overlaid and sum(cell_width(clean(label)) + LEGEND_ENTRY for label in labels) > room:
        signs = [(stroke.glyph, stroke.role) for stroke in strokes]
        names_below = legend_rows(labels, signs, plot.size.width, plot.size.height)
        labels, values = [""] * len(labels), [()] * len(labels)
    lines = []
    for index, stroke in enumerate(strokes):
        dotted = not plot.overlaid and not options.weight and _is_sparse(plot.counts[index], plot)
        metric, front = stroke.traces[0].metric, fronts[index]
        lines.append(
            Line(labels[index], stroke.role, front, dotted, metric=metric, glyph=stroke.glyph, values=values[index])
        )
    return lines, names_below


def _average(plot: _Plot, trace: Trace, raw: Envelope) -> Smoothed:
    """Return the curve of a trace as it is drawn: the average, or else the values themselves."""
    weight = plot.options.weight
    if not weight:
        return Smoothed(raw, 1, None)
    return smoothed(trace.curve, weight, plot.low, plot.high, plot.columns, trace.scale, trace.factor, trace.step)


def _layers(plot: _Plot, raw: dict[int, Envelope], averages: dict[int, Smoothed]) -> tuple[list[Line], list[Envelope]]:
    """Return (lines in the background, envelope of each line in the foreground).

    - Several traces are their mean in an area from the lowest to the highest.
    - A line that is smoothed has its raw values in the background.
    - Of one run there are the points that a later attempt superseded.
    """
    background: list[Line] = []
    fronts: list[Envelope] = []
    for stroke in plot.strokes:
        trace = stroke.traces[0]
        front = averages[id(trace)].envelope
        if len(stroke.traces) > 1:
            front, band = mean_and_band([averages[id(own)].envelope for own in stroke.traces])
            background.append(Line("", stroke.area, band, filled=True, behind=True))
        elif plot.options.weight:
            role = stroke.area if len(plot.strokes) > 1 else Role.FAINT
            glyph = "" if plot.overlaid else stroke.glyph
            background.append(Line("", role, raw[id(trace)], behind=True, metric=trace.metric, glyph=glyph))
        fronts.append(front)
        hidden = None if plot.overlaid else trace.curve.superseded_curve
        if hidden is not None:
            envelope = scaled(hidden.envelope(plot.low, plot.high, plot.columns, trace.scale), trace.factor)
            background.append(Line("", Role.FAINT, envelope, behind=True, arrows=False, metric=trace.metric))
    return background, fronts


def _seed_lines(plot: _Plot, behind: Series) -> list[Line]:
    """Return the area from the lowest to the highest value of the base and its seeds, and their mean."""
    drawn = _seed_band(behind, plot.axis, plot.low, plot.high, plot.columns)
    if drawn is None:
        return []
    mean, band = drawn
    area = Line("", Role.FAINT, band, filled=True, behind=True, glyph="⣿" if plot.symbols is Symbols.BRAILLE else "▒")
    return [*([area] if len(behind.readings) > 1 else []), Line("base", Role.MUTED, mean, behind=True)]


@lru_cache(maxsize=16)  # the charts of a page: 100 seeds take 30 ms each
def _seed_band(behind: Series, axis: str, low: float, high: float, columns: int) -> tuple[Envelope, Envelope] | None:
    """Return the mean and the band of the runs of a series; None if none of them has points on the axis."""
    traces = [trace for run, reading in behind.readings if (trace := trace_of(run, reading, axis)) is not None]
    if not traces:
        return None
    return mean_and_band([scaled(t.curve.envelope(low, high, columns, t.scale), t.factor) for t in traces])


def _own_count(run: Run, lead: Trace) -> str:
    """Return a label for a chart of metrics whose steps cannot be compared with those of the other charts; else ""."""
    if lead.run.id != run.id or lead.metric not in run.metrics or counts_alike(run, lead.metric):
        return ""
    known = lead.curve is not run.curve(lead.metric) or lead.curve.ordinal or len(lead.curve) == 1
    return "" if known else "steps of its own"


def _labels(strokes: Sequence[Stroke]) -> list[str]:
    """Return the name of each line: the given one, or what distinguishes its metric from the others."""
    defaults = labels_of([(stroke.traces[0].metric, stroke.traces[0].meaning) for stroke in strokes])
    return [stroke.label or default for stroke, default in zip(strokes, defaults, strict=True)]


def _is_sparse(count: int, plot: _Plot) -> bool:
    """Whether to draw points as dots: there are few, or far fewer than in the longest line or the whole window."""
    spaced = count * _COLUMNS_PER_DOT <= plot.columns
    return count <= FEW_POINTS or (spaced and (count * 2 <= max(plot.counts) or plot.options.window is not None))


def _table(plot: _Plot) -> Rows:
    """Return the statistics of each trace, of the points in the window if there is one.

    Of one run the rows are named by their metrics, of several runs by the runs.
    """
    run, strokes, options, overlaid = plot.run, plot.strokes, plot.options, plot.overlaid
    window = None if options.window is None else (plot.low, plot.high)
    runs = distinct_names([trace.run.name for trace in plot.traces])
    lines: list[Stroke] = []
    for stroke in strokes:
        for trace in stroke.traces:
            name = runs[len(lines)] if overlaid else trace.metric
            if stroke.line is not None and trace.run.id in stroke.line.failed:
                name = f"{name} {FAILURE_SIGN}"
            lines.append(replace(stroke, traces=(trace,), label=name))
    name_width = 0 if overlaid else plot.size.width // 2
    rows = line_table(lines, options.cursor, plot.size.width, window, plot.place, name_width)
    own = next((stroke for stroke in strokes if any(trace.run.id == run.id for trace in stroke.traces)), None)
    legend = milestone_legend(run)
    if own is None or not legend:
        return rows
    return (*rows, ((f"{own.glyph} ", own.role), *legend) if overlaid else legend)
