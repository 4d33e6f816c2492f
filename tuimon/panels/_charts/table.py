"""The table below a full-screen chart: statistics of each line."""

from __future__ import annotations

import math

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.comparing import distinct_names
from tuimon.analysis.run_cache import cached_per_run
from tuimon.analysis.statistics import Statistics, statistics
from tuimon.draw.numbers import format_exact, format_value, thousands
from tuimon.draw.rows import stripped_row
from tuimon.draw.table import aligned
from tuimon.model.views import Role, Rows, Span
from tuimon.panels._charts.captions import cursor_value, superseded_value
from tuimon.panels._charts.marks import milestone_legend
from tuimon.panels._charts.overlay_lines import FAILURE_SIGN
from tuimon.panels._charts.plot import Plot
from tuimon.panels._charts.traces import Trace
from tuimon.store import METRIC_AXIS, Curve, CurvePoint
from tuimon.text import clean, fit_distinct

_DIGITS = 10
"""Maximum characters of a value."""
_LABEL = 32
"""Maximum cells of a name."""


def line_table(plot: Plot) -> Rows:
    """Return the statistics of each trace as a table of at most the width of the chart, and the legend of milestones.

    Of one run the rows are named by their metrics, of several runs by the runs. Columns: the exact value at the cursor,
    with that of a superseded attempt; last, lowest and highest value with their places on the x axis (on an axis of
    times, their steps); mean and standard deviation; number of points; the sources that hold the metric. With a window
    the statistics are of the points in view, unless these are more than MOST_WITHIN. Columns that do not fit are left
    out from the right.
    """
    run, options, bins, width, traces = plot.run, plot.options, plot.bins, plot.size.width, plot.traces
    has_window = options.window is not None
    within = [trace.curve.within(bins.low, bins.high, trace.scale) for trace in traces] if has_window else []
    known = [curve for curve in within if curve is not None]
    is_known = has_window and len(known) == len(traces)  # one heading for all lines
    curves = known if is_known else [trace.curve for trace in traces]
    in_view = "in view" if is_known else "all points" if has_window else ""
    steps, scale = step_name(traces[0].run), traces[0].scale
    axis = clean(scale.name.removeprefix(METRIC_AXIS)) if _is_placed(traces[0]) else steps
    samples = (f"{name} @ {axis}" for name in ("last", "min", "max"))
    at_cursor = () if options.cursor is None else (plot.place or f"{steps} {options.cursor}",)
    heads = (in_view, *at_cursor, *samples, "mean ± deviation", "points", "from")
    name_width = min(_LABEL, width // 4) if plot.overlaid else width // 2
    names = fit_distinct([clean(name) for name in _names(plot)], name_width)
    lines = [stroke for stroke in plot.strokes for _ in stroke.traces]
    spans: list[list[Span]] = [[(head, Role.MUTED) for head in heads]]
    for line, trace, curve, name in zip(lines, traces, curves, names, strict=True):
        title, *values = _cells(trace, curve, f"{line.glyph or '●'} {name}")
        spans.append([(title, line.role), *((value, Role.TEXT) for value in values)])
    rows = tuple(map(stripped_row, aligned(spans, width, left=range(len(heads)))))
    own = next((stroke for stroke in plot.strokes if any(trace.run.id == run.id for trace in stroke.traces)), None)
    if own is None or not (legend := milestone_legend(run)):
        return rows
    return (*rows, ((f"{own.glyph} ", own.role), *legend) if plot.overlaid else legend)


def _names(plot: Plot) -> list[str]:
    """Return the names of the rows; those of runs that are not healthy have a sign."""
    if not plot.overlaid:
        return [trace.metric for trace in plot.traces]
    failed = {id for stroke in plot.strokes if stroke.line is not None for id in stroke.line.failed}
    runs = distinct_names([trace.run.name for trace in plot.traces])
    return [
        f"{name} {FAILURE_SIGN}" if trace.run.id in failed else name
        for name, trace in zip(runs, plot.traces, strict=True)
    ]


def _cells(trace: Trace, curve: Curve, name: str) -> tuple[str, ...]:
    """Return the cells of a row with the statistics of these points of the curve."""
    factor = trace.factor
    least, most = (curve.min, curve.max) if factor > 0 else (curve.max, curve.min)
    of_all = _statistics(curve)
    mean = f"{format_value(of_all.mean * factor)} ± {format_value(of_all.deviation * abs(factor))}"
    mean = mean if math.isfinite(of_all.mean) else "-"
    at_cursor: tuple[str, ...] = ()
    if trace.step is not None:
        at_cursor = ("".join(cursor_value(trace, None)) + superseded_value(trace, None),)
    return (
        name,
        *at_cursor,
        *(_sample(trace, sample) for sample in (curve.last, least, most)),
        mean,
        thousands(len(curve)),
        _sources(trace),
    )


@cached_per_run
def _statistics(curve: Curve) -> Statistics:
    """Cached, because a cursor that moves draws the table again: those of a million points take 20 ms."""
    return statistics(curve.values)


def _is_placed(trace: Trace) -> bool:
    """Return whether points are placed by the x axis, not by their steps: by a counter, or relative to a step."""
    return not trace.scale.is_time and trace.scale.name != "step" and not trace.curve.ordinal


def _sample(trace: Trace, sample: CurvePoint | None) -> str:
    if sample is None:
        return "-"
    value = format_exact(sample.value * trace.factor, _DIGITS)
    if not _is_placed(trace):
        return f"{value} @ {sample.step}"
    position = trace.curve.x_of_step(sample.step, trace.scale)
    return f"{value} @ {format_exact(position, 12)}" if math.isfinite(position) else value


def _sources(trace: Trace) -> str:
    """Return the sources of a line, and the number of files of a single one."""
    try:
        counts = trace.run.provenance(trace.metric)
    except KeyError:
        return ""
    if len(counts) > 1:
        return ", ".join(f"{clean(source)} {thousands(count)}" for source, count in counts)
    files = len(trace.run.files(trace.metric))
    return clean(counts[0][0]) + (f" ({files} files)" if files > 1 else "")
