"""Text tables of a given width; columns of low priority are left out if there is no room."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from tuimon.draw.table import GAP, KEPT, Column, TextColumn, TextTable, fit_columns, text_lines
from tuimon.model.views import Role, Row
from tuimon.text import cell_width, fit, fit_apart

_LEAST_NAME, _WHOLE_NAME, _LONGEST_NAME = 16, 32, 44
"""Widths of names: that any column leaves them, that columns with a `need` above 3 leave them, and their maximum."""
_KEEP, _REMARKS, _WHOLE = 90, 83, 82
"""`Column.keep` of a column with `need` 0, of remarks, and of whole names: after the columns with a `need` up to 3."""
_SHORTENED = 1
"""`keep` of the full cells of columns that can be shortened: all are shortened before one is left out."""
_UNLIMITED = 1 << 20


def table_text(
    table: TextTable, width: int | None, indent: int = 2, left_out: Callable[[str], None] = lambda head: None
) -> Iterator[str]:
    """Yield a head line and one line per name, of at most `width` cells (None: unlimited).

    A remark is appended to its line, or printed below if there would be no room for a needed column. Without a head of
    the names the title is in its place. left_out: is called with the head of each column that is left out.
    """
    names, rows, title = table.names, range(len(table.names)), table.head or table.title
    shown = list(names)
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
    known = [name, *(_column(column, f"{place} {column.head}") for place, column in enumerate(table.columns))]
    remarks = [_column(TextColumn("", table.remarks, left=True), "remarks", _REMARKS)] if any(table.remarks) else []
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
        if row >= 0 and remarks and "remarks" not in ids and table.remarks[row]:
            yield " " * (2 * indent + GAP) + table.remarks[row]


def _column(own: TextColumn, id: str, keep: int = 0) -> Column[int]:
    """Return the column that is fitted into the width."""
    cells, brief = own.cells, own.brief
    width, short = (max(map(cell_width, (own.head, *texts))) for texts in (cells, brief or cells))

    def show(row: int, room: int) -> Row:
        return ((cells[row] if room >= width or not brief else brief[row], Role.TEXT),)

    keep = keep or (_KEEP - 2 * own.need if own.need else KEPT)
    wish = ((_SHORTENED, width),) if brief else ()
    return Column(id, own.head, lambda row: cells[row] or " ", show, short, keep, wish, right=not own.left)


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
