"""Text tables of a given width; columns of low priority are left out if there is no room."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from tuimon.draw.table import GAP, KEPT, Column, fit_columns, text_lines
from tuimon.model.views import Role, Row
from tuimon.text import cell_width, fit, fit_apart

_LEAST_NAME, _WHOLE_NAME, _LONGEST_NAME = 16, 32, 44
"""Widths of names: that any column leaves them, that columns with a `need` above 3 leave them, and their maximum."""
_KEEP, _REMARKS, _WHOLE = 90, 83, 82
"""`Column.keep` of a column with `need` 0, of remarks, and of whole names: after the columns with a `need` up to 3."""
_SHORTENED = 1
"""`keep` of the full cells of columns that can be shortened: all are shortened before one is left out."""
_UNLIMITED = 1 << 20


def text_column(
    head: str, cells: Sequence[str], need: int = 0, left: bool = False, brief: Sequence[str] = ()
) -> Column[int]:
    """Return a column of cleaned texts, a cell for each row.

    need: priority; 0 is never left out, otherwise the greatest is left out first. left: align to the left. brief:
    shorter cells, which are used if there is little room.
    """
    width, short = (max(map(cell_width, (head, *texts))) for texts in (cells, brief or cells))

    def show(row: int, room: int) -> Row:
        return ((cells[row] if room >= width or not brief else brief[row], Role.TEXT),)

    keep = KEPT if not need else _KEEP - 2 * need
    wish = ((_SHORTENED, width),) if brief else ()
    return Column(head, head, lambda row: cells[row] or " ", show, short, keep, wish, right=not left)


def table(
    title: str,
    names: Sequence[str],
    columns: Sequence[Column[int]],
    width: int | None,
    indent: int = 2,
    notes: Sequence[str] = (),
    left_out: Callable[[str], None] = lambda head: None,
) -> Iterator[str]:
    """Yield a head line and one line per name, of at most `width` cells (None: unlimited).

    notes: a remark per name, or "". It is appended to the line, or printed below if there would be no room for a needed
    column. left_out: is called with the head of each column that is left out.
    """
    shown, rows = list(names), range(len(names))
    longest = min(max(map(cell_width, (title, *names))), _LONGEST_NAME)
    name: Column[int] = Column(
        "name",
        title,
        lambda row: names[row] or " ",
        lambda row, room: ((shown[row], Role.TEXT),),
        *(min(longest, _LEAST_NAME), KEPT),
        wish=((_WHOLE, min(longest, _WHOLE_NAME)),),
        most=longest,
        right=False,
    )
    known = [name, *(replace(column, id=f"{place} {column.head}") for place, column in enumerate(columns))]
    remarks = [replace(text_column("", notes, left=True), id="remarks", keep=_REMARKS)] if any(notes) else []
    fitted = fit_columns([*known, *remarks], rows, _UNLIMITED if width is None else width - indent)
    ids = {column.id for column, _ in fitted}
    for column in known:
        if column.id not in ids:
            left_out(column.head)
    room = fitted[0][1]
    shown[:] = fit_apart(names, room)
    fitted = ((replace(name, head=fit(title, room, "ends").rstrip()), room), *fitted[1:])
    for row, line in enumerate(text_lines(fitted, rows, indent), start=-1):
        yield line
        if row >= 0 and remarks and "remarks" not in ids and notes[row]:
            yield " " * (2 * indent + GAP) + notes[row]


def page_columns(columns: Sequence[Column[int]], rows: int) -> list[dict[str, Any]]:
    """Return heads and cells of the columns of `text_column` for a page; those without any text are left out."""
    cells = [[column.value(row).strip() for row in range(rows)] for column in columns]
    return [
        {"head": column.head, "left": not column.right, "cells": own}
        for column, own in zip(columns, cells, strict=True)
        if any(own)
    ]


def no_room(heads: Iterable[str], width: int | None) -> Iterator[str]:
    """Yield a line that names the columns that were left out, if any."""
    if named := ", ".join(dict.fromkeys(heads)):
        yield ""
        yield from wrapped(f"  no room for {named}: use `| cat` or --json", width, indent=2)


def wrapped(text: str, width: int | None, indent: int = 0) -> Iterator[str]:
    """Yield a text as lines of at most `width` cells; all but the first are indented."""
    if width is None:
        yield text
    else:
        yield from textwrap.wrap(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)
