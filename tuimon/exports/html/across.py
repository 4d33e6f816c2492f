"""Charts with a curve for each of several runs, or for each group of runs that differ only in their seed."""

from __future__ import annotations

from collections.abc import Container, Sequence

from msgspec.structs import replace

from tuimon.analysis.aligned_steps import common_step_name
from tuimon.exports._across_runs import MOST_LINES
from tuimon.exports.html.figures import ChartFigure, chart_figure, chart_size, columns_for
from tuimon.model.views import SERIES_ROLES, Symbols
from tuimon.panels import OverlayLine, Series, chart_of, overlay_lines, plural, reading_of
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning

_COLUMNS = 320
"""Columns of a chart of long curves."""
_FEW = 12
"""Number of points up to which the points of a curve are marked."""
_WIDTHS = ("", " thick", " thin")
"""Classes of lines, enough for MOST_LINES: the next one follows when the colours are used up."""


RunMetric = tuple[Run, str, Meaning, Curve]
"""A run, its name, and a metric of it."""


def chart_across(
    runs: Sequence[Run], title: str, series: Sequence[RunMetric], first: bool, failed: Container[int] = ()
) -> ChartFigure:
    """Return the chart of one metric of several runs, of which at most MOST_LINES are drawn; those that differ only in
    their seed are one line, the mean in an area from minimum to maximum.

    first: draw it larger. failed: ids of runs that are not healthy.
    """
    size = chart_size(columns_for(runs, _COLUMNS))
    metrics = {run.id: curve.metric for run, *_, curve in series}
    names = {run.id: name for run, name, *_ in series}
    present = [run for run, *_ in series]
    groups = overlay_lines(present, present, True, Symbols.BRAILLE, failed=failed) or (
        OverlayLine((run,), names[run.id], "", SERIES_ROLES[0]) for run in present
    )
    lines = [
        replace(line, role=SERIES_ROLES[position % len(SERIES_ROLES)], marker="")
        for position, line in enumerate(groups)
    ]
    chosen = [
        Series(tuple((run, reading_of(run, (metrics[run.id],))) for run in line.runs), line=line)
        for line in lines[:MOST_LINES]
    ]
    view = chart_of(runs[0], title, chosen, size, Symbols.BRAILLE)
    left = len(lines) - len(chosen)
    notes = (*view.notes, f"+{plural(left, 'line')}") if left else view.notes
    # The headline would describe only the first run.
    figure = chart_figure(replace(view, headline=(), notes=notes), first, common_step_name(runs))
    number = 0
    plot_lines = []
    for line in figure.plot.lines:
        plot_lines.append(line if line.behind else replace(line, role=line.role + _WIDTHS[number // len(SERIES_ROLES)]))
        number += not line.behind
    return replace(figure, plot=replace(figure.plot, lines=tuple(plot_lines)))
