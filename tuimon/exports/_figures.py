"""Views as what the templates of a page draw: the same views that a screen draws, for the same panels."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.draw.frames import GUTTER
from tuimon.draw.heat import level
from tuimon.draw.numbers import format_duration, format_value, nonfinite
from tuimon.draw.ticks import power_label
from tuimon.exports._plot import Plot, plot_of
from tuimon.model.views import Axis, BarView, ChartView, HeatView, Row, Size, TextView
from tuimon.text import clean

_ROWS = 16
"""Rows of the screen that a chart is asked for: enough for all the lines that a panel draws."""
_BARS = 60
_WIDTH = 1000.0


def chart_size(columns: int) -> Size:
    """What a panel is asked for, so that its envelopes have about so many columns."""
    return Size(GUTTER + columns // 2, _ROWS)


TABLE_SIZE = Size(200, _BARS)
"""For panels that are tables: room for all of it."""


class ChartFigure(Struct, frozen=True):
    """A chart; all text is clean."""

    title: str
    headline: Row
    plot: Plot
    x_label: str
    note: str
    spoken: str
    """What it shows, for whoever does not see it."""
    first: bool = False
    """Drawn larger."""


class Part(Struct, frozen=True):
    """A part of a stacked bar, and its row of the table. x and width of 1000."""

    label: str
    role: str
    x: float
    width: float
    detail: Row


class BarFigure(Struct, frozen=True):
    title: str
    headline: Row
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    sentence: Row
    note: str
    spoken: str


class Cell(Struct, frozen=True):
    text: str
    role: str
    peak: bool


class HeatFigure(Struct, frozen=True):
    title: str
    headline: Row
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    sentence: Row
    note: str


class TextFigure(Struct, frozen=True):
    title: str
    headline: Row
    rows: tuple[Row, ...]
    note: str


def chart_figure(view: ChartView, first: bool = False) -> ChartFigure:
    """Of a view with envelopes of any width."""
    title, headline = clean(view.title), "".join(clean(text) for text, _ in view.headline)
    x_label = view.x.label or ("step" if view.x.kind == "step" else "")
    names = ", ".join(clean(line.label) for line in view.lines if line.label)
    spoken = f"{title}: chart, {names or 'one curve'}, {x_label or 'x'} from {_told(view.x.low, view.x)} to "
    spoken += f"{_told(view.x.high, view.x)}, values from {_told(view.y.low, view.y)} to {_told(view.y.high, view.y)}"
    spoken += f"; last {headline}" if headline else ""
    return ChartFigure(title, view.headline, plot_of(view), x_label, clean(view.note), spoken, first)


def _told(value: float, axis: Axis) -> str:
    return format_duration(value) if axis.kind == "duration" else power_label(float(f"{value:.4g}"))


def bar_figure(view: BarView) -> BarFigure:
    """The bar and its table."""
    total = max(view.total, sum(bar.value for bar in view.bars)) or 1.0
    parts, at = [], 0.0
    for bar in view.bars:
        width = bar.value / total * _WIDTH
        label = clean(bar.label)
        parts.append(Part(label, str(bar.role), at, width, bar.detail))
        at += width
    spoken = ", ".join(f"{part.label} {part.width / _WIDTH:.0%}" for part in parts if part.width > 0)
    title = clean(view.title)
    return BarFigure(
        title, view.headline, view.columns, tuple(parts), view.sentence, clean(view.note), f"{title}: {spoken}"
    )


def heat_figure(view: HeatView) -> HeatFigure:
    """A table of percentages, the second number behind a stroke."""
    rows = tuple((clean(name), tuple(_cells(view, at, len(view.columns)))) for at, name in enumerate(view.rows))
    return HeatFigure(
        clean(view.title), view.headline, tuple(map(clean, view.columns)), rows, view.sentence, clean(view.note)
    )


def _cells(view: HeatView, row: int, count: int) -> Iterator[Cell]:
    for column in range(count):
        value = view.cells[row][column]
        second = view.second[row][column] if view.second else None
        if value is None:
            yield Cell("–", "absent", False)
        else:
            text = _percent(value) + (f" / {_percent(second)}" if second is not None else "")
            yield Cell(text, str(level(value)), view.peak == (row, column))


def _percent(value: float) -> str:
    return f"{value:.0%}" if abs(value) < 1e6 else format_value(value) if value == value else nonfinite(value)


def text_figure(view: TextView) -> TextFigure:
    """Rows as they are."""
    return TextFigure(clean(view.title), view.headline, view.rows, clean(view.note))
