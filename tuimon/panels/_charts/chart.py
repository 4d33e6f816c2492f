"""Metrics of one run, or one metric of several runs -> a ChartView with the given display options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_options

import numpy as np

from tuimon.analysis.aligned_steps import counts_alike
from tuimon.analysis.comparing import distinct_names
from tuimon.draw.chart import plot_columns
from tuimon.draw.limits import x_limits
from tuimon.draw.rows import row_width
from tuimon.model.views import Axis, ChartView, Envelope, Line, Role, Row, Rows, Size, Symbols
from tuimon.panels._charts.axes import cursor_place, cursor_x, end_of_data, x_label, y_axis
from tuimon.panels._charts.captions import chart_notes, cursor_headline, headline_of, labels_of, legend_values
from tuimon.panels._charts.marks import chart_marks, milestone_legend, note_rows, undrawn_alerts
from tuimon.panels._charts.options import DEFAULTS, X_KINDS, ChartOptions
from tuimon.panels._charts.overlay_legend import LEGEND_GAP, wrapped_legend
from tuimon.panels._charts.overlay_lines import failure_sign
from tuimon.panels._charts.table import TableLine, line_table
from tuimon.panels._charts.thresholds import outside_notes, threshold_limits, threshold_lines, thresholds_of
from tuimon.panels._charts.traces import (
    Series,
    Smoothed,
    Stroke,
    Trace,
    band_around,
    is_noisy,
    mean_and_band,
    scale_of,
    scaled,
    smoothed,
    strokes_of,
    trace_of,
)
from tuimon.panels._metrics import FEW_POINTS, MetricReading, reading_drawn
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
_COVERED = 0.95
"""Part of the columns in which no border of a band is within the limits from which on the band is left out."""
_AREA = {Symbols.BRAILLE: "⣿", Symbols.BLOCK: "▒", Symbols.ASCII: ":"}
_MOST_UNDRAWN = 4
"""Maximum number of metrics without a line in the table of a full-screen chart."""
_PIN = {Symbols.BRAILLE: "◆", Symbols.BLOCK: "◆", Symbols.ASCII: "*"}


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
    markers: str = "",
    with_band: bool = True,
) -> ChartView:
    """Return a chart of series, of which the first leads: "reward 0.51 ↑ 0.02" above one line, or a line for each run.

    - run: the run that is displayed; its events are marked, and the chart has its axis.
    - panel: the panel's id, for its limits and pin in `options`. scale: its own scale, linear | auto.
    - left: number of metrics without a line, besides `undrawn`; a full-screen chart has these in its table.
    - base: the metric of the base run in `options`, from which the legend of an overlay has the differences.
    - markers: symbols of the lines of one run, drawn along averages and their values.
    - with_band: draw the area from the minimum to the maximum that were logged with the leading metric.
    """
    axis = options.axis_of(run)
    kind = X_KINDS.get(axis, "number")
    strokes, without = strokes_of(series, axis, markers)
    if not strokes:
        note = f"no point has a value on axis {axis}" if without else "no points yet"
        return ChartView(title, (), Axis(0.0, 1.0, kind=kind), Axis(0.0, 1.0), (), notes=(note,))
    overlaid = strokes[0].line is not None
    lead = strokes[0].traces[0]
    x = cursor_x(run, scale_of(run, axis) or lead.scale, lead.curve, options)
    lines_left, strokes = max(len(strokes) - MAX_OVERLAY, 0), strokes[:MAX_OVERLAY]
    if x is not None and options.cursor is not None:
        strokes = [stroke.read_at(x if overlaid else None, options.cursor) for stroke in strokes]
        lead = strokes[0].traces[0]
    traces = [trace for stroke in strokes for trace in stroke.traces]
    first, last = min(trace.limits[0] for trace in traces), max(trace.limits[1] for trace in traces)
    if options.window is None:
        low, high = x_limits(first, last, kind)
    else:
        last = max(last, end_of_data(run, lead.scale, lead.metric, last))
        low, high = options.window.limits(last, kind)
    columns = plot_columns(max(size.width, 1), symbols)
    counts = [trace.curve.count_within(low, high, trace.scale) for trace in traces]
    raw = {id(t): scaled(t.curve.envelope(low, high, columns, t.scale), t.factor) for t in traces}
    noisy = overlaid and options.smoothing is None and 2 * sum(map(is_noisy, raw.values())) > len(raw)
    if noisy:
        options = with_options(options, smoothing=NOISY_WEIGHT)
    averages = {id(trace): _average(trace, raw[id(trace)], low, high, columns, options) for trace in traces}
    background: list[Line] = []
    fronts: list[Envelope] = []
    for index, stroke in enumerate(strokes):
        behind, front = _layers(stroke, index, raw, averages, options, len(strokes) > 1)
        background += behind
        fronts.append(front)
        hidden = None if overlaid else stroke.traces[0].curve.superseded_curve
        if hidden is not None:
            trace = stroke.traces[0]
            envelope = scaled(hidden.envelope(low, high, columns, trace.scale), trace.factor)
            background.append(Line("", Role.FAINT, envelope, behind=True, arrows=False, metric=trace.metric))
    # A smoothed curve has its raw values in the background; a band as well would hide them.
    band = None
    if with_band and not options.weight and not overlaid:
        band = band_around(run, lead.metric, low, high, columns, lead.scale, lead.factor)
    levels = thresholds_of(panel, lead.metric, lead.meaning, run.metrics, options)
    shown = [raw[id(trace)] for trace in traces]
    beside = [] if band is None else [band]
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
        lead.metric if len(strokes) == 1 and not overlaid and lead.metric != title else "",
        "time" if all(trace.meaning.unit == DATE for trace in traces) else "number",
    )
    if band is not None and not _covers(band, y):
        background.insert(0, _band_line(band, options.fullscreen, symbols))
    background += threshold_lines([level for level in levels if y.low <= level <= y.high], columns)
    place: Row = ()
    if overlaid:
        words = cursor_place(run, axis, options.cursor, x)
        headline: Row = ((words, Role.ACCENT),) if words else ()
    elif options.cursor is not None:
        headline = cursor_headline(lead, options, averages[id(lead)].at_cursor)
        place = ((f"@ {options.cursor}", Role.ACCENT),)
    else:
        headline = headline_of(lead.curve, lead.meaning, lead.factor, symbols, options.fullscreen)
    pin = pin_of(panel, options, symbols)
    labels = _labels(strokes)
    at_base = None
    if base is not None and options.base is not None and (of_base := trace_of(options.base, base, axis)) is not None:
        at_base = of_base.read_at(x, options.cursor) if x is not None and options.cursor is not None else of_base
    values = [
        legend_values(s, index, [averages[id(t)].at_cursor for t in s.traces], options, at_base)
        for index, s in enumerate(strokes)
    ]
    names_below: Rows = ()
    room = size.width - cell_width(pin + clean(title)) - row_width(headline)
    if overlaid and sum(cell_width(clean(label)) + LEGEND_GAP for label in labels) > room:
        signs = [(stroke.glyph, stroke.role) for stroke in strokes]
        in_title, labels, names_below = wrapped_legend(labels, signs, room - 2, size.width, size.height)
        labels, values = [*labels[:in_title], *[""] * (len(labels) - in_title)], [()] * len(labels)
    drawn = [
        Line(
            label,
            stroke.role,
            front,
            not overlaid and not options.weight and _is_sparse(count, counts, columns, options),
            metric=stroke.traces[0].metric,
            glyph=stroke.glyph,
            values=forms,
        )
        for stroke, label, front, count, forms in zip(strokes, labels, fronts, counts, values, strict=False)
    ]
    own = [trace for trace in traces if trace.run.id == run.id]
    unseen = () if overlaid else undrawn
    marks = chart_marks(run, own, traces, options, low, high, columns, concepts, unseen)
    block = max(average.block for average in averages.values())
    notes = undrawn_alerts(run, unseen, options.alerts, symbols)
    notes += outside_notes(levels, y.low, y.high, symbols)
    notes += [
        f"smoothed by {options.weight:g}" if noisy else "",
        scale_note(options, y),
        smoothing_note(options, block),
    ]
    drawn_points = sum(t.curve.count_drawn(low, high, columns, t.scale) for t in traces) if options.fullscreen else None
    if options.window is not None and not overlaid and not sum(counts):
        notes.append("no point in this window; 0 shows all")
    else:
        more = left + len(undrawn) + without if not overlaid else 0
        notes += chart_notes(run, strokes, options, drawn_points, sum(counts), more)
    if overlaid:
        notes += [f"not in {plural(without, 'run')}"] * bool(without) + [f"+{plural(lines_left, 'line')}"] * bool(
            lines_left
        )
    units = {unit_text(trace.meaning.unit) for trace in traces}
    window = None if options.window is None else (low, high)
    table: Rows = ()
    if options.fullscreen:
        words = cursor_place(run, axis, options.cursor, x) if overlaid else ""
        table = _table(run, strokes, undrawn, averages, options, size, symbols, window, words)
        table = (*table, *(note_rows(own[0], options.note, low, high) if own else ()))
    return ChartView(
        title,
        headline,
        Axis(low, high, kind=kind, label=_own_count(run, lead) or x_label(axis, low, high, options.axis_named)),
        y,
        (*background, *drawn),
        marks,
        tuple(filter(None, notes)),
        columns,
        cursor=x,
        extent=(first, last),
        legend=names_below,
        table=table,
        unit=units.pop() if len(units) == 1 else "",
        sign=pin,
        place=place if len(strokes) > 1 else headline if overlaid else (),
    )


def _average(trace: Trace, raw: Envelope, low: float, high: float, columns: int, options: ChartOptions) -> Smoothed:
    """Return the curve of a trace as it is drawn: the average, or else the values themselves."""
    if not options.weight:
        return Smoothed(raw, 1, None)
    return smoothed(trace.curve, options.weight, low, high, columns, trace.scale, trace.factor, trace.step)


def _layers(
    stroke: Stroke,
    index: int,
    raw: dict[int, Envelope],
    averages: dict[int, Smoothed],
    options: ChartOptions,
    several: bool,
) -> tuple[list[Line], Envelope]:
    """Return (lines in the background, envelope in the foreground) of a stroke.

    Several traces are their mean in an area from the lowest to the highest; one that is smoothed has its raw values in
    the background.
    """
    trace = stroke.traces[0]
    if len(stroke.traces) > 1:
        mean, band = mean_and_band([averages[id(own)].envelope for own in stroke.traces])
        return [Line("", stroke.area, band, filled=True, behind=True)], mean
    front = averages[id(trace)].envelope
    if not options.weight:
        return [], front
    role = stroke.area if several else Role.FAINT
    glyph = "" if stroke.line is not None else stroke.glyph
    return [Line("", role, raw[id(trace)], behind=True, metric=trace.metric, glyph=glyph)], front


def _covers(band: Envelope, y: Axis) -> bool:
    """Return whether a band exceeds the limits on both sides nearly everywhere: it would only be a pattern behind the
    curve."""
    known = np.isfinite(band.low)
    return bool(np.mean((band.low <= y.low)[known] & (band.high >= y.high)[known]) > _COVERED)


def _band_line(band: Envelope, fullscreen: bool, symbols: Symbols) -> Line:
    """Return the area of a band; only the legend of a full-screen chart has room to name it."""
    label, glyph = ("min to max", _AREA[symbols]) if fullscreen else ("", "")
    return Line(label, Role.FAINT, band, filled=True, behind=True, glyph=glyph)


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


def pin_of(panel: str, options: ChartOptions, symbols: Symbols) -> str:
    """Return the sign before the title of a chart if its panel is pinned, else ""."""
    return f"{_PIN[symbols]} " if panel in options.pins else ""


def scale_note(options: ChartOptions, y: Axis) -> str:
    """Return "log scale" if the panel has chosen it; one that the user has chosen is named for all charts."""
    return f"{y.scale} scale" if y.scale != "linear" and options.y_scale == "auto" else ""


def smoothing_note(options: ChartOptions, block: int) -> str:
    """Return the note about a smoothed curve: the weight, if it applies to means of blocks of points; else ""."""
    return f"smooth {options.weight:g} over means of {block} points" if options.weight and block > 1 else ""


def _is_sparse(count: int, counts: Sequence[int], columns: int, options: ChartOptions) -> bool:
    """Whether to draw points as dots: there are few, or far fewer than in the longest line or the whole window."""
    spaced = count * _COLUMNS_PER_DOT <= columns
    return count <= FEW_POINTS or (spaced and (count * 2 <= max(counts) or options.window is not None))


def _table(
    run: Run,
    strokes: Sequence[Stroke],
    undrawn: Sequence[str],
    averages: dict[int, Smoothed],
    options: ChartOptions,
    size: Size,
    symbols: Symbols,
    window: tuple[float, float] | None,
    place: str,
) -> Rows:
    """Return the statistics of each trace, of the points in the window if there is one, then of metrics without a line.

    Of one run the rows are named by their metrics, of several runs by the runs. place: where the cursor is.
    """
    overlaid = strokes[0].line is not None
    runs = distinct_names([trace.run.name for stroke in strokes for trace in stroke.traces])
    lines: list[TableLine] = []
    for stroke in strokes:
        for trace in stroke.traces:
            name = runs[len(lines)] if overlaid else trace.metric
            if stroke.line is not None and trace.run.id in stroke.line.failed:
                name = f"{name} {failure_sign(symbols)}"
            lines.append(TableLine(trace, name, stroke.role, stroke.glyph, window, averages[id(trace)].at_cursor))
    scale = strokes[0].traces[0].scale
    others = [reading for name in undrawn if (reading := reading_drawn(run, name)) is not None]
    for reading in others[:_MOST_UNDRAWN]:
        trace = Trace(run, reading, scale, (0.0, 0.0), options.cursor)
        lines.append(TableLine(trace, reading.metric, Role.MUTED, " ", window))
    name_width = 0 if overlaid else size.width // 2
    rows = line_table(lines, symbols, options.cursor, size.width, window is not None, place, name_width)
    if len(others) > _MOST_UNDRAWN:
        rows = *rows, ((f"  {plural(len(others) - _MOST_UNDRAWN, 'more metric')}: M", Role.MUTED),)
    for stroke in strokes if overlaid else strokes[:1]:
        if any(trace.run.id == run.id for trace in stroke.traces) and (
            legend := milestone_legend(run, options.cursor, symbols)
        ):
            return (*rows, ((f"{stroke.glyph} ", stroke.role), *legend) if overlaid else legend)
    return rows
