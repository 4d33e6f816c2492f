"""Columns of text under their heads, in a given width: the least needed are left out where there is no room."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuimon.text import cell_width, fit

_NEEDED = 3
"""Columns up to this need are worth more than whole names …"""
_LEAST_NAME = 16
"""… but not more than so many cells of them."""
_WHOLE_NAME = 32
"""Cells of a name that are worth more than the other columns."""
_GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """One column; all columns of a table have as many cells."""

    head: str
    cells: Sequence[str]
    """Cleaned."""
    need: int = 0
    """0: never left out; of the others the greatest is left out first."""
    left: bool = False
    """Set to the left, as text is; numbers are set to the right."""

    @property
    def width(self) -> int:
        return max(map(cell_width, (self.head, *self.cells)))

    def cell(self, text: str) -> str:
        blanks = " " * (self.width - cell_width(text))
        return text + blanks if self.left else blanks + text


def table(
    title: str, names: Sequence[str], columns: Sequence[Column], width: int | None, indent: int = 2, most_name: int = 44
) -> Iterator[str]:
    """Lines: a head, and a line a name. width: cells of a line at most; None: as many as it takes."""
    longest = min(max(map(cell_width, (title, *names))), most_name)
    kept, room = list(columns), longest
    while width is not None:
        room = min(longest, max(width - indent - _taken(kept), 1))
        last = max(kept, key=lambda column: column.need, default=None)
        if last is None or not last.need:
            break
        wanted = _LEAST_NAME if last.need <= _NEEDED else _WHOLE_NAME
        if room >= min(longest, wanted) and (last.need <= _NEEDED or _told_apart(names, room)):
            break
        kept.remove(last)
    for row, name in enumerate((title, *names)):
        line = " " * indent + fit(name, room, "ends")
        for column in kept:
            line += _GAP + column.cell(column.cells[row - 1] if row else column.head)
        yield line.rstrip()


def wrapped(text: str, width: int | None, indent: int = 0) -> Iterator[str]:
    """A sentence as lines; all but the first are indented."""
    if width is None:
        yield text
    else:
        yield from textwrap.wrap(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def _told_apart(names: Sequence[str], room: int) -> bool:
    return len({fit(name, room, "ends") for name in names}) == len(set(names))


def _taken(columns: Sequence[Column]) -> int:
    return sum(len(_GAP) + column.width for column in columns)
