"""BarView -> rows: a whole as one stacked bar, and a table of its parts.

The table has the name of each part and the spans of its detail as right-aligned columns.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tuimon.draw.rows import clean_row, fit_rows, join, title_row, wrap_row
from tuimon.draw.table import aligned
from tuimon.model.views import Bar, BarView, Role, Row, Rows, Size, Span, Symbols
from tuimon.text import cell_width, clean

_PLAIN_FILLS = "#=+-%~:o"
"""Fill characters of the parts in ASCII."""
_SHORTEST_NAME = 20
_LONG_SENTENCE_FROM = 9
"""Rows of the panel from which on a sentence may have three lines: the table then keeps four."""


def render_bars(view: BarView, size: Size, symbols: Symbols) -> Rows:
    """Return the rows of a stacked bar and its table."""
    rows: list[Row] = []
    if size.height >= 2:
        rows.append(title_row(view.title, view.headline, size.width))
    rows.append(stacked_bar(view, size.width, symbols))
    room = size.height - len(rows)
    spare = room - len(view.bars) - bool(view.columns)  # rows that the table does not need
    lines = max(spare - bool(view.note), 3 if size.height >= _LONG_SENTENCE_FROM else 1)
    foot = wrap_row(view.sentence, size.width, lines) if view.sentence and room >= 2 else []
    if view.note and room - len(foot) > min(len(view.bars) + 1, 6):  # rows of the table are worth more than small print
        foot += wrap_row(((view.note, Role.MUTED),), size.width, max(spare - len(foot), 1))
    table = _table(view, size.width, room - len(foot), symbols)
    return fit_rows([*rows, *table, *foot], size.width, size.height)


def stacked_bar(view: BarView, width: int, symbols: Symbols) -> Row:
    """Return a row with each part as wide as its share, with its label if it fits."""
    total = max(view.total, sum(bar.value for bar in view.bars))
    if not 0 < total < float("inf") or width <= 0:
        return (("." * width if symbols is Symbols.ASCII else "─" * width, Role.FAINT),)
    plain = symbols is Symbols.ASCII
    edges = np.rint(np.cumsum([0.0, *(bar.value for bar in view.bars)]) / total * width).astype(int).tolist()
    spans: list[Span] = []
    for index, (bar, (begin, end)) in enumerate(zip(view.bars, pairwise(edges), strict=True)):
        fill = _PLAIN_FILLS[index % len(_PLAIN_FILLS)] if plain else "█"
        text = fill * (end - begin)
        if not plain and len(text) > 1 and end < edges[-1]:
            text = text[:-1] + "▊"  # a border without colours
        spans.append((_with_label(text, clean(bar.label)), bar.role))
    rest = ("." if plain else "─") * (width - edges[-1])
    return join(spans, ((rest, Role.FAINT),))


def _with_label(text: str, label: str) -> str:
    """Centre the label in a bar, if at least two cells of the bar remain on each side."""
    room = len(text) - 4
    inside = f" {label} "
    if cell_width(label) > room or not label:
        return text
    left = (len(text) - cell_width(inside)) // 2
    return text[:left] + inside + text[left + cell_width(inside) :]


def _table(view: BarView, width: int, height: int, symbols: Symbols) -> list[Row]:
    if height <= 0 or not view.bars:
        return []
    with_head = bool(view.columns) and height >= 3
    room = height - with_head
    rows = list(range(len(view.bars)))
    if len(rows) > room:
        by_size = sorted(rows, key=lambda row: -view.bars[row].value)
        rows = sorted(by_size[: max(room - 1, 1)])
    cells = [_cells(view.bars[row], row, symbols) for row in rows]
    left = [bar for row, bar in enumerate(view.bars) if row not in rows]
    if left and room > 1:
        more = Bar(f"+{len(left)} more", sum(bar.value for bar in left), Role.MUTED)
        cells.append(_cells(more, -1, symbols))
    if with_head:
        cells.insert(
            0, [("  " + clean(view.columns[0]), Role.MUTED), *((clean(c), Role.MUTED) for c in view.columns[1:])]
        )
    return aligned(cells[:height], width, _SHORTEST_NAME)


def _cells(bar: Bar, index: int, symbols: Symbols) -> list[Span]:
    key = _PLAIN_FILLS[index % len(_PLAIN_FILLS)] if symbols is Symbols.ASCII else "■"
    return [(f"{key if index >= 0 else ' '} {clean(bar.label)}", bar.role), *clean_row(bar.detail)]
