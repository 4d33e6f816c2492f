"""Charts with a curve for each of several runs, or for each group of runs that differ only in their seed."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from msgspec.structs import replace

from tuimon.analysis.aligned_steps import common_step_name
from tuimon.exports._across_runs import MOST_LINES
from tuimon.exports.html.figures import ChartFigure, chart_figure, chart_size, columns_for
from tuimon.model.views import SERIES_ROLES, ChartView, Size, Symbols
from tuimon.panels import DEFAULTS, OverlayLine, chart_of, metric_panel, overlay_lines, overlay_of, plural
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, unit_text

_COLUMNS = 320
"""Columns of a chart of long curves."""
_FEW = 12
"""Number of points up to which the points of a curve are marked."""
_WIDTHS = ("", " thick", " thin")
"""Classes of lines, enough for MOST_LINES: the next one follows when the colours are used up."""


Series = tuple[Run, str, Meaning, Curve]
"""A run, its name, and a metric of it."""


def chart_across(
    runs: Sequence[Run], title: str, series: Sequence[Series], first: bool, failed: Container[int] = ()
) -> ChartFigure:
    """Return the chart of one metric of several runs, of which at most MOST_LINES are drawn; those that differ only in
    their seed are one line, the mean in an area from minimum to maximum.

    first: draw it larger. failed: ids of runs that are not healthy.
    """
    size = chart_size(columns_for(runs, _COLUMNS))
    present = [run for run, *_ in series]
    groups = overlay_lines(present, present, True, Symbols.BRAILLE, failed=failed)
    if any(len(line.runs) > 1 for line in groups):
        view = _chart_of_seeds(runs, title, groups, {run.id: curve.metric for run, *_, curve in series}, size)
    else:
        view = _chart_of_runs(runs, title, series, size)
    # The headline would describe only the first run.
    figure = chart_figure(replace(view, headline=()), first, common_step_name(runs))
    number = 0
    plot_lines = []
    for line in figure.plot.lines:
        plot_lines.append(line if line.behind else replace(line, role=line.role + _WIDTHS[number // len(SERIES_ROLES)]))
        number += not line.behind
    return replace(figure, plot=replace(figure.plot, lines=tuple(plot_lines)))


def _chart_of_runs(runs: Sequence[Run], title: str, series: Sequence[Series], size: Size) -> ChartView:
    """Return the chart with a line for each run. Points are marked only in curves that have few."""
    curves = [(label, meaning, curve) for _, label, meaning, curve in series[:MOST_LINES]]
    left = len(series) - len(curves)
    view = chart_of(runs[0], title, curves, size, Symbols.BRAILLE, left=left, label=lambda name: name)
    few = [curve.finite_count <= _FEW for *_, curve in curves if len(curve)]
    marks = iter(few)
    drawn = tuple(line if line.behind else replace(line, markers=next(marks, False)) for line in view.lines)
    return replace(view, lines=drawn)


def _chart_of_seeds(
    runs: Sequence[Run], title: str, groups: Sequence[OverlayLine], names: Mapping[int, str], size: Size
) -> ChartView:
    """Return the chart with a line for each group. names: id of a run -> name of its metric."""
    lines = [
        replace(line, role=SERIES_ROLES[position % len(SERIES_ROLES)])
        for position, line in enumerate(groups[:MOST_LINES])
    ]
    readings = [[(run, metric_panel(names[run.id]).reading(run)) for run in line.runs] for line in lines]
    chosen = list(zip(lines, readings, strict=True))
    view = overlay_of(runs[0], title, chosen, size, Symbols.BRAILLE, "linear", DEFAULTS, "")
    labels = iter([line.label for line in lines])  # for lines whose labels would have no room in a terminal
    named = [(line, "" if line.behind else next(labels, "")) for line in view.lines]
    drawn = tuple(replace(line, label=line.label or label) for line, label in named)
    left = len(groups) - len(lines)
    note = f"{view.note}, +{plural(left, 'line')}" if left else view.note
    units = {unit_text(reading.meaning.unit) for line in readings for _, reading in line if reading is not None}
    return replace(view, lines=drawn, note=note, unit=units.pop() if len(units) == 1 else "")
