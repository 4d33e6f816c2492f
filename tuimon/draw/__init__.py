"""Views -> rows of (text, role) spans. plotext is imported here alone, and draws the frames of charts.

    rows = draw.render(view, Size(66, 14), Symbols.BRAILLE, frames)

draw.chart     how many columns a chart wants, how big its canvas is
draw.limits    limits of axes that are round and stay
draw.numbers   numbers, durations, bytes, fractions as text
draw.diff      which cells changed
draw.layout    where panels go on a page
"""

from __future__ import annotations

from tuimon.draw import _plotext
from tuimon.draw.bars import render_bars
from tuimon.draw.chart import render_chart
from tuimon.draw.frames import FrameCache
from tuimon.draw.heat import render_heat
from tuimon.draw.rows import clean_row, exactly, title_row
from tuimon.model.views import BarView, ChartView, HeatView, Role, Row, Rows, Size, Symbols, TextView, View

__all__ = ["FrameCache", "prepare", "render", "text_chart"]


def prepare() -> None:
    """Imports what the first chart needs, which takes a tenth of a second: for a thread of its own, before."""
    _plotext.prepare()


def render(view: View, size: Size, symbols: Symbols = Symbols.BRAILLE, frames: FrameCache | None = None) -> Rows:
    """The rows of a view: exactly size.height rows of exactly size.width cells, for any size (0 included).

    `frames` keeps the frames of charts from one drawing to the next; a front end has one, for its one drawing thread.
    """
    size = Size(max(size.width, 0), max(size.height, 0))
    if not size.width or not size.height:
        return ((),) * size.height
    if isinstance(view, ChartView):
        return render_chart(view, size, symbols, FrameCache() if frames is None else frames)
    if isinstance(view, BarView):
        return render_bars(view, size, symbols)
    if isinstance(view, HeatView):
        return render_heat(view, size, symbols)
    return _render_text(view, size)


def _render_text(view: TextView, size: Size) -> Rows:
    headed = bool(view.title or view.headline) and (size.height >= 2 or not view.rows)
    rows: list[Row] = [title_row(view.title, view.headline, size.width)] if headed else []
    rows.extend(clean_row(row) for row in view.rows[: size.height - len(rows)])
    if view.note and len(rows) < size.height:
        rows.append(clean_row(((view.note, Role.MUTED),)))
    return exactly(rows, size.width, size.height)


def text_chart(view: View, size: Size, symbols: Symbols = Symbols.BRAILLE) -> str:
    """The same drawing as plain text without colour, for a pipe, a mail or a report."""
    return "\n".join("".join(text for text, _ in row).rstrip() for row in render(view, size, symbols))
