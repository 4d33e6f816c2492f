"""Curves of a run -> a ChartView with the given display options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tuimon.analysis.aligned_steps import counts_alike
from tuimon.analysis.printed_units import meaning_of
from tuimon.draw.chart import LEGEND_ENTRY, plot_columns
from tuimon.draw.limits import x_limits
from tuimon.draw.numbers import format_value
from tuimon.model.views import DIM_ROLES, SERIES_ROLES, Axis, ChartView, Envelope, Line, Role, Row, Size, Symbols
from tuimon.panels._charts.axes import cursor_x, end_of_data, x_label, y_axis
from tuimon.panels._charts.captions import (
    cursor_headline,
    cursor_legend,
    headline_of,
    labels_of,
    note_of,
    thinned,
)
from tuimon.panels._charts.marks import marks_of, milestone_legend, milestones
from tuimon.panels._charts.options import DEFAULTS, X_KINDS, ChartOptions
from tuimon.panels._charts.table import TableLine, line_table
from tuimon.panels._charts.thresholds import edge_labels, threshold_lines, thresholds_of, with_thresholds
from tuimon.panels._charts.traces import band_around, scaled, smoothed
from tuimon.panels._metrics import FEW_POINTS, drawn_curve, factor_of
from tuimon.panels._text import plural
from tuimon.store import Curve, Run, Scale
from tuimon.text import cell_width, clean
from tuimon.vocabulary import DATE, Meaning, unit_text

_COLUMNS_PER_DOT = 6
"""Minimum distance of dots, in columns of the canvas, on average."""
_COVERED = 0.95
"""Part of the columns in which no border of a band is within the limits from which on the band is left out."""
_AREA = {Symbols.BRAILLE: "⣿", Symbols.BLOCK: "▒", Symbols.ASCII: ":"}
_MOST_UNDRAWN = 4
"""Maximum number of metrics without a line in the table of a full-screen chart."""
_PIN = {Symbols.BRAILLE: "◆", Symbols.BLOCK: "◆", Symbols.ASCII: "*"}


class _Series(NamedTuple):
    metric: str
    meaning: Meaning
    curve: Curve
    factor: float
    limits: tuple[float, float]


def chart_of(
    run: Run,
    title: str,
    curves: Sequence[tuple[str, Meaning, Curve]],
    size: Size,
    symbols: Symbols,
    scale: str = "linear",
    left: int = 0,
    concepts: Sequence[str] = (),
    options: ChartOptions = DEFAULTS,
    label: Callable[[str], str] = lambda name: "",
    panel: str = "",
    markers: str = "",
    with_band: bool = True,
    undrawn: Sequence[str] = (),
) -> ChartView:
    """Return a chart of (metric, meaning, curve) series, of which the first leads, with marks, headline and note.

    left: number of metrics without a line, besides `undrawn`; a full-screen chart has these in its table. label: metric
    -> label of its line, "" for the default. panel: the panel's id, for its limits and pin in `options`. markers:
    symbols of the metrics, drawn along averages and their values.
    with_band: draw the area from the minimum to the maximum that were logged with the leading metric.
    """
    axis = run.scale(options.axis_of(run))
    x_kind = X_KINDS.get(axis.name, "number")
    drawn = [
        _Series(name, meaning, curve, factor_of(meaning, curve), limits)
        for name, meaning, curve in curves
        if len(curve) and (limits := curve.limits(axis)) is not None
    ]
    if not drawn:
        note = f"no point has a value on axis {axis.name}" if any(len(c) for *_, c in curves) else "no points yet"
        return ChartView(title, (), Axis(0.0, 1.0, kind=x_kind), Axis(0.0, 1.0), (), note=note)
    left += sum(len(curve) > 0 for *_, curve in curves) - len(drawn)
    leading = drawn[0]
    drawn_curves = [series.curve for series in drawn]
    first, last = min(series.limits[0] for series in drawn), max(series.limits[1] for series in drawn)
    if options.window is None:
        low, high = x_limits(first, last, x_kind)
        counts = [curve.finite_count for curve in drawn_curves]
    else:
        last = max(last, end_of_data(run, axis, leading.metric, last))
        low, high = options.window.limits(last, x_kind)
        counts = [curve.count_within(low, high, axis) for curve in drawn_curves]
    columns = plot_columns(max(size.width, 1), symbols)
    envelopes = [scaled(series.curve.envelope(low, high, columns, axis), series.factor) for series in drawn]
    # A smoothed curve has its raw values in the background; a band as well would hide them.
    band = None
    if with_band and not options.weight:
        band = band_around(run, leading.metric, low, high, columns, axis, leading.factor)
    background: list[Line] = []
    fronts = [*envelopes]
    smooths: list[float | None] = [None] * len(drawn)
    block = 1
    for index, series in enumerate(drawn):
        hidden = series.curve.superseded_curve
        if hidden is not None:
            envelope = scaled(hidden.envelope(low, high, columns, axis), series.factor)
            background.append(Line("", Role.FAINT, envelope, behind=True, arrows=False, metric=series.metric))
        if options.weight:
            glyph = markers[index : index + 1]
            role = DIM_ROLES[index % len(DIM_ROLES)] if len(drawn) > 1 else Role.FAINT
            raw = Line("", role, envelopes[index], behind=True, metric=series.metric, glyph=glyph)
            background.append(raw)
            average = smoothed(series.curve, options.weight, low, high, columns, axis, series.factor, options.cursor)
            fronts[index], block, smooths[index] = average
    defaults = labels_of([(series.metric, series.meaning) for series in drawn])
    labels = [label(series.metric) or default for series, default in zip(drawn, defaults, strict=True)]
    # No extreme is lost in a small chart, so only the zoomed one says how many of the points it draws.
    thinning: list[str] = []
    if options.fullscreen:
        points_drawn = sum(curve.count_drawn(low, high, columns, axis) for curve in drawn_curves)
        thinning = thinned(points_drawn, sum(curve.count_within(low, high, axis) for curve in drawn_curves))
    factors = [series.factor for series in drawn]
    note = note_of(run, drawn_curves, factors, thinning, left + len(undrawn), options.fullscreen)
    if options.window is not None and not sum(counts):
        note = "no point in this window; 0 shows all"
    marks = marks_of(run, drawn_curves, axis, low, high, columns, concepts)
    table: tuple[Row, ...] = ()
    if options.fullscreen:
        marks = (*milestones(run, [series.metric for series in drawn], axis, low, high, columns), *marks)
        window = None if options.window is None else (low, high)
        table = _table(run, drawn, undrawn, smooths, options, size, symbols, axis, window, markers)
    meaning = leading.meaning
    levels = thresholds_of(panel, leading.metric, meaning, run.metrics, options)
    y = y_axis(
        panel,
        scale,
        drawn_curves,
        envelopes,
        with_thresholds(band, levels, columns),
        options,
        leading.metric if len(drawn) == 1 and leading.metric != title else "",
        "time" if all(series.meaning.unit == DATE for series in drawn) else "number",
    )
    if band is not None and not _covers(band, y):
        background.insert(0, _band_line(band, options.fullscreen, symbols))
    pin = pin_of(panel, options, symbols)
    named = sum(cell_width(line.label) + LEGEND_ENTRY for line in background if line.label)
    legend, headline = _texts(f"{pin}{title}", drawn, labels, smooths, size, symbols, options, named)
    units = {unit_text(series.meaning.unit) for series in drawn}
    background += threshold_lines([level for level in levels if y.low <= level <= y.high], columns)
    background += edge_labels(levels, y.low, y.high, columns, symbols)
    return ChartView(
        title,
        headline,
        Axis(low, high, kind=x_kind, label=_own_count(run, drawn) or x_label(axis.name, low, high, options.axis_named)),
        y,
        (*background, *_lines(drawn, legend, fronts, counts, columns, options, markers)),
        marks,
        ", ".join(filter(None, [scale_note(options, y), smoothing_note(options, block), note])),
        columns,
        cursor=cursor_x(run, axis, leading.curve, options),
        extent=(first, last),
        table=table,
        unit=units.pop() if len(units) == 1 else "",
        sign=pin,
    )


def _covers(band: Envelope, y: Axis) -> bool:
    """Return whether a band exceeds the limits on both sides nearly everywhere: it would only be a pattern behind the
    curve."""
    known = np.isfinite(band.low)
    return bool(np.mean((band.low <= y.low)[known] & (band.high >= y.high)[known]) > _COVERED)


def _band_line(band: Envelope, fullscreen: bool, symbols: Symbols) -> Line:
    """Return the area of a band; only the legend of a full-screen chart has room to name it."""
    label, glyph = ("min to max", _AREA[symbols]) if fullscreen else ("", "")
    return Line(label, Role.FAINT, band, filled=True, behind=True, glyph=glyph)


def _own_count(run: Run, drawn: Sequence[_Series]) -> str:
    """Return a label for a chart of metrics whose steps cannot be compared with those of the other charts; else ""."""
    leading = drawn[0]
    if leading.metric not in run.metrics or counts_alike(run, leading.metric):  # a page compares curves of many runs
        return ""
    known = leading.curve is not run.curve(leading.metric) or leading.curve.ordinal or len(leading.curve) == 1
    return "" if known else "steps of its own"


def pin_of(panel: str, options: ChartOptions, symbols: Symbols) -> str:
    """Return the sign before the title of a chart if its panel is pinned, else ""."""
    return f"{_PIN[symbols]} " if panel in options.pins else ""


def scale_note(options: ChartOptions, y: Axis) -> str:
    """Return "log scale" if the panel has chosen it; one that the user has chosen is named for all charts."""
    return f"{y.scale} scale" if y.scale != "linear" and options.y_scale == "auto" else ""


def smoothing_note(options: ChartOptions, block: int) -> str:
    """Return the note about a smoothed curve: the weight, if it applies to means of blocks of points; else ""."""
    return f"smooth {options.weight:g} over means of {block} points" if options.weight and block > 1 else ""


def _texts(
    title: str,
    drawn: Sequence[_Series],
    labels: Sequence[str],
    smooths: Sequence[float | None],
    size: Size,
    symbols: Symbols,
    options: ChartOptions,
    named: int,
) -> tuple[Sequence[str], Row]:
    """Return the labels of the legend and the headline: the last value, or the values at the cursor.

    smooths: averages at the cursor, as far as they are drawn. named: cells of other entries of the legend.

    The values of several lines are in the legend; in the headline alone if the legend has no room for all of them.
    """
    leading, step = drawn[0], options.cursor
    if step is None:
        return labels, headline_of(leading.curve, leading.meaning, leading.factor, symbols, options.fullscreen)
    if len(drawn) > 1 and size.height > 1:
        curves, factors = [series.curve for series in drawn], [series.factor for series in drawn]
        room = size.width - cell_width(clean(title)) - named
        legend = cursor_legend(labels, curves, factors, step, room, options.fullscreen, smooths)
        if legend is not None:
            return legend
    return labels, cursor_headline(leading.curve, leading.meaning, leading.factor, step, options.fullscreen, smooths[0])


def _lines(
    drawn: Sequence[_Series],
    labels: Sequence[str],
    envelopes: Sequence[Envelope],
    counts: Sequence[int],
    columns: int,
    options: ChartOptions,
    markers: str,
) -> list[Line]:
    """Return the foreground lines."""
    lines = []
    for index, series in enumerate(drawn):
        role = SERIES_ROLES[index % len(SERIES_ROLES)]
        dotted = not options.weight and _is_sparse(counts[index], counts, columns, options)
        glyph = markers[index : index + 1]
        value = "" if index == 0 or options.cursor is not None else _validation_value(series)
        lines.append(
            Line(labels[index], role, envelopes[index], dotted, metric=series.metric, glyph=glyph, value=value)
        )
    return lines


def _validation_value(series: _Series) -> str:
    """Return the last value of a validation metric, "" of any other."""
    values = series.curve.values
    return format_value(values[-1] * series.factor) if series.meaning.split == "val" and len(values) else ""


def _is_sparse(count: int, counts: Sequence[int], columns: int, options: ChartOptions) -> bool:
    """Whether to draw points as dots: there are few, or far fewer than in the longest line or the whole window."""
    spaced = count * _COLUMNS_PER_DOT <= columns
    return count <= FEW_POINTS or (spaced and (count * 2 <= max(counts) or options.window is not None))


def _table(
    run: Run,
    drawn: Sequence[_Series],
    undrawn: Sequence[str],
    smooths: Sequence[float | None],
    options: ChartOptions,
    size: Size,
    symbols: Symbols,
    scale: Scale,
    window: tuple[float, float] | None,
    markers: str,
) -> tuple[Row, ...]:
    """Return the statistics of the metrics, of their points in the window (low, high) if there is one; first of those
    that are drawn, then of some without a line, which have no dot."""

    def line(metric: str, curve: Curve, factor: float, role: Role, glyph: str, smooth: float | None) -> TableLine:
        within = None if window is None else curve.within(*window, scale)
        return TableLine(run, metric, role, metric, curve, factor, scale, glyph, within, smooth)

    lines = [
        line(series.metric, series.curve, series.factor, role, markers[index : index + 1], smooth)
        for index, (series, smooth, role) in enumerate(zip(drawn, smooths, SERIES_ROLES, strict=False))
    ]
    others = [(name, curve) for name in undrawn if (curve := drawn_curve(run, name)) is not None]
    for name, curve in others[:_MOST_UNDRAWN]:
        lines.append(line(name, curve, factor_of(meaning_of(run, name), curve), Role.MUTED, " ", None))
    rows = line_table(lines, symbols, options.cursor, size.width, window is not None, name_width=size.width // 2)
    if len(others) > _MOST_UNDRAWN:
        rows = *rows, ((f"  {plural(len(others) - _MOST_UNDRAWN, 'more metric')}: M", Role.MUTED),)
    legend = milestone_legend(run, options.cursor, symbols)
    return (*rows, *([legend] if legend else []))
