"""HeatView -> rows: a grid of fractions as numbers, each cell in the role of its level.

The theme defines the colours of roles. If columns do not fit, they are thinned evenly, always keeping
the one with the peak; of the rows the fullest are kept. The number of the others is displayed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from tuimon.draw.rows import fit_rows, join, row_width, title_row, wrap_row
from tuimon.model.views import HEAT_ROLES, HeatView, Role, Row, Rows, Size, Span
from tuimon.text import cell_width, clean, fit

THRESHOLDS = (0.3, 0.5, 0.7, 0.85, 0.95)
"""Lower bounds of the levels above the lowest."""
_SHORTEST_NAME = 12
"""Names of rows are cut down to this width if all columns fit beside them then."""
_WIDEST = 9


def level(fraction: float) -> Role:
    """Return the role of a fraction; NaN counts as the lowest level."""
    return HEAT_ROLES[bisect_right(THRESHOLDS, fraction) if fraction == fraction else 0]


def render_heat(view: HeatView, size: Size) -> Rows:
    """Return the rows of a heat map."""
    top: list[Row] = [title_row(view.title, view.headline, size.width)] if size.height >= 2 else []
    if not view.rows or not view.columns:
        return fit_rows([*top, *_foot(view, size.width, size.height)], size.width, size.height)
    room = size.height - len(top)
    with_head = room >= 3
    spare = room - with_head - len(view.rows)
    foot = _foot(view, size.width, spare)[: max(spare, 0) or (1 if room >= 5 else 0)]
    shown = max(min(room - with_head - len(foot), len(view.rows)), 1)
    highest = [_highest(view, row) for row in range(len(view.rows))]
    rows = fullest(highest, shown - (shown < len(view.rows) and shown > 1))
    grid = _grid(view, rows, size.width, with_head)
    if len(rows) < len(view.rows) and len(rows) < shown:
        grid.append(((f"+{len(view.rows) - len(rows)} more", Role.MUTED),))
    spare = room - len(grid) - len(foot)
    scale = [_scale_line()] if spare > 0 and size.width >= 40 else []
    return fit_rows([*top, *grid, *scale, *foot], size.width, size.height)


def _foot(view: HeatView, width: int, room: int) -> list[Row]:
    """Return sentence and note, wrapped if there is room; the sentence takes precedence."""
    rows = wrap_row(view.sentence, width, max(room, 1)) if view.sentence else []
    return rows + wrap_row(((view.note, Role.MUTED),), width, max(room - len(rows), 1)) if view.note else rows


def fullest(fractions: Sequence[float], room: int) -> list[int]:
    """Return the indices of the `room` highest fractions, ascending; NaN counts as the lowest."""

    def emptiness(index: int) -> float:
        return math.inf if math.isnan(fractions[index]) else -fractions[index]

    return sorted(sorted(range(len(fractions)), key=emptiness)[:room])


def _highest(view: HeatView, row: int) -> float:
    """Return the highest fraction of a row; NaN if none is known."""
    values = (_at(view.cells, row, column) for column in range(len(view.columns)))
    return max((value for value in values if value is not None and not math.isnan(value)), default=math.nan)


def _keep(count: int, room: int, peak: int | None) -> list[int]:
    """Return the `room` of `count` indices that are displayed: first, last, evenly spaced ones, and the peak."""
    if room >= count:
        return list(range(count))
    room = max(room, 1)
    kept = sorted({round(i * (count - 1) / max(room - 1, 1)) for i in range(room)})
    if peak is not None and 0 <= peak < count and peak not in kept:
        kept[min(range(len(kept)), key=lambda i: abs(kept[i] - peak))] = peak
    return kept


def _grid(view: HeatView, rows: list[int], width: int, with_head: bool) -> list[Row]:
    labels = [clean(label) for label in view.rows]
    heads = [clean(head) for head in view.columns]
    count = len(heads)
    values = [value for numbers in (view.cells, view.second) for r in rows for c in range(count)
              if (value := _at(numbers, r, c)) is not None]  # fmt: skip
    digits = max((len(_percent(value)) for value in values), default=1)
    narrowest = digits + 1  # plus a blank or the mark of the peak
    beside_all = max(width - 1 - count * narrowest, min(_SHORTEST_NAME, width // 2))
    name = min(max(cell_width(labels[r]) for r in rows), beside_all)
    gap = 1 if name else 0
    space = max(width - name - gap, 1)
    elided = space // narrowest < count
    if elided and space >= 4 * narrowest:
        space -= 4  # for the number of columns that are left out
    columns = _keep(count, max(space // narrowest, 1) if elided else count, view.peak[1] if view.peak else None)
    cell = min(max(space // len(columns), 1), _WIDEST if view.second else 7)
    grid: list[Row] = []
    if with_head:
        head: list[Span] = [(" " * (name + gap), Role.MUTED)]
        head.extend((_centred(heads[c], cell), Role.MUTED) for c in columns)
        more = f" +{count - len(columns)}"
        head.append((more if elided and row_width(head) + len(more) <= width else "", Role.MUTED))
        grid.append(join(head))
    for r in rows:
        cells: list[Span] = [_cell(view, r, c, cell, digits) for c in columns]
        grid.append(join(((fit(labels[r], name, keep="end") + " " * gap, Role.TEXT),), cells))
    return grid


def _centred(text: str, width: int) -> str:
    if cell_width(text) > width:
        return fit(text, width, keep="end")
    left = (width - cell_width(text)) // 2
    return fit(" " * left + text, width)


def _cell(view: HeatView, row: int, column: int, width: int, digits: int) -> Span:
    value, second = _at(view.cells, row, column), _at(view.second, row, column)
    with_second = second is not None and 2 * digits + 2 <= width
    if value is None and second is not None and with_second:
        text = "·".rjust(digits + 1) + "/" + _percent(second).ljust(digits)
        return (text.center(width), level(second))
    if value is None:
        return (fit("·".rjust(min(digits + 1, width)).center(width), width), Role.FAINT)
    text, role = _percent(value), level(value)
    if width <= digits:
        return (fit(text.rjust(width), width), role)
    mark = "▲" if view.peak == (row, column) else ""
    text = (mark + text).rjust(digits + 1)
    if second is not None and with_second:
        text += "/" + _percent(second).ljust(digits)
    return (text.center(width), role)


def _at(cells: tuple[tuple[float | None, ...], ...], row: int, column: int) -> float | None:
    return cells[row][column] if row < len(cells) and column < len(cells[row]) else None


def _percent(fraction: float) -> str:
    return (
        f"{fraction * 100:.0f}" if abs(fraction) < 10 else "+++" if fraction > 0 else "---" if fraction < 0 else "NaN"
    )


def _scale_line() -> Row:
    edges = [f"{edge * 100:.0f}" for edge in THRESHOLDS]
    names = [f"<{edges[0]}", *(f"{a}-{b}" for a, b in pairwise(edges)), f">{edges[-1]}"]
    return join([("% ", Role.MUTED)], *([(f" {name} ", role)] for name, role in zip(names, HEAT_ROLES, strict=True)))
