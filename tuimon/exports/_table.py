"""Columns of text under their heads, in a given width: the least needed are left out where there is no room."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tuimon.text import cell_width, fit, fit_apart

_NEEDED = 3
"""Columns up to this need are worth more than whole names …"""
_LEAST_NAME = 16
"""… but not more than so many cells of them."""
_WHOLE_NAME = 32
"""Cells of a name that are worth more than the other columns."""
_GAP = "  "


class Column(Struct, frozen=True):
    """One column; all columns of a table have as many cells."""

    head: str
    cells: Sequence[str]
    """Cleaned."""
    need: int = 0
    """0: never left out; of the others the greatest is left out first, of equals the last."""
    left: bool = False
    """Set to the left, as text is; numbers are set to the right."""
    brief: Sequence[str] = ()
    """The cells in fewer words, for where there is little room; empty: there are no fewer."""

    @property
    def width(self) -> int:
        return max(map(cell_width, (self.head, *self.cells)))

    def cell(self, text: str) -> str:
        blanks = " " * (self.width - cell_width(text))
        return text + blanks if self.left else blanks + text


def table(
    title: str,
    names: Sequence[str],
    columns: Sequence[Column],
    width: int | None,
    indent: int = 2,
    most_name: int = 44,
    notes: Sequence[str] = (),
    left_out: Callable[[str], None] = lambda head: None,
) -> Iterator[str]:
    """Lines: a head, and a line a name. width: cells of a line at most; None: as many as it takes.

    notes: what else there is to say of each name, "" for nothing: behind its line, or below where that would cost a
    needed column. left_out: is told the head of every column for which there is no room.
    """
    longest = min(max(map(cell_width, (title, *names))), most_name)
    behind = Column("", notes, left=True) if any(notes) else None
    kept, room, below = _chosen(names, list(columns), behind, longest, width, indent)
    for head in [one.head for one in columns if all(one.head != other.head for other in kept)]:
        left_out(head)
    for row, name in enumerate((fit(title, room, "ends"), *fit_apart(names, room))):
        line = " " * indent + name
        for column in kept:
            line += _GAP + column.cell(column.cells[row - 1] if row else column.head)
        yield line.rstrip()
        if below and row and notes[row - 1]:
            yield " " * (2 * indent + len(_GAP)) + notes[row - 1]


def no_room(heads: Iterable[str], width: int | None) -> Iterator[str]:
    """What to do about columns that were left out; nothing where none was."""
    if named := ", ".join(dict.fromkeys(heads)):
        yield ""
        yield from wrapped(f"  no room for {named}: `| cat` or --json shows them", width, indent=2)


def _chosen(
    names: Sequence[str], columns: list[Column], notes: Column | None, longest: int, width: int | None, indent: int
) -> tuple[list[Column], int, bool]:
    """(the columns that there is room for, that of the names, whether notes go below the lines)."""

    def room(kept: Sequence[Column]) -> int:
        taken = sum(len(_GAP) + column.width for column in kept)
        return longest if width is None else min(longest, max(width - indent - taken, 1))

    def fits(kept: Sequence[Column], need: int) -> bool:
        if need <= _NEEDED:
            return not need or room(kept) >= min(longest, _LEAST_NAME)
        return room(kept) >= min(longest, _WHOLE_NAME) and _told_apart(names, room(kept))

    brief = [replace(one, cells=one.brief) if one.brief else one for one in columns]
    needed = [one for one in brief if one.need <= _NEEDED]
    below = notes is not None and not fits([*needed, notes], max((one.need for one in needed), default=0))
    behind = [notes] if notes is not None and not below else []
    kept = columns
    while not fits([*kept, *behind], need := max((one.need for one in kept), default=0)):
        if kept is columns:
            kept = list(brief)  # before anything is left out
        else:
            kept.remove(next(one for one in reversed(kept) if one.need == need))
    return [*kept, *behind], room([*kept, *behind]), below


def wrapped(text: str, width: int | None, indent: int = 0) -> Iterator[str]:
    """A sentence as lines; all but the first are indented."""
    if width is None:
        yield text
    else:
        yield from textwrap.wrap(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def _told_apart(names: Sequence[str], room: int) -> bool:
    return len(set(fit_apart(names, room))) == len(set(names))
