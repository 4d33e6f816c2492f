"""ChartView -> rows: title, curves with their marks inside a frame, note.

Depending on the size: y labels in a gutter of fixed width from 24 cells of width; an x axis from 6 rows of height; a
row for the note from 9 rows (otherwise it is in the title row if it fits); a table from 16 rows. A single row is a
sparkline.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tuimon.draw.area import draw_areas, name_areas
from tuimon.draw.frames import GUTTER, FrameCache, FrameKey, build_frame
from tuimon.draw.marks import Canvas, draw_cursor, draw_marks
from tuimon.draw.raster import Glyphs, glyphs, masks, points, spans
from tuimon.draw.rows import clean_row, fit_row, fit_rows, join, row_width, title_row
from tuimon.model.views import ChartView, Line, Role, Row, Rows, Size, Span, Symbols
from tuimon.text import cell_width, clean, fit, fit_name, fit_side_by_side

_GUTTER_FROM = 24
_X_AXIS_FROM = 6
_NOTE_FROM = 9
_TABLE_FROM = 16
_BLANK = ord(" ")
_LABEL_FROM = 24
"""Cells of a canvas from which on horizontal lines have labels."""
_GLYPHS_PER_LINE = 4
"""Number of glyphs along a line through the whole chart, besides the one at its end."""
_LEAST_NAME = 12
"""Minimum cells of a metric's name in the legend; if there is less room for it, only the first names are listed."""
LEGEND_ENTRY = 4
"""Cells of a legend entry besides its label: the marker, a blank and a gap."""
_LEAST_LABEL, _ELLIPSIS_FROM = 2, 4
"""Minimum cells of a label that is cut, and of one that is cut with an ellipsis, if a chart has two lines."""
_DOT = {Symbols.BRAILLE: "●", Symbols.BLOCK: "●", Symbols.ASCII: "o"}


def plot_columns(width: int, symbols: Symbols = Symbols.BRAILLE) -> int:
    """Return the number of columns of an envelope for a chart of `width` cells: the dots across its canvas."""
    return max(_canvas_width(width) * glyphs(symbols).columns, 1)


def plot_cells(size: Size, note: bool = False, table: int = 0, legend: int = 0) -> tuple[int, int]:
    """Return (cells, rows) of the canvas, the part of a chart with the curves. note, table: rows below it. legend: rows
    above it, besides the title."""
    rows = size.height - (size.height >= 2) - _has_x_axis(size)
    rows -= legend + (note and size.height >= _NOTE_FROM)
    return _canvas_width(size.width), max(rows - _table_rows(size, table), 0)


def _has_x_axis(size: Size) -> bool:
    return size.height >= _X_AXIS_FROM and size.width >= _GUTTER_FROM


def _table_rows(size: Size, wanted: int) -> int:
    """Return the rows of the table: at most a third of a high chart."""
    return min(wanted, size.height // 3) if size.height >= _TABLE_FROM else 0


def x_at_cell(view: ChartView, cell: float, width: int) -> float:
    """Return the x value at the middle of a cell of a chart of `width` cells; cell 0 is the left end of the gutter."""
    cells = _canvas_width(width)
    part = (cell - (width - cells) + 0.5) / max(cells, 1)
    return view.x.low + (view.x.high - view.x.low) * min(max(part, 0.0), 1.0)


def _canvas_width(width: int) -> int:
    return max(width - GUTTER if width >= _GUTTER_FROM else width, 0)


def render_chart(view: ChartView, size: Size, symbols: Symbols, frames: FrameCache) -> Rows:
    """Return the rows of a chart."""
    note_below = bool(view.note) and size.height >= _NOTE_FROM
    cells, rows = plot_cells(size, note_below, len(view.table), len(view.legend))
    if cells <= 0 or rows <= 0:
        return fit_rows((), size.width, size.height)
    sign = clean_row(((view.sign, Role.TITLE),)) if 0 < cell_width(view.sign) < size.width else ()
    beside = size.width - row_width(sign)
    if size.height == 1 and size.width >= _GUTTER_FROM:
        return (join(sign, _sparkline(view, beside, symbols)),)
    framed = FrameKey(cells, rows, view.x, view.y, _has_x_axis(size), symbols)

    def draw() -> tuple[list[Row], frozenset[str]]:
        canvas, named = _canvas(view, cells, rows, symbols)
        if size.width < _GUTTER_FROM:
            return canvas.rows(), named
        frame = frames.get(framed, build_frame)
        return [*frames.row_cache.rows(canvas, frame.left), *(((text, Role.AXIS),) for text in frame.bottom)], named

    body, labels = frames.row_cache.body(view, (size.width, framed), draw)
    title_note = "" if note_below else view.note
    head = [join(sign, _head(view, beside, symbols, title_note, labels))] if size.height >= 2 else []
    head += [fit_row(clean_row(row), size.width) for row in view.legend]
    note = fit(" " * (size.width - cells) + _whole_parts(clean(view.note), cells), size.width)
    foot: list[Row] = [((note, Role.MUTED),)] if note_below else []
    foot += [clean_row(row) for row in _table(view.table, _table_rows(size, len(view.table)))]
    drawn = (*head, *body)
    return (*drawn, *fit_rows(foot, size.width, size.height - len(drawn)))


def _table(table: Rows, rows: int) -> Rows:
    """Return the rows of the table that fit; if some do not, the last one has their number."""
    if len(table) <= rows or not rows:
        return table[:rows]
    return (*table[: rows - 1], ((f"  … {len(table) - rows + 1} more rows", Role.MUTED),))


def _whole_parts(note: str, width: int) -> str:
    """Return as many parts of a note ("a, b; c") as fit; all of it if not even the first one fits."""
    if cell_width(note) <= width:
        return note
    ends = [match.start() for match in re.finditer(r"[,;] ", note)]
    return next((note[:end] for end in reversed(ends) if cell_width(note[:end]) <= width), note)


def _sparkline(view: ChartView, width: int, symbols: Symbols) -> Row:
    """Return title, curve and last value in one row."""
    title = fit_name(clean(view.title), width // 3)
    value = clean_row(view.headline[:1])
    cells = width - cell_width(title) - row_width(value) - 2
    if cells < 1:
        return fit_row(((title, Role.TITLE),), width)
    (curve,) = _canvas(view, cells, 1, symbols)[0].rows()
    blank: Row = ((" ", Role.MUTED),)
    return join(((title, Role.TITLE),), blank, curve, blank, value)


def _head(view: ChartView, width: int, symbols: Symbols, note: str, named: frozenset[str]) -> Row:
    """Return the title row with legend and headline; labels drawn in the chart are not in the legend.

    If the legend needs the room, the headline is reduced to the last value; then names of metrics in it are cut. Two
    lines have a legend even if their labels have to be cut.
    """
    several = sum(not line.behind for line in view.lines) > 1
    lines = [line for line in view.lines if line.glyph or (several and not line.behind)]
    lines = [line for line in lines if line.label and line.label not in named]
    legend = _legend(lines, [line.label for line in lines], symbols)
    valued = _legend(lines, [f"{line.label} {line.value}".rstrip() for line in lines], symbols)
    y_label: Row = ((view.y.label, Role.MUTED),) if view.y.label else ()
    headline = clean_row(view.headline)
    needed = cell_width(clean(view.title)) + _widths(legend) + 2
    if legend and needed + row_width(headline) > width:
        short = _short_labels(lines, width - needed - row_width(headline[:1]))
        if short or needed + row_width(headline[:1]) <= width:
            headline = headline[:1]
        legend = _legend(lines, short, symbols) if short else legend
    elif headline and not legend and cell_width(clean(view.title)) + 2 + row_width(headline[:1]) > width:
        headline = _without_unit(headline[0])
    left = width - cell_width(clean(view.title)) - row_width(headline) - 4
    if y_label and cell_width(clean(view.y.label)) > left >= _LEAST_NAME:
        y_label = ((fit_name(clean(view.y.label), left), Role.MUTED),)
    beside = sum(row_width(row) + 2 for row in (headline, y_label) if row)
    room = width - cell_width(clean(view.title)) - beside
    if len(lines) == 2 and _widths(legend) > room:
        if headline and view.cursor is None:
            room += row_width(headline)
            headline = _without_unit(headline[0])
            room -= row_width(headline)
        legend = _legend(
            lines,
            _two_labels(view.title, [line.label for line in lines], room - 2 * LEGEND_ENTRY, view.cursor is not None),
            symbols,
        )
    legend = valued if _widths(valued) <= room else _few(legend, room)
    note = _whole_parts(clean(note), room - _widths(legend) - 2)
    extras = [y_label, *legend, ((note, Role.MUTED),) if note else ()]
    return title_row(view.title, headline, width, extras, view.alike)


def _widths(legend: Sequence[Row]) -> int:
    """Return the cells of the entries of a legend, with the blanks between them."""
    return sum(row_width(clean_row(entry)) + 2 for entry in legend)


def _legend(lines: Sequence[Line], labels: Sequence[str], symbols: Symbols) -> list[Row]:
    return [((f"{line.glyph or _DOT[symbols]} {label}", line.role),) for line, label in zip(lines, labels, strict=True)]


def _short_labels(lines: Sequence[Line], room: int) -> list[str]:
    """Return the labels with the names of metrics, which some begin with, cut so that they take -`room` cells less;
    [] if they fit, or if too little would be left of a name."""
    named = [line for line in lines if line.metric and line.label.startswith(line.metric)]
    if room >= 0 or not named:
        return []
    names = [clean(line.metric) for line in named]
    short = fit_side_by_side(names, sum(map(cell_width, names)) + room, _LEAST_NAME)
    by_line = {id(line): name + line.label[len(line.metric) :] for line, name in zip(named, short, strict=True)}
    return [by_line.get(id(line), line.label) for line in lines] if short != names else []


def _two_labels(title: str, labels: Sequence[str], room: int, with_values: bool) -> list[str]:
    """Return two labels without the words that both begin or end with, or that the title has, cut to `room` cells
    together; whole ones if too little would be left of them.

    with_values: whether the labels end with the values at the cursor, which are kept."""
    names = [clean(label) for label in labels]
    differs = next((i for i, (left, right) in enumerate(zip(*names, strict=False)) if left != right), 0)
    begin = max(names[0].rfind(separator, 0, differs) for separator in " /") + 1
    names = [name[begin:].removeprefix(f"{clean(title)} ") for name in names]
    while (
        not with_values and len({name.rpartition(" ")[2] for name in names}) == 1 and all(" " in name for name in names)
    ):
        names = [name.rpartition(" ")[0] for name in names]
    first, second = map(cell_width, names)
    least = min(max(room // 2, room - second), first)
    cells = least, room - least
    if min(cells) < _LEAST_LABEL or not all(names):
        return list(labels)
    return [
        name[:own] if own < _ELLIPSIS_FROM and name.isascii() else fit(name, min(cell_width(name), own)).rstrip()
        for name, own in zip(names, cells, strict=True)
    ]


def _last_word(label: str) -> str:
    return label.rpartition(" ")[2]


def _without_unit(value: Span) -> Row:
    """Return a value alone, without its unit, which the title of a narrow chart often names."""
    number, _, unit = value[0].rpartition(" ")
    return ((number, value[1]),) if number and " " not in number and not unit[:1].isdigit() else (value,)


def _few(legend: list[Row], room: int) -> list[Row]:
    """Return the entries of the legend that fit, followed by the number of the others."""
    if not legend:
        return legend
    widths = np.cumsum([row_width(clean_row(entry)) + 2 for entry in legend])
    if widths[-1] <= room:
        return legend
    shown = int(np.searchsorted(widths, room - len(f"  +{len(legend)}"), "right"))
    return [*legend[:shown], ((f"+{len(legend) - shown}", Role.MUTED),)] if shown else legend


def _canvas(view: ChartView, cells: int, rows: int, symbols: Symbols) -> tuple[Canvas, frozenset[str]]:
    """Return the canvas and the labels written on it."""
    shape = glyphs(symbols)
    columns = cells * shape.columns
    layers = {line.behind: np.zeros((rows, cells), dtype=np.uint8) for line in view.lines}
    owner = np.full((rows, cells), -1, dtype=np.int16)
    canvas = Canvas(np.zeros((rows, cells), dtype=np.uint32), owner, [line.role for line in view.lines])
    outside: list[tuple[int, npt.NDArray[np.int32]]] = []
    if any(line.filled for line in view.lines):
        draw_areas(canvas, view.lines, view.y, symbols)
    else:
        canvas.codes[:] = _BLANK
    for index in _back_to_front(view.lines):
        line = view.lines[index]
        if line.filled:
            continue
        top, bottom, beyond = spans(line.envelope, view.y, columns, rows * shape.rows)
        lit = masks(top, bottom, rows, shape)
        layers[line.behind] |= lit
        owner[lit > 0] = index
        outside.append((index, beyond))
    for behind in sorted(layers, reverse=True):  # background first
        dots = layers[behind]
        np.copyto(canvas.codes, shape.codes[dots], where=dots > 0)
    named = name_areas(canvas, view.lines)
    for index, beyond in outside:
        if view.lines[index].markers:
            _draw_points(canvas, view.lines[index], index, view, symbols)
        elif view.lines[index].glyph:
            _draw_glyphs(canvas, index, view, symbols, layers.get(False) if view.lines[index].behind else None)
        if view.lines[index].arrows and np.count_nonzero(beyond):
            canvas.draw_outside(beyond.reshape(cells, shape.columns), index, symbols)
    for index, line in enumerate(view.lines):
        if line.behind and line.label and not line.filled:
            _label_level(canvas, view, index, layers.get(False), shape)
    if view.marks:
        draw_marks(canvas, view, symbols)
    if view.cursor is not None:
        draw_cursor(canvas, view, view.cursor, symbols)
    return canvas, named


def _back_to_front(lines: Sequence[Line]) -> list[int]:
    """Return the indices of the lines in drawing order; the first line is drawn last, on top of the others."""
    return sorted(range(len(lines)), key=lambda index: (not lines[index].behind, -index))


def _label_level(
    canvas: Canvas, view: ChartView, index: int, curves: npt.NDArray[np.uint8] | None, shape: Glyphs
) -> None:
    """Write the label of a horizontal line on its left end, or on its right end if a curve is there.

    curves: dots of the lines in the foreground."""
    line, (rows, cells) = view.lines[index], canvas.codes.shape
    text = clean(line.label)
    _, y = points(line.envelope, view.y, cells * shape.columns, rows * shape.rows)
    if not len(y) or cells < _LABEL_FROM or cell_width(text) != len(text):
        return
    row = y[0] // shape.rows
    for begin in (0, cells - len(text) - 1):
        place = row, slice(begin, begin + len(text) + 1)
        if (curves is None or not curves[place].any()) and np.isin(canvas.owner[place], (-1, index)).all():
            canvas.codes[place] = [ord(character) for character in (f"{text} " if begin == 0 else f" {text}")]
            canvas.owner[place] = index
            return


def _draw_points(canvas: Canvas, line: Line, index: int, view: ChartView, symbols: Symbols) -> None:
    shape = glyphs(symbols)
    rows, cells = canvas.codes.shape
    x, y = points(line.envelope, view.y, cells * shape.columns, rows * shape.rows)
    cell = y // shape.rows, x // shape.columns
    canvas.codes[cell] = ord(_DOT[symbols])
    canvas.owner[cell] = index


def _draw_glyphs(
    canvas: Canvas, index: int, view: ChartView, symbols: Symbols, above: npt.NDArray[np.uint8] | None = None
) -> None:
    """Draw the glyph of a line at its end and at a few places before, which differ between lines.

    above: dots of the lines on top, which are not covered."""
    shape, line = glyphs(symbols), view.lines[index]
    rows, cells = canvas.codes.shape
    x, y = points(line.envelope, view.y, cells * shape.columns, rows * shape.rows)
    if not len(x):
        return
    offset = (index % len(view.lines)) / len(view.lines)
    wanted = (np.arange(_GLYPHS_PER_LINE) + offset) * (cells * shape.columns / _GLYPHS_PER_LINE)
    wanted = wanted[(wanted >= x[0]) & (wanted <= x[-1])]
    chosen = np.append(np.minimum(np.searchsorted(x, wanted), len(x) - 1), len(x) - 1)
    row, cell = y[chosen] // shape.rows, x[chosen] // shape.columns
    if above is not None:
        free = above[row, cell] == 0
        row, cell = row[free], cell[free]
    canvas.codes[row, cell] = ord(line.glyph)
    canvas.owner[row, cell] = index
