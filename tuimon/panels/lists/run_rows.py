"""Rows of the list of runs: the columns that fit, their headings, and the cells."""

from __future__ import annotations

from tuimon.draw.rows import fit_row
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels.lists.runs import COLUMNS, LAST_DROP, LEAST_TREND, METRIC, Column, Listing
from tuimon.store import Run
from tuimon.text import cell_width, fit

_LEAST_NAME, _NARROW_NAME, _MOST_NAME = 10, 20, 32
_MOST_TREND, _MOST_NOTE = 120, 48
Widths = tuple[tuple[Column, int], ...]
SIGNS = 5
"""Width of the signs before the first column: cursor, overlay marker, flag (hidden, base, pinned), blanks."""


def layout(
    width: int, useful: frozenset[str], longest: int, known: tuple[Column, ...] = COLUMNS, note: int = 0
) -> Widths:
    """Return the columns that fit into `width` cells, with their widths. longest: width of the longest name. known: all
    columns. note: width of the longest note, which follows the name if there is room.

    If not all fit, the curve is left out, long names are cut, the state is reduced to its symbol, then columns are left
    out by `Column.drop`. Name and curve share the remaining cells.
    """
    columns = [column for column in known if column.id in useful]
    name = min(max(longest, _LEAST_NAME), _MOST_NAME)
    word = True
    while True:
        state = COLUMNS[0].width if word else 1
        taken = SIGNS + state + 2 + sum(column.width + 1 for column in columns if column.drop)
        if taken + name <= width or (not word and not any(column.drop for column in columns)):
            break
        if word and any(column.drop == LAST_DROP for column in columns):
            columns = [column for column in columns if column.drop != LAST_DROP]  # a state says more than a curve
        elif name > _NARROW_NAME:
            name = _NARROW_NAME
        elif word:
            word = False
        elif taken + _LEAST_NAME + 6 <= width and name > _LEAST_NAME + 6:
            name = _LEAST_NAME + 6
        else:
            columns.remove(max(columns, key=lambda column: column.drop))
    left = max(width - taken, 1)
    own = {"state": state, "name": min(left, max(longest, _LEAST_NAME) + min(note, _MOST_NOTE))}
    spare = left - own["name"]
    for column in columns:
        wider = cell_width(column.full) + 1 - column.width if column.full else 0
        if 0 < wider <= spare:
            own[column.id] = column.width + wider
            spare -= wider
    own["trend"] = min(_MOST_TREND, LEAST_TREND + spare)
    return tuple((column, own.get(column.id, column.width)) for column in columns)


def head_row(widths: Widths, sort: str, reverse: bool, symbols: Symbols, width: int) -> Row:
    """Return the headings of the columns, with an arrow at the sort column."""
    up, down = ("^", "v") if symbols is Symbols.ASCII else ("▲", "▼")
    spans: list[Span] = [(" " * SIGNS, Role.MUTED)]
    for column, cells in widths:
        arrow = (down if column.down != reverse else up) if column.id == sort else ""
        head = "base" if column.id == "base" and symbols is Symbols.ASCII else column.head
        if column.full and cell_width(column.full) + len(arrow) <= cells:
            head = column.full
        head = (head if cells > 1 else "") + arrow if len(head + arrow) <= cells or cells == 1 else head[:-1] + arrow
        if column.id == METRIC and cell_width(column.head) + len(arrow) > cells > 1:
            head = fit(column.head, cells - len(arrow), "ends") + arrow
        text = fit(head, cells) if not column.right else " " * (cells - cell_width(head)) + head
        spans += [(text[-cells:] if cells > 1 else text, Role.ACCENT if arrow else Role.MUTED), (" ", Role.MUTED)]
    return fit_row(spans, width)


def run_row(run: Run, listing: Listing, widths: Widths, selected: bool, width: int) -> Row:
    """Return the row of a run."""
    sign, role = listing.marker(run)
    cursor = ">" if listing.symbols is Symbols.ASCII else "▌"
    flag = "B" if listing.base is not None and run.id == listing.base.id else "P" if run.path in listing.pinned else " "
    spans: list[Span] = [
        (cursor if selected else " ", Role.ACCENT),
        (sign if run.path in listing.marked else " ", role),
        (" ", Role.MUTED),
        ("h" if run.path in listing.hidden else flag, Role.MUTED),
        (" ", Role.MUTED),
    ]
    for column, cells in widths:
        cell = column.cell(run, listing, cells)
        if selected and column.id == "name":
            cell = ((cell[0][0], Role.ACCENT), *cell[1:])
        blank = " " * max(cells - sum(cell_width(text) for text, _ in cell), 0)
        filled: Row = ((blank, Role.MUTED), *cell) if column.right else (*cell, (blank, Role.MUTED))
        spans += [*fit_row(filled, cells), (" ", Role.MUTED)]
    return fit_row(spans, width)


def column_at(widths: Widths, x: int) -> Column | None:
    """Return the column at a cell of the row, or None."""
    start = SIGNS
    for column, cells in widths:
        if start <= x < start + cells + 1:
            return column
        start += cells + 1
    return None
