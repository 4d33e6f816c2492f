"""Draw views as rows of (text, role) spans. Only this package imports plotext, which draws the frames of charts.

    rows = draw.render(view, Size(66, 14), Symbols.BRAILLE, frames)

draw.chart     size of a chart's canvas, number of columns of its envelopes
draw.limits    round, stable limits of axes
draw.numbers   numbers, durations, bytes, fractions as text
draw.diff      cells that changed between two drawings
draw.layout    places of the panels on a page
"""

from __future__ import annotations

from tuimon.draw import _plotext
from tuimon.draw.ascii import ascii_text
from tuimon.draw.bars import render_bars
from tuimon.draw.chart import render_chart
from tuimon.draw.heat import render_heat
from tuimon.draw.rows import clean_row, fit_rows, title_row, wrap_row
from tuimon.model.views import BarView, ChartView, HeatView, Role, Row, Rows, Size, Symbols, TextView, View

__all__ = ["preload", "render", "text_chart"]


def preload() -> None:
    """Import what the first chart needs (0.1 s), to be called in a separate thread beforehand."""
    _plotext.preload()


def render(view: View, size: Size, symbols: Symbols = Symbols.BRAILLE) -> Rows:
    """Return a view as exactly size.height rows of exactly size.width cells, for any size from 0."""
    size = Size(max(size.width, 0), max(size.height, 0))
    if not size.width or not size.height:
        return ((),) * size.height
    if isinstance(view, ChartView):
        return render_chart(view, size, symbols)
    if isinstance(view, BarView):
        return render_bars(view, size, symbols)
    return render_heat(view, size) if isinstance(view, HeatView) else _render_text(view, size)


def _render_text(view: TextView, size: Size) -> Rows:
    headed = bool(view.title or view.headline) and (size.height >= 2 or not view.rows)
    rows: list[Row] = [title_row(view.title, view.headline, size.width)] if headed else []
    rows.extend(clean_row(row) for row in view.rows[: size.height - len(rows)])
    if view.note and len(rows) < size.height:
        rows.extend(wrap_row(((view.note, Role.MUTED),), size.width, size.height - len(rows)))
    return fit_rows(rows, size.width, size.height)


def text_chart(view: View, size: Size, symbols: Symbols = Symbols.BRAILLE) -> str:
    """Draw a view as plain text without colours, for a pipe, a mail or a report."""
    text = "\n".join("".join(text for text, _ in row).rstrip() for row in render(view, size, symbols))
    return ascii_text(text) if symbols is Symbols.ASCII else text
