"""ChartView -> rows: title, curves with their marks inside a frame, note.

Depending on the size: y labels in a gutter of fixed width from 24 cells of width; an x axis from 6 rows of height; a
row for the note from 9 rows (otherwise it is in the title row if it fits); a table from 16 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from os.path import commonprefix

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from tuimon.draw.area import draw_areas
from tuimon.draw.frames import GUTTER, FrameKey, build_frame
from tuimon.draw.marks import Canvas, draw_cursor, draw_marks
from tuimon.draw.raster import Glyphs, glyphs, masks, points, spans
from tuimon.draw.rows import clean_row, fit_row, fit_rows, join, row_width, title_row
from tuimon.model.views import ChartView, Line, Role, Row, Rows, Size, Span, Symbols, View
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
_CUT_NAME = 20
"""Cells to which a name is cut rather than that the values of the legend are left out."""
_LEAST_OF_TWO = 2
"""Minimum cells of a name in the legend if a chart has two lines."""
_DOT = "●"


def plot_columns(width: int, symbols: Symbols = Symbols.BRAILLE) -> int:
    """Return the number of columns of an envelope for a chart of `width` cells: the dots across its canvas."""
    return max(_canvas_width(width) * glyphs(symbols).columns, 1)


def plot_cells(size: Size, note: bool = False, table: int = 0, legend: int = 0) -> tuple[int, int]:
    """Return (cells, rows) of the canvas, the part of a chart with the curves. note, table: rows below it. legend: rows
    above it, besides the title."""
    rows = size.height - 1 - _has_x_axis(size)
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


def render_chart(view: ChartView, size: Size, symbols: Symbols) -> Rows:
    """Return the rows of a chart."""
    notes = [clean(note) for note in view.notes]
    note_below = bool(notes) and size.height >= _NOTE_FROM
    cells, rows = plot_cells(size, note_below, len(view.table), len(view.legend))
    sign = clean_row(((view.sign, Role.TITLE),)) if 0 < cell_width(view.sign) < size.width else ()
    beside = size.width - row_width(sign)
    head = [join(sign, _head(view, beside, [] if note_below else notes))]
    if cells <= 0 or rows <= 0:
        return fit_rows(head, size.width, size.height)
    body = _canvas(view, cells, rows, symbols).rows()
    if size.width >= _GUTTER_FROM:
        frame = build_frame(FrameKey(cells, rows, view.x, view.y, _has_x_axis(size), symbols))
        body = [join(((text, Role.AXIS),), row) for text, row in zip(frame.left, body, strict=True)]
        body += [((text, Role.AXIS),) for text in frame.bottom]
    head += [fit_row(clean_row(row), size.width) for row in view.legend]
    note = fit(" " * (size.width - cells) + _whole_notes(notes, cells), size.width)
    foot: list[Row] = [((note, Role.MUTED),)] if note_below else []
    foot += [clean_row(row) for row in _table(view.table, _table_rows(size, len(view.table)))]
    drawn = (*head, *body)
    return (*drawn, *fit_rows(foot, size.width, size.height - len(drawn)))


def has_note_row(view: View, size: Size) -> bool:
    """Return whether a row below the axis of the view is the chart's note."""
    return isinstance(view, ChartView) and bool(view.note.strip()) and size.height >= _NOTE_FROM


def with_note_row(view: View, size: Size) -> View:
    """Return a chart with a blank row in place of a missing note, so that its axis aligns with charts that have one."""
    if not isinstance(view, ChartView) or view.notes or size.height < _NOTE_FROM:
        return view
    return replace(view, notes=(" ",))


def _table(table: Rows, rows: int) -> Rows:
    """Return the rows of the table that fit; if some do not, the last one has their number."""
    if len(table) <= rows or not rows:
        return table[:rows]
    return (*table[: rows - 1], ((f"  … {len(table) - rows + 1} more rows", Role.MUTED),))


def _whole_notes(notes: Sequence[str], width: int) -> str:
    """Return as many notes as fit; all of them if not even the first one fits."""
    texts = [", ".join(notes[:count]) for count in range(len(notes), 0, -1)]
    return next((text for text in texts if cell_width(text) <= width), texts[0] if texts else "")


def _head(view: ChartView, width: int, notes: Sequence[str]) -> Row:
    """Return the title row with legend and headline."""
    several = sum(not line.behind for line in view.lines) > 1
    lines = [line for line in view.lines if line.label and (line.glyph or (several and not line.behind))]
    room = width - cell_width(clean(view.title))
    y_label = clean(view.y.label)
    headline, labels = _headline_and_labels(view, lines, room - bool(lines and y_label) * (cell_width(y_label) + 2))
    left = room - row_width(headline) - 4
    if cell_width(y_label) > left >= _LEAST_NAME:
        y_label = fit_name(y_label, left)
    room -= sum(cells + 2 for cells in (row_width(headline), cell_width(y_label)) if cells)
    legend = _legend(lines, labels, room)
    note = _whole_notes(notes, room - sum(row_width(entry) + 2 for entry in legend) - 2)
    extras = (((y_label, Role.MUTED),), *legend, ((note, Role.MUTED),))
    return title_row(view.title, headline, width, [row for row in extras if row[0][0]], view.alike)


def _headline_and_labels(view: ChartView, lines: Sequence[Line], room: int) -> tuple[Row, list[str]]:
    """Return the headline and the entries of the legend beside each other in `room` cells, as far as possible.

    - First the values of the legend are shortened and then left out.
    - Then the headline is reduced to its value, then that loses its unit, which the title often names.
    - Then names are cut, to _LEAST_NAME cells or more; those of two lines to fewer.
    """
    headline, place = clean_row(view.headline), clean_row(view.place)
    value = headline[:1]
    short = _without_unit(value[0]) if value else ()
    if not lines:
        return headline if row_width(value) + 2 <= room else short, []
    names = [clean(line.label) for line in lines]
    forms = list(zip_longest(*(line.values for line in lines), fillvalue=""))
    values = [[f" {clean(text)}" if text else "" for text in form] for form in forms]
    bare = [""] * len(names)
    if place:
        whole = [(head, shown) for shown in values for head in (place, ())]
    else:
        whole = [(head, shown) for head in (headline, value, short) for shown in (*values, bare)]
    cut = [(head, bare) for head in (value, short)]
    tried = [(room, whole), (_CUT_NAME, whole), (_LEAST_NAME, cut)]
    for least, choices in tried:
        for head, shown in choices:
            cells = room - row_width(head) - 2 * bool(head) - LEGEND_ENTRY * len(names) - sum(map(cell_width, shown))
            fitted = fit_side_by_side(names, cells, least)
            if sum(map(cell_width, fitted)) <= cells:
                return head, [f"{name}{text}" for name, text in zip(fitted, shown, strict=True)]
    cells = room - row_width(short) - 2 - LEGEND_ENTRY * len(names)
    return (short, _two_names(view.title, names, cells)) if len(names) == 2 and not place else (headline, names)


def _two_names(title: str, names: Sequence[str], room: int) -> list[str]:
    """Return two names without the words that both begin with, or that the title has, cut to `room` cells together;
    whole ones if too little would be left of them."""
    shared = commonprefix(names)  # noqa: RUF071  by characters
    begin = max(map(shared.rfind, " /")) + 1
    first, second = [name[begin:].removeprefix(f"{clean(title)} ") for name in names]
    cells = min(max(room // 2, room - cell_width(second)), cell_width(first))
    if min(cells, room - cells) < _LEAST_OF_TWO:
        return list(names)
    return [fit(first, cells), fit(second, min(room - cells, cell_width(second)))]


def _legend(lines: Sequence[Line], labels: Sequence[str], room: int) -> list[Row]:
    """Return the entries of the legend that fit, followed by the number of the others; all if not even one fits."""
    legend: list[Row] = [
        ((f"{line.glyph or _DOT} {label}", line.role),) for line, label in zip(lines, labels, strict=True)
    ]
    widths = np.cumsum([row_width(entry) + 2 for entry in legend])
    if not legend or widths[-1] <= room:
        return legend
    shown = int(np.searchsorted(widths, room - len(f"  +{len(legend)}"), "right"))
    return [*legend[:shown], ((f"+{len(legend) - shown}", Role.MUTED),)] if shown else legend


def _without_unit(value: Span) -> Row:
    """Return a value alone, without its unit, which the title of a narrow chart often names."""
    number, _, unit = value[0].rpartition(" ")
    return ((number, value[1]),) if number and " " not in number and not unit[:1].isdigit() else (value,)


def _canvas(view: ChartView, cells: int, rows: int, symbols: Symbols) -> Canvas:
    """Return the canvas with curves and marks."""
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
    # The first line is drawn last, on top of the others.
    for index, line in sorted(enumerate(view.lines), key=lambda item: (not item[1].behind, -item[0])):
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
    for index, beyond in outside:
        if view.lines[index].markers:
            _draw_points(canvas, view.lines[index], index, view, symbols)
        elif view.lines[index].glyph:
            _draw_glyphs(canvas, index, view, symbols, layers.get(False) if view.lines[index].behind else None)
        if view.lines[index].arrows and np.count_nonzero(beyond):
            canvas.draw_outside(beyond.reshape(cells, shape.columns), index)
    for index, line in enumerate(view.lines):
        if line.behind and line.label and not line.filled:
            _label_level(canvas, view, index, layers.get(False), shape)
    if view.marks:
        draw_marks(canvas, view)
    if view.cursor is not None:
        draw_cursor(canvas, view, view.cursor)
    return canvas


def _label_level(
    canvas: Canvas, view: ChartView, index: int, curves: npt.NDArray[np.uint8] | None, shape: Glyphs
) -> None:
    """Write the label of a horizontal line on its left end, or on its right end if a curve is there.

    curves: dots of the lines in the foreground."""
    line, (rows, cells) = view.lines[index], canvas.codes.shape
    text = clean(line.label)
    _, y = points(line.envelope, view.y, cells * shape.columns, rows * shape.rows)
    if not len(y) or cells < max(_LABEL_FROM, len(text) + 1) or cell_width(text) != len(text):
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
    canvas.codes[cell] = ord(_DOT)
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
    marked = [number for number, other in enumerate(view.lines) if other.glyph]
    offset = marked.index(index) / len(marked)
    wanted = (np.arange(_GLYPHS_PER_LINE) + offset) * (cells * shape.columns / _GLYPHS_PER_LINE)
    wanted = wanted[(wanted >= x[0]) & (wanted <= x[-1])]
    chosen = np.append(np.minimum(np.searchsorted(x, wanted), len(x) - 1), len(x) - 1)
    row, cell = y[chosen] // shape.rows, x[chosen] // shape.columns
    if above is not None:
        free = above[row, cell] == 0
        row, cell = row[free], cell[free]
    canvas.codes[row, cell] = ord(line.glyph)
    canvas.owner[row, cell] = index
