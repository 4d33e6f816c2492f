"""Charts with a curve for each of several runs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tuimon.analysis.aligned_steps import common_step_name
from tuimon.exports._across_runs import metrics_across, run_labels
from tuimon.exports.html.figures import ChartFigure, chart_figure, chart_size, columns_for
from tuimon.exports.metrics import summarise
from tuimon.model.views import SERIES_ROLES, Symbols
from tuimon.panels import chart_of
from tuimon.store import Curve, Run
from tuimon.text import clean
from tuimon.vocabulary import Meaning

_COLUMNS = 320
"""Columns of a chart of long curves."""
_FEW = 12
"""Number of points up to which the points of a curve are marked."""
_WIDTHS = ("", " thick", " thin")
"""Classes of lines: the next one follows when the colours are used up."""
MOST_LINES = len(SERIES_ROLES) * len(_WIDTHS)


def chart_across(
    runs: Sequence[Run], title: str, lines: Sequence[tuple[str, Meaning, Curve]], first: bool
) -> ChartFigure:
    """Return the chart of one metric of several runs. lines: (name of the run, meaning, curve), at most MOST_LINES of
    which are drawn. first: draw it larger."""
    curves = lines[:MOST_LINES]
    size = chart_size(columns_for(runs, _COLUMNS))
    left = len(lines) - len(curves)
    view = chart_of(runs[0], title, curves, size, Symbols.BRAILLE, left=left, label=lambda name: name)
    # The headline would describe only the first run. Points are marked only in curves that have few.
    few = [curve.finite_count <= _FEW for *_, curve in curves if len(curve)]
    marks = iter(few)
    drawn = tuple(line if line.behind else replace(line, markers=next(marks, False)) for line in view.lines)
    figure = chart_figure(replace(view, headline=(), lines=drawn), first, common_step_name(runs))
    number = 0
    plot_lines = []
    for line in figure.plot.lines:
        plot_lines.append(line if line.behind else replace(line, role=line.role + _WIDTHS[number // len(SERIES_ROLES)]))
        number += not line.behind
    return replace(figure, plot=replace(figure.plot, lines=tuple(plot_lines)))


def main_chart(runs: Sequence[Run]) -> ChartFigure | None:
    """Return the chart of the most important metric that two runs have; None if there is none."""
    for names in metrics_across(runs):
        pairs = [(label, run, name) for label, run, name in zip(run_labels(runs), runs, names, strict=True) if name]
        summaries = [(clean(label), summarise(run, name)) for label, run, name in pairs]
        lines = [(label, own.meaning, own.curve) for label, own in summaries if own.curve.finite_count]
        if len(lines) > 1:
            return chart_across(runs, clean(pairs[0][2]), lines, first=True)
    return None
