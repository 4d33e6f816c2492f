"""Convert panel views to what the templates of a page draw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from tuimon.draw.heat import level
from tuimon.draw.numbers import format_duration, format_value, nonfinite
from tuimon.draw.ticks import power_label
from tuimon.exports.html.plot import Plot, plot_of
from tuimon.model.views import Axis, BarView, ChartView, HeatView, Row, Size
from tuimon.store import Run
from tuimon.text import clean

_FINE = 1000
"""Columns of a chart: about the pixels of a wide one."""
_FEW_POINTS = 300_000
"""Number of points of all runs of a page up to which charts have that many columns: about 3 MB."""
_WIDTH = 1000.0
"""Width of a stacked bar in SVG units."""
TABLE_SIZE = Size(200, 60)
"""Size that panels with a table are asked for: enough for the whole table."""


def columns_for(runs: Iterable[Run], columns: int) -> int:
    """Return the columns of the charts of a page: about as many as pixels, so that each point of a curve with fewer
    points has a column of its own, or `columns` if the runs have so many points that the page would be large."""
    return _FINE if sum(run.point_count for run in runs) <= _FEW_POINTS else columns


class ChartFigure(Struct, frozen=True):
    """A chart; all texts are cleaned."""

    title: str
    headline: Row
    unit: str
    """Unit of the values; "" for plain numbers."""
    unit_in_title: bool
    """Whether the headline does not contain the unit, so that it has to follow the title."""
    plot: Plot
    x_label: str
    note: str
    spoken: str
    """Description for screen readers."""
    first: bool = False
    """True for the first chart of a page, which is larger."""


class Part(Struct, frozen=True):
    """A part of a stacked bar, and its row of the table. x, width: in units of a thousandth of the bar."""

    label: str
    role: str
    x: float
    width: float
    detail: Row


class BarFigure(Struct, frozen=True):
    """A stacked bar and its table; all texts but those of rows are cleaned."""

    title: str
    headline: Row
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    sentence: Row
    note: str
    spoken: str


def chart_figure(view: ChartView, first: bool = False, steps: str = "step") -> ChartFigure:
    """Return the figure of a chart. first: draw it larger. steps: what the steps of the run count."""
    title, headline = clean(view.title), "".join(clean(text) for text, _ in view.headline)
    x_label = view.x.label or (steps if view.x.kind == "step" else "")
    names = ", ".join(clean(line.label) for line in view.lines if line.label)
    x_low, x_high, y_low, y_high = (_spoken(v, axis) for axis in (view.x, view.y) for v in (axis.low, axis.high))
    spoken = f"{title}: chart, {names or 'one curve'}, {x_label or 'x'} from {x_low} to {x_high}"
    unit = clean(view.unit)
    spoken += f", values from {y_low} to {y_high} {unit}".rstrip() + (f"; last {headline}" if headline else "")
    in_title = bool(unit) and not any(clean(text).endswith(f" {unit}") for text, _ in view.headline)
    note = clean(view.note)
    return ChartFigure(title, view.headline, unit, in_title, plot_of(view), x_label, note, spoken, first)


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


def _spoken(value: float, axis: Axis) -> str:
    return format_duration(value) if axis.kind == "duration" else power_label(float(f"{value:.4g}"))


def bar_figure(view: BarView) -> BarFigure:
    total = max(view.total, sum(bar.value for bar in view.bars)) or 1.0
    parts, x = [], 0.0
    for bar in view.bars:
        width = bar.value / total * _WIDTH
        parts.append(Part(clean(bar.label), str(bar.role), x, width, bar.detail))
        x += width
    title = clean(view.title)
    spoken = ", ".join(f"{part.label} {part.width / _WIDTH:.0%}" for part in parts if part.width > 0)
    spoken = f"{title}: {spoken}"
    return BarFigure(title, view.headline, view.columns, tuple(parts), view.sentence, clean(view.note), spoken)


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
