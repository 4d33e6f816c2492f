"""The table below a full-screen chart: statistics of each line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.run_cache import cached_per_run
from tuimon.analysis.statistics import Statistics, statistics
from tuimon.draw.numbers import format_exact, format_value, thousands
from tuimon.draw.rows import stripped_row
from tuimon.draw.table import aligned
from tuimon.model.views import Role, Rows, Span, Symbols
from tuimon.panels._charts.captions import cursor_value, superseded_value
from tuimon.panels._charts.traces import Stroke, Trace
from tuimon.store import METRIC_AXIS, Curve, CurvePoint
from tuimon.text import clean, fit_distinct

_DIGITS = 10
"""Maximum characters of a value."""
_LABEL = 32
"""Maximum cells of a name."""


def line_table(
    lines: Sequence[Stroke],
    symbols: Symbols,
    cursor: int | None,
    width: int,
    window: tuple[float, float] | None,
    place: str,
    name_width: int,
) -> Rows:
    """Return a heading and a row for each line of one trace, in at most `width` cells. There is at least one.

    Columns: the exact value at the cursor (a step), with that of a superseded attempt; last, lowest and highest value
    with their places on the x axis (on an axis of times, their steps); mean and standard deviation; number of points;
    the sources that hold the metric. With a window (two x values) the statistics are of the points in view, unless
    these are more than MOST_WITHIN. Columns that do not fit are left out from the right. place: where the cursor is on
    the axis, "" for its step. name_width: maximum cells of a name, 0 for those of a run's name.
    """
    sign = "+-" if symbols is Symbols.ASCII else "±"
    traces = [line.traces[0] for line in lines]
    within = [] if window is None else [trace.curve.within(*window, trace.scale) for trace in traces]
    known = [curve for curve in within if curve is not None]
    is_known = window is not None and len(known) == len(lines)  # one heading for all lines
    curves = known if is_known else [trace.curve for trace in traces]
    in_view = "in view" if is_known else "all points" if window is not None else ""
    steps, scale = step_name(traces[0].run), traces[0].scale
    axis = clean(scale.name.removeprefix(METRIC_AXIS)) if _is_placed(traces[0]) else steps
    samples = (f"{name} @ {axis}" for name in ("last", "min", "max"))
    at_cursor = () if cursor is None else (place or f"{steps} {cursor}",)
    heads = (in_view, *at_cursor, *samples, f"mean {sign} deviation", "points", "from")
    name_width = name_width or min(_LABEL, width // 4)
    names = fit_distinct([clean(line.label) for line in lines], name_width)
    spans: list[list[Span]] = [[(head, Role.MUTED) for head in heads]]
    for line, curve, name in zip(lines, curves, names, strict=True):
        title, *values = _cells(line.traces[0], curve, f"{line.glyph or '●'} {name}", sign)
        spans.append([(title, line.role), *((value, Role.TEXT) for value in values)])
    return tuple(map(stripped_row, aligned(spans, width, left=range(len(heads)))))


def _cells(trace: Trace, curve: Curve, name: str, sign: str) -> tuple[str, ...]:
    """Return the cells of a row with the statistics of these points of the curve."""
    factor = trace.factor
    least, most = (curve.min, curve.max) if factor > 0 else (curve.max, curve.min)
    of_all = _statistics(curve)
    mean = f"{format_value(of_all.mean * factor)} {sign} {format_value(of_all.deviation * abs(factor))}"
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
