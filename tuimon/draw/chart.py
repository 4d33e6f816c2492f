"""ChartView -> rows: title, curves with their marks inside a frame, note.

By size: from 24 cells of width there are y labels in a gutter of fixed width, from 6 rows of height an x axis, from
9 a row for the note (below that it stands in the title row if it fits), from 16 rows for a table; a single row is a
sparkline.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tuimon.draw.area import draw_areas, name_areas
from tuimon.draw.frames import GUTTER, FrameCache, FrameKey, build_frame
from tuimon.draw.marks import Canvas, draw_cursor, draw_marks
from tuimon.draw.raster import glyphs, masks, points, spans
from tuimon.draw.rows import clean_row, exactly, fit_row, join, row_width, title_row
from tuimon.model.views import ChartView, Line, Role, Row, Rows, Size, Symbols
from tuimon.text import cell_width, clean, fit

_GUTTER_FROM = 24
_X_AXIS_FROM = 6
_NOTE_FROM = 9
_TABLE_FROM = 16
_BLANK = ord(" ")
_SIGNS = 4
"""Places at which a line has its glyph, where it goes through the whole chart; its end is one more."""
_DOT = {Symbols.BRAILLE: "●", Symbols.BLOCK: "●", Symbols.ASCII: "o"}


def plot_columns(width: int, symbols: Symbols = Symbols.BRAILLE) -> int:
    """How many columns an envelope should have for a chart of `width` cells: the dots across its canvas."""
    return max(_canvas_width(width) * glyphs(symbols).columns, 1)


def plot_cells(size: Size, note: bool = False, table: int = 0) -> tuple[int, int]:
    """(cells, rows) of the canvas, the part of a chart that holds the curves. note, table: rows that stand below it."""
    rows = size.height - (size.height >= 2) - 2 * (size.height >= _X_AXIS_FROM and size.width >= _GUTTER_FROM)
    rows -= note and size.height >= _NOTE_FROM
    return _canvas_width(size.width), max(rows - _table_rows(size, table), 0)


def _table_rows(size: Size, wanted: int) -> int:
    """A table takes a third of a high chart at most."""
    return min(wanted, size.height // 3) if size.height >= _TABLE_FROM else 0


def place_of(view: ChartView, cell: float, width: int) -> float:
    """The x value in the middle of a cell of a chart of `width` cells, counted from its left edge, gutter and all."""
    cells = _canvas_width(width)
    part = (cell - (width - cells) + 0.5) / max(cells, 1)
    return view.x.low + (view.x.high - view.x.low) * min(max(part, 0.0), 1.0)


def _canvas_width(width: int) -> int:
    return max(width - GUTTER if width >= _GUTTER_FROM else width, 0)


def render_chart(view: ChartView, size: Size, symbols: Symbols, frames: FrameCache) -> Rows:
    """The rows of a chart; see tuimon.draw.render."""
    note_below = bool(view.note) and size.height >= _NOTE_FROM
    cells, rows = plot_cells(size, note_below, len(view.table))
    if cells <= 0 or rows <= 0:
        return exactly((), size.width, size.height)
    if size.height == 1 and size.width >= _GUTTER_FROM:
        return (_sparkline(view, size.width, symbols),)
    framed = FrameKey(cells, rows, view.x, view.y, size.height >= _X_AXIS_FROM, symbols)

    def draw() -> tuple[list[Row], frozenset[str]]:
        canvas, named = _canvas(view, cells, rows, symbols)
        if size.width < _GUTTER_FROM:
            return canvas.rows(), named
        frame = frames.get(framed, build_frame)
        return [*frames.kept.rows(canvas, frame.left), *(((text, Role.AXIS),) for text in frame.bottom)], named

    body, named = frames.kept.body(view, (size.width, framed), draw)
    head = [_head(view, size.width, symbols, "" if note_below else view.note, named)] if size.height >= 2 else []
    said = fit(" " * (size.width - cells) + clean(view.note), size.width)
    foot: list[Row] = [((said, Role.MUTED),)] if note_below else []
    foot += [clean_row(row) for row in view.table[: _table_rows(size, len(view.table))]]
    drawn = (*head, *body)
    return (*drawn, *exactly(foot, size.width, size.height - len(drawn)))


def _sparkline(view: ChartView, width: int, symbols: Symbols) -> Row:
    """Title, curve and last value in one row."""
    title = fit(clean(view.title), min(cell_width(clean(view.title)), width // 3), keep="end")
    value = clean_row(view.headline[:1])
    cells = width - cell_width(title) - row_width(value) - 2
    if cells < 1:
        return fit_row(((title, Role.TITLE),), width)
    (curve,) = _canvas(view, cells, 1, symbols)[0].rows()
    blank: Row = ((" ", Role.MUTED),)
    return join(((title, Role.TITLE),), blank, curve, blank, value)


def _head(view: ChartView, width: int, symbols: Symbols, note: str, named: frozenset[str]) -> Row:
    """Title, legend (but for what is named in the chart) and headline; of the headline the last value alone where the
    legend needs the room."""
    several = sum(not line.behind for line in view.lines) > 1
    lines = [line for line in view.lines if (several or line.glyph) and line.label and line.label not in named]
    legend: list[Row] = [((f"{line.glyph or _DOT[symbols]} {line.label}", line.role),) for line in lines]
    small: list[Row] = [((text, Role.MUTED),) if text else () for text in (view.y.label, note)]
    headline = clean_row(view.headline)
    needed = cell_width(clean(view.title)) + sum(row_width(clean_row(one)) + 2 for one in legend) + 2
    if legend and needed + row_width(headline) > width >= needed + row_width(headline[:1]):
        headline = headline[:1]
    beside = sum(row_width(one) + 2 for one in (headline, small[0]) if one)
    legend = _few(legend, width - cell_width(clean(view.title)) - beside)
    return title_row(view.title, headline, width, [small[0], *legend, small[1]])


def _few(legend: list[Row], room: int) -> list[Row]:
    """As many as have room; of those that have none, how many they are."""
    if not legend:
        return legend
    widths = np.cumsum([row_width(clean_row(one)) + 2 for one in legend])
    if widths[-1] <= room:
        return legend
    shown = int(np.searchsorted(widths, room - len(f"  +{len(legend)}"), "right"))
    return [*legend[:shown], ((f"+{len(legend) - shown}", Role.MUTED),)] if shown else legend


def _canvas(view: ChartView, cells: int, rows: int, symbols: Symbols) -> tuple[Canvas, frozenset[str]]:
    """The canvas, and the labels written on it."""
    shape = glyphs(symbols)
    columns = cells * shape.columns
    layers = {line.behind: np.zeros((rows, cells), dtype=np.uint8) for line in view.lines}
    owner = np.full((rows, cells), -1, dtype=np.int8)
    canvas = Canvas(np.zeros((rows, cells), dtype=np.uint32), owner, [line.role for line in view.lines])
    outside: list[tuple[int, npt.NDArray[np.int32]]] = []
    if any(line.filled for line in view.lines):
        draw_areas(canvas, view.lines, view.y, symbols)
    else:
        canvas.codes[:] = _BLANK
    for index in _from_the_back(view.lines):
        line = view.lines[index]
        if line.filled:
            continue
        top, bottom, beyond = spans(line.envelope, view.y, columns, rows * shape.rows)
        lit = masks(top, bottom, rows, shape)
        layers[line.behind] |= lit
        owner[lit > 0] = index
        outside.append((index, beyond))
    for behind in sorted(layers, reverse=True):  # what lies in front hides what lies behind
        dots = layers[behind]
        np.copyto(canvas.codes, shape.codes[dots], where=dots > 0)
    named = name_areas(canvas, view.lines)
    for index, beyond in outside:
        if view.lines[index].markers:
            _draw_points(canvas, view.lines[index], index, view, symbols)
        elif view.lines[index].glyph:
            _draw_signs(canvas, index, view, symbols)
        if np.count_nonzero(beyond):
            canvas.draw_outside(beyond.reshape(cells, shape.columns), index, symbols)
    if view.marks:
        draw_marks(canvas, view, symbols)
    if view.cursor is not None:
        draw_cursor(canvas, view, view.cursor, symbols)
    return canvas, named


def _from_the_back(lines: Sequence[Line]) -> list[int]:
    """The order of drawing. The first line is the one that matters: it lies on top."""
    return sorted(range(len(lines)), key=lambda at: (not lines[at].behind, -at))


def _draw_points(canvas: Canvas, line: Line, index: int, view: ChartView, symbols: Symbols) -> None:
    shape = glyphs(symbols)
    rows, cells = canvas.codes.shape
    x, y = points(line.envelope, view.y, cells * shape.columns, rows * shape.rows)
    at = y // shape.rows, x // shape.columns
    canvas.codes[at] = ord(_DOT[symbols])
    canvas.owner[at] = index


def _draw_signs(canvas: Canvas, index: int, view: ChartView, symbols: Symbols) -> None:
    """The glyph of a line at its end and at a few places before, other ones for each line."""
    shape, line = glyphs(symbols), view.lines[index]
    rows, cells = canvas.codes.shape
    x, y = points(line.envelope, view.y, cells * shape.columns, rows * shape.rows)
    if not len(x):
        return
    offset = (index % len(view.lines)) / len(view.lines)
    wanted = (np.arange(_SIGNS) + offset) * (cells * shape.columns / _SIGNS)
    wanted = wanted[(wanted >= x[0]) & (wanted <= x[-1])]
    at = np.append(np.minimum(np.searchsorted(x, wanted), len(x) - 1), len(x) - 1)
    canvas.codes[y[at] // shape.rows, x[at] // shape.columns] = ord(line.glyph)
    canvas.owner[y[at] // shape.rows, x[at] // shape.columns] = index
