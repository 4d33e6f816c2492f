"""Metrics of one run, or one metric of several runs -> a ChartView with the given display options."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tuimon.analysis.aligned_steps import counts_alike
from tuimon.draw.chart import LEGEND_ENTRY
from tuimon.draw.rows import row_width
from tuimon.model.views import Axis, ChartView, Envelope, Line, Role, Row, Rows, Size, Symbols
from tuimon.panels._charts.axes import x_label
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
    note_rows,
    outside_notes,
    threshold_limits,
    threshold_lines,
    thresholds_of,
    undrawn_alerts,
)
from tuimon.panels._charts.options import DEFAULTS, X_KINDS, ChartOptions
from tuimon.panels._charts.plot import Plot, plot_of, y_axis
from tuimon.panels._charts.table import line_table
from tuimon.panels._charts.traces import Bins, Series, Stroke, Trace, mean_and_band, strokes_of, trace_of
from tuimon.panels._metrics import FEW_POINTS, MetricReading
from tuimon.panels._text import plural
from tuimon.store import Run
from tuimon.text import cell_width, clean
from tuimon.vocabulary import unit_text

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
    strokes, without = strokes_of(series, axis, markers)
    if not strokes:
        note = f"no point has a value on axis {axis}" if without else "no points yet"
        x = Axis(0.0, 1.0, kind=X_KINDS.get(axis, "number"))
        return ChartView(title, (), x, Axis(0.0, 1.0), (), notes=(note,))
    lines_left = max(len(strokes) - MAX_OVERLAY, 0)
    plot = plot_of(run, strokes[:MAX_OVERLAY], size, symbols, options, axis)
    options, overlaid, lead, bins = plot.options, plot.overlaid, plot.lead, plot.bins
    background, fronts = _layers(plot)
    levels = thresholds_of(panel, lead.metric, lead.meaning, run.metrics, options)
    shown = list(plot.raw.values())
    seeds = _seed_lines(plot, behind) if behind is not None else []
    beside = [line.envelope for line in seeds]
    if overlaid:  # so that noise does not flatten the averages
        shown = [*fronts, *(line.envelope for line in background if line.filled)]
        beside = [line.envelope for line in background if not line.filled]
    y_label = lead.metric if len(plot.strokes) == 1 and not overlaid and lead.metric != title else ""
    y = y_axis(plot, panel, scale, shown, [*beside, *threshold_limits(levels, bins.columns)], y_label)
    background[:0] = seeds
    background += threshold_lines([level for level in levels if y.low <= level <= y.high], bins.columns)
    pin = "◆ " if panel in options.pins else ""
    headline, place = _headline(plot)
    counts = plot.counts
    drawn, names_below = _lines(plot, fronts, counts, base, cell_width(pin + clean(title)) + row_width(headline))
    unseen = () if overlaid else undrawn
    notes = undrawn_alerts(run, unseen, options.alerts) + outside_notes(levels, y.low, y.high)
    notes.append(f"smoothed by {options.weight:g}" if plot.noisy else "")
    notes.append(f"{y.scale} scale" if y.scale != "linear" and options.y_scale == "auto" else "")
    block = max(average.block for average in plot.averages.values())
    notes.append(f"smooth {options.weight:g} over means of {block} points" if options.weight and block > 1 else "")
    if options.window is not None and not overlaid and not sum(counts):
        notes.append("no point in this window; 0 shows all")
    else:
        notes += chart_notes(plot, 0 if overlaid else left + len(undrawn) + without)
    if overlaid:
        notes.append(f"not in {plural(without, 'run')}" if without else "")
        notes.append(f"+{plural(lines_left, 'line')}" if lines_left else "")
    units = {unit_text(trace.meaning.unit) for trace in plot.traces}
    x_name = _own_count(run, lead) or x_label(axis, bins.low, bins.high, options.axis_named)
    return ChartView(
        title,
        headline,
        Axis(bins.low, bins.high, kind=plot.kind, label=x_name),
        y,
        (*background, *drawn),
        chart_marks(plot, concepts, unseen),
        tuple(filter(None, notes)),
        bins.columns,
        cursor=plot.x,
        extent=plot.extent,
        legend=names_below,
        table=(*line_table(plot), *note_rows(plot)) if options.fullscreen else (),
        unit=units.pop() if len(units) == 1 else "",
        sign=pin,
        place=place,
    )


def _headline(plot: Plot) -> tuple[Row, Row]:
    """Return (headline, what is in its place beside a legend that has the values)."""
    options, lead = plot.options, plot.lead
    if plot.overlaid:
        return ((plot.place, Role.ACCENT),) if plot.place else (), ()
    if options.cursor is None:
        return headline_of(lead.curve, lead.meaning, lead.factor, plot.symbols, options.fullscreen), ()
    headline = cursor_headline(lead, options, plot.averages[id(lead)].at_cursor)
    return headline, ((f"@ {options.cursor}", Role.ACCENT),) if len(plot.strokes) > 1 else ()


def _lines(
    plot: Plot, fronts: Sequence[Envelope], counts: Sequence[int], base: MetricReading | None, taken: int
) -> tuple[list[Line], Rows]:
    """Return (lines in the foreground with their entries of the legend, rows of names that do not fit into the title).

    counts: see `Plot.counts`. base: the metric of the base run. taken: cells of the title row without the legend.
    """
    options, strokes = plot.options, plot.strokes
    at_base = None if base is None or options.base is None else trace_of(options.base, base, plot.axis)
    if at_base is not None and plot.x is not None and options.cursor is not None:
        at_base = at_base.read_at(plot.x, options.cursor)
    labels = _labels(strokes)
    values = [legend_values(plot, index, at_base) for index in range(len(strokes))]
    names_below: Rows = ()
    room = plot.size.width - taken
    is_high = plot.size.height >= HEIGHT_OF_ROW
    if is_high and plot.overlaid and sum(cell_width(clean(label)) + LEGEND_ENTRY for label in labels) > room:
        signs = [(stroke.glyph, stroke.role) for stroke in strokes]
        names_below = legend_rows(labels, signs, plot.size.width, plot.size.height)
        labels, values = [""] * len(labels), [()] * len(labels)
    lines = []
    for index, stroke in enumerate(strokes):
        dotted = not plot.overlaid and not options.weight and _is_sparse(counts[index], max(counts), plot)
        metric, front = stroke.traces[0].metric, fronts[index]
        lines.append(
            Line(labels[index], stroke.role, front, dotted, metric=metric, glyph=stroke.glyph, values=values[index])
        )
    return lines, names_below


def _layers(plot: Plot) -> tuple[list[Line], list[Envelope]]:
    """Return (lines in the background, envelope of each line in the foreground).

    - Several traces are their mean in an area from the lowest to the highest.
    - A line that is smoothed has its raw values in the background.
    - Of one run there are the points that a later attempt superseded.
    """
    background: list[Line] = []
    fronts: list[Envelope] = []
    for stroke in plot.strokes:
        trace = stroke.traces[0]
        front = plot.averages[id(trace)].envelope
        if len(stroke.traces) > 1:
            front, band = mean_and_band([plot.averages[id(own)].envelope for own in stroke.traces])
            background.append(Line("", stroke.area, band, filled=True, behind=True))
        elif plot.options.weight:
            role = stroke.area if len(plot.strokes) > 1 else Role.FAINT
            glyph = "" if plot.overlaid else stroke.glyph
            background.append(Line("", role, plot.raw[id(trace)], behind=True, metric=trace.metric, glyph=glyph))
        fronts.append(front)
        hidden = None if plot.overlaid else trace.curve.superseded_curve
        if hidden is not None:
            envelope = trace.envelope(plot.bins, hidden)
            background.append(Line("", Role.FAINT, envelope, behind=True, arrows=False, metric=trace.metric))
    return background, fronts


def _seed_lines(plot: Plot, behind: Series) -> list[Line]:
    """Return the area from the lowest to the highest value of the base and its seeds, and their mean."""
    drawn = _seed_band(behind, plot.axis, plot.bins)
    if drawn is None:
        return []
    mean, band = drawn
    area = Line("", Role.FAINT, band, filled=True, behind=True, glyph="⣿" if plot.symbols is Symbols.BRAILLE else "▒")
    return [*([area] if len(behind.readings) > 1 else []), Line("base", Role.MUTED, mean, behind=True)]


@lru_cache(maxsize=16)  # the charts of a page: 100 seeds take 30 ms each
def _seed_band(behind: Series, axis: str, bins: Bins) -> tuple[Envelope, Envelope] | None:
    """Return the mean and the band of the runs of a series; None if none of them has points on the axis."""
    traces = [trace for run, reading in behind.readings if (trace := trace_of(run, reading, axis)) is not None]
    return mean_and_band([trace.envelope(bins) for trace in traces]) if traces else None


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


def _is_sparse(count: int, most: int, plot: Plot) -> bool:
    """Whether to draw points as dots: there are few, or far fewer than in the longest line or the whole window.

    most: number of points of the longest line."""
    spaced = count * _COLUMNS_PER_DOT <= plot.bins.columns
    return count <= FEW_POINTS or (spaced and (count * 2 <= most or plot.options.window is not None))
