"""BarView -> rows: a whole as one stacked bar, and the table of its parts.

The table has the name of each part and the spans of its detail as columns aligned right. Where the view names two
columns more than a detail has spans (besides the name) the value and its share of the total come between; where it
names one more, the value; a view without column heads gets both. Where the table leaves room enough, the waterfall
stands beside it: each part from where it begins to where it ends.
"""

from __future__ import annotations

from tuimon.draw.numbers import format_fraction, format_value
from tuimon.draw.rows import clean_row, exactly, join, paragraph, row_width, title_row
from tuimon.model.views import Bar, BarView, Role, Row, Rows, Size, Span, Symbols
from tuimon.text import cell_width, clean, fit

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ASCII_FILLS = "#=+-%~:o"
_SHORTEST_NAME = 20
_WATERFALL_FROM = 18
"""Cells that a waterfall needs; from twice as many on the last column, what an operation is made of, gives way to it:
the waterfall shows the same."""
_LONGEST_WATERFALL = 80


def render_bars(view: BarView, size: Size, symbols: Symbols) -> Rows:
    """The rows of a stacked bar and its table; see tuimon.draw.render."""
    rows: list[Row] = []
    if size.height >= 2:
        rows.append(title_row(view.title, view.headline, size.width))
    rows.append(stacked_bar(view, size.width, symbols))
    room = size.height - len(rows)
    spare = room - len(view.bars) - bool(view.columns)  # what the table does not need
    lines = max(spare - bool(view.note), 2 if room >= 3 else 1)
    foot = paragraph(view.sentence, size.width, lines) if view.sentence and room >= 2 else []
    if view.note and room - len(foot) > min(len(view.bars) + 1, 4):  # rows of the table are worth more than small print
        foot += paragraph(((view.note, Role.MUTED),), size.width, max(spare - len(foot), 1))
    table = _table(view, size.width, room - len(foot), symbols)
    return exactly([*rows, *table, *foot], size.width, size.height)


def stacked_bar(view: BarView, width: int, symbols: Symbols) -> Row:
    """One row: each part as wide as its share, exact to a quarter of a cell, its label inside where it fits."""
    total = max(view.total, sum(bar.value for bar in view.bars))
    if not 0 < total < float("inf") or width <= 0:
        return (("." * width if symbols is Symbols.ASCII else "─" * width, Role.FAINT),)
    edges = [0.0]
    for bar in view.bars:
        edges.append(edges[-1] + bar.value / total * width)
    spans: list[Span] = []
    done = 0
    for index, bar in enumerate(view.bars):
        start, end = edges[index], edges[index + 1]
        last = round(end) if index + 1 == len(view.bars) or symbols is Symbols.ASCII else int(end + 0.5)
        last = min(max(last, done), width)
        cells = last - done
        if cells:
            fill = _ASCII_FILLS[index % len(_ASCII_FILLS)] if symbols is Symbols.ASCII else "█"
            text = fill * cells
            if symbols is not Symbols.ASCII:
                text = _soft_ends(text, start - done, end - last)
            spans.append((_with_label(text, clean(bar.label)), bar.role))
        done = last
    rest = "." if symbols is Symbols.ASCII else "─"
    return join(spans, ((rest * (width - done), Role.FAINT),))


def _soft_ends(text: str, start: float, end: float) -> str:
    """The bar of one part: its first cell may be half, its last has the eighths that belong to it."""
    if end < 0:
        text = text[:-1] + _EIGHTHS[max(round((1 + end) * 8), 1)]
    if len(text) > 1 and start > 0.25:
        text = "▐" + text[1:]
    return text


def _with_label(text: str, label: str) -> str:
    """The label in the middle of a bar that is wide enough to be seen left and right of it."""
    room = len(text) - 4
    inside = f" {label} "
    if cell_width(label) > room or not label:
        return text
    left = (len(text) - cell_width(inside)) // 2
    return text[:left] + inside + text[left + cell_width(inside) :]


def _table(view: BarView, width: int, height: int, symbols: Symbols) -> list[Row]:
    if height <= 0 or not view.bars:
        return []
    total = max(view.total, sum(bar.value for bar in view.bars))
    details = max(len(bar.detail) for bar in view.bars)
    own = min(max(len(view.columns) - 1 - details, 0), 2) if view.columns else 2
    with_head = bool(view.columns) and height >= 3
    room = height - with_head
    rows = list(range(len(view.bars)))
    if len(rows) > room:
        by_size = sorted(rows, key=lambda row: -view.bars[row].value)
        rows = sorted(by_size[: max(room - 1, 1)])
    cells = [_cells(view.bars[row], total, own, row, symbols) for row in rows]
    left = [bar for row, bar in enumerate(view.bars) if row not in rows]
    if left and room > 1:
        more = Bar(f"+{len(left)} more", sum(bar.value for bar in left), Role.MUTED)
        cells.append(_cells(more, total, own, -1, symbols))
    if with_head:
        cells.insert(
            0, [("  " + clean(view.columns[0]), Role.MUTED), *((clean(c), Role.MUTED) for c in view.columns[1:])]
        )
    placed = any(bar.edges for bar in view.bars)
    table = _aligned(cells[:height], width, 2 * _WATERFALL_FROM + 2 if placed else 0)
    return _with_waterfall(table, view, rows, total, width, symbols, with_head)


def _with_waterfall(
    rows: list[Row], view: BarView, shown: list[int], total: float, width: int, symbols: Symbols, with_head: bool
) -> list[Row]:
    """The rows of the table, each with its part's place in the whole behind it, where there is room. shown: which parts
    they are."""
    used = max(map(row_width, rows))
    room = min(width - used - 2, _LONGEST_WATERFALL)
    if room < _WATERFALL_FROM or not 0 < total < float("inf") or not any(bar.edges for bar in view.bars):
        return rows
    made = rows[:with_head]
    for place, row in enumerate(rows[with_head:]):
        bar = view.bars[shown[place]] if place < len(shown) else None
        gap: Row = ((" " * (used + 2 - row_width(row)), Role.MUTED),)
        made.append(join(row, gap, _placed(bar, shown[place], total, room, symbols)) if bar and bar.edges else row)
    return made


def _placed(bar: Bar, index: int, total: float, room: int, symbols: Symbols) -> Row:
    """One row of a waterfall. What is too short to be seen is a thin line."""
    plain = symbols is Symbols.ASCII
    work, side, thin = (_ASCII_FILLS[index % len(_ASCII_FILLS)], ".", "|") if plain else ("█", "▒", "▏")
    at = [min(max(edge / total * room, 0.0), room) for edge in bar.edges]
    first, last = round(at[0]), round(at[-1])
    if last <= first:
        cell = min(int(at[0]), room - 1)
        return ((" " * cell, Role.MUTED), (thin, bar.role))
    inner = (round(at[1]), round(at[2])) if len(at) == 4 else (first, last)
    text = "".join(work if inner[0] <= cell < inner[1] else side for cell in range(first, last))
    return ((" " * first, Role.MUTED), (text, bar.role))


def _cells(bar: Bar, total: float, own: int, index: int, symbols: Symbols) -> list[Span]:
    key = _ASCII_FILLS[index % len(_ASCII_FILLS)] if symbols is Symbols.ASCII else "■"
    share = bar.value / total if total > 0 else 0.0
    mine: list[Span] = [(format_value(bar.value), Role.VALUE), (format_fraction(share), Role.TEXT)]
    return [(f"{key if index >= 0 else ' '} {clean(bar.label)}", bar.role), *mine[:own], *clean_row(bar.detail)]


def _aligned(table: list[list[Span]], width: int, beside: int = 0) -> list[Row]:
    """Columns aligned right, two blanks apart, as many as leave the names readable; names left, cut if need be.

    beside: cells for which the last column is left out, where that is enough to have them.
    """
    count = max(len(row) for row in table)
    widths = [max((cell_width(row[c][0]) for row in table if c < len(row)), default=0) for c in range(count)]
    while count > 1 and sum(w + 2 for w in widths[1:count]) + min(widths[0], _SHORTEST_NAME + 2) > width:
        count -= 1
    if beside and count == len(widths) > 1:
        used = sum(widths) + 2 * (count - 1)
        if used + beside > width >= used - widths[-1] - 2 + beside:
            count -= 1
    name = min(widths[0], max(width - sum(w + 2 for w in widths[1:count]), 0))
    rows: list[Row] = []
    for row in table:
        parts: list[Span] = [(fit(row[0][0], name), row[0][1])]
        for column in range(1, count):
            text, role = row[column] if column < len(row) else ("", Role.MUTED)
            parts.append((" " * (widths[column] + 2 - cell_width(text)) + text, role))
        rows.append(join(parts))
    return rows
