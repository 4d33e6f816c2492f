"""Text tables of a given width; columns of low priority are left out if there is no room."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tuimon.text import cell_width, fit, fit_apart

_NEEDED = 3
"""Columns with at most this `need` are kept as long as names have `_LEAST_NAME` cells; the others as long as names have
`_WHOLE_NAME` cells and remain distinct."""
_LEAST_NAME = 16
_WHOLE_NAME = 32
_LONGEST_NAME = 44
_GAP = "  "


class Column(Struct, frozen=True):
    """A column; all columns of a table have the same number of cells."""

    head: str
    cells: Sequence[str]
    """Cleaned texts."""
    need: int = 0
    """Priority: 0 is never left out; otherwise the greatest is left out first, of equal ones the last."""
    left: bool = False
    """True to align text to the left; numbers are aligned to the right."""
    brief: Sequence[str] = ()
    """Shorter cells, used if there is little room; empty if the cells cannot be shortened."""

    @property
    def is_empty(self) -> bool:
        """True if no cell has a text; the template of pages asks."""
        return not any(self.cells)

    @property
    def width(self) -> int:
        return max(map(cell_width, (self.head, *self.cells)))

    def cell(self, text: str, width: int) -> str:
        """Return a cell of the column, which has this `width`."""
        blanks = " " * (width - cell_width(text))
        return text + blanks if self.left else blanks + text


def table(
    title: str,
    names: Sequence[str],
    columns: Sequence[Column],
    width: int | None,
    indent: int = 2,
    notes: Sequence[str] = (),
    left_out: Callable[[str], None] = lambda head: None,
) -> Iterator[str]:
    """Yield a head line and one line per name, of at most `width` cells (None: unlimited).

    notes: a remark per name, or "". It is appended to the line, or printed below if there would be no room for a needed
    column. left_out: is called with the head of each column that is left out.
    """
    longest = min(max(map(cell_width, (title, *names))), _LONGEST_NAME)
    remarks = Column("", notes, left=True) if any(notes) else None
    kept, room, below = _fit_columns(names, list(columns), remarks, longest, width, indent)
    for head in [column.head for column in columns if all(column.head != other.head for other in kept)]:
        left_out(head)
    widths = [column.width for column in kept]
    for row, name in enumerate((fit(title, room, "ends"), *fit_apart(names, room))):
        line = " " * indent + name
        for column, cells in zip(kept, widths, strict=True):
            line += _GAP + column.cell(column.cells[row - 1] if row else column.head, cells)
        yield line.rstrip()
        if below and row and notes[row - 1]:
            yield " " * (2 * indent + len(_GAP)) + notes[row - 1]


def no_room(heads: Iterable[str], width: int | None) -> Iterator[str]:
    """Yield a line that names the columns that were left out, if any."""
    if named := ", ".join(dict.fromkeys(heads)):
        yield ""
        yield from wrapped(f"  no room for {named}: use `| cat` or --json", width, indent=2)


def _fit_columns(
    names: Sequence[str], columns: list[Column], notes: Column | None, longest: int, width: int | None, indent: int
) -> tuple[list[Column], int, bool]:
    """Return the columns that fit, the width of the names, and True if the notes go below the lines."""

    def room(kept: Sequence[Column]) -> int:
        taken = sum(len(_GAP) + column.width for column in kept)
        return longest if width is None else min(longest, max(width - indent - taken, 1))

    def fits(kept: Sequence[Column], need: int) -> bool:
        if need <= _NEEDED:
            return not need or room(kept) >= min(longest, _LEAST_NAME)
        are_distinct = len(set(fit_apart(names, room(kept)))) == len(set(names))
        return are_distinct and room(kept) >= min(longest, _WHOLE_NAME)

    brief = [replace(column, cells=column.brief) if column.brief else column for column in columns]
    needed = [column for column in brief if column.need <= _NEEDED]
    below = notes is not None and not fits([*needed, notes], max((column.need for column in needed), default=0))
    appended = [notes] if notes is not None and not below else []
    kept = columns
    while not fits([*kept, *appended], need := max((column.need for column in kept), default=0)):
        if kept is columns:
            kept = list(brief)  # shorten cells before a column is left out
        else:
            kept.remove(next(column for column in reversed(kept) if column.need == need))
    return [*kept, *appended], room([*kept, *appended]), below


def wrapped(text: str, width: int | None, indent: int = 0) -> Iterator[str]:
    """Yield a text as lines of at most `width` cells; all but the first are indented."""
    if width is None:
        yield text
    else:
        yield from textwrap.wrap(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)
