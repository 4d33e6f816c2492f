"""How the charts and tables of panels are drawn on a page: their size, names in legends, cells of a heat map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from tuimon.draw.heat import level
from tuimon.draw.numbers import format_value, nonfinite
from tuimon.model.views import ChartView, HeatView, Size
from tuimon.store import Run

_FINE = 1000
"""Columns of a chart: about the pixels of a wide one."""
_FEW_POINTS = 300_000
"""Number of points of all runs of a page up to which charts have that many columns: about 3 MB."""
TABLE_SIZE = Size(200, 60)
"""Size that panels with a table are asked for: enough for the whole table."""


def columns_for(runs: Iterable[Run], columns: int) -> int:
    """Return the columns of the charts of a page: about as many as pixels, so that each point of a curve with fewer
    points has a column of its own, or `columns` if the runs have so many points that the page would be large."""
    return _FINE if sum(run.point_count for run in runs) <= _FEW_POINTS else columns


def with_metric_names(view: ChartView) -> ChartView:
    """Return the chart of one run with the logged name of each curve in the legend: "train (critic/score/mean)"."""
    names = [line.metric for line in view.lines if line.metric and not line.behind]
    if names == [view.title]:
        return view
    lines = (
        replace(line, label=f"{line.label} ({line.metric})" if line.label not in ("", line.metric) else line.metric)
        if line.metric and not line.behind
        else line
        for line in view.lines
    )
    return replace(view, lines=tuple(lines))


def heat_cells(view: HeatView, row: int) -> Iterator[tuple[str, str]]:
    """Yield (text, role) of the cells of a row: percentages, with the second value after a slash."""
    for column in range(len(view.columns)):
        value = view.cells[row][column]
        second = view.second[row][column] if view.second else None
        if value is None:
            yield "–", "absent"
        else:
            yield _percent(value) + (f" / {_percent(second)}" if second is not None else ""), str(level(value))


def _percent(value: float) -> str:
    return f"{value:.0%}" if abs(value) < 1e6 else format_value(value) if value == value else nonfinite(value)
