"""The rows of a list of runs: which columns have room, their heads, and what stands in each."""

from __future__ import annotations

from tuimon.draw.rows import fit_row
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._over import marker_of
from tuimon.panels.lists.runs import COLUMNS, LEAST_TREND, Column, Listing
from tuimon.store import Run
from tuimon.text import cell_width, fit

_LEAST_NAME, _MOST_NAME = 10, 32
_MOST_TREND = 40
Widths = tuple[tuple[Column, int], ...]
SIGNS = 5
"""Cells before the first column: cursor, sign of the overlay, pinned or base, blanks."""


def layout(width: int, useful: frozenset[str], longest: int) -> Widths:
    """The columns that have room in `width` cells, each with its own; longest: the longest name, in cells.

    Where there is none for all, the state loses its word first, then columns go, the most telling ones last; what is
    left is the name's, then the curve's.
    """
    columns = [column for column in COLUMNS if column.id in useful]
    name = min(max(longest, _LEAST_NAME), _MOST_NAME)
    word = True
    while True:
        state = COLUMNS[0].width if word else 1
        taken = SIGNS + state + 2 + sum(column.width + 1 for column in columns if column.drop)
        if taken + name <= width or (not word and not any(column.drop for column in columns)):
            break
        if word:
            word = False
        elif taken + _LEAST_NAME + 6 <= width and name > _LEAST_NAME + 6:
            name = _LEAST_NAME + 6
        else:
            columns.remove(max(columns, key=lambda column: column.drop))
    left = max(width - taken, 1)
    own = {"state": state, "name": min(left, max(longest, _LEAST_NAME))}
    own["trend"] = min(_MOST_TREND, LEAST_TREND + left - own["name"])
    return tuple((column, own.get(column.id, column.width)) for column in columns)


def head_row(widths: Widths, sort: str, reverse: bool, symbols: Symbols, width: int) -> Row:
    """The heads of the columns; an arrow at the one that sorts."""
    up, down = ("^", "v") if symbols is Symbols.ASCII else ("▲", "▼")
    spans: list[Span] = [(" " * SIGNS, Role.MUTED)]
    for column, cells in widths:
        arrow = (down if column.down != reverse else up) if column.id == sort else ""
        head = "base" if column.id == "base" and symbols is Symbols.ASCII else column.head
        head = (head if cells > 1 else "") + arrow if len(head + arrow) <= cells or cells == 1 else head[:-1] + arrow
        text = fit(head, cells) if not column.right else " " * (cells - cell_width(head)) + head
        spans += [(text[-cells:] if cells > 1 else text, Role.ACCENT if arrow else Role.MUTED), (" ", Role.MUTED)]
    return fit_row(spans, width)


def run_row(run: Run, listing: Listing, widths: Widths, selected: bool, width: int) -> Row:
    """What the list says of a run."""
    sign, role = marker_of(run, listing.symbols)
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
            cell = tuple((text, Role.ACCENT) for text, _ in cell)
        blank = " " * max(cells - sum(cell_width(text) for text, _ in cell), 0)
        filled: Row = ((blank, Role.MUTED), *cell) if column.right else (*cell, (blank, Role.MUTED))
        spans += [*fit_row(filled, cells), (" ", Role.MUTED)]
    return fit_row(spans, width)


def column_at(widths: Widths, x: int) -> Column | None:
    """Which column stands at a cell of the row; None before and behind them."""
    at = SIGNS
    for column, cells in widths:
        if at <= x < at + cells + 1:
            return column
        at += cells + 1
    return None
