"""Borders around panels, with the title row of the panel in the upper one."""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.draw.rows import row_width
from tuimon.model.views import Role, Row, Rows, Size

BORDERS_FROM = 160
"""Columns of the screen from which panels can have borders."""
_SIDES = 4
"""Cells that a border takes from the width: a line and a blank on both sides."""
_LEAST = Size(30, 6)
"""Minimum size of a panel with a border."""
_BLANKS = re.compile(r"( {4,})")


def has_border(size: Size) -> bool:
    """Return whether a panel of this size has room for a border."""
    return size.width >= _LEAST.width and size.height >= _LEAST.height


def inside(size: Size) -> Size:
    """Return the size that a border leaves to a panel, whose first row is in the border."""
    return Size(size.width - _SIDES, size.height - 1)


def with_border(rows: Rows) -> Rows:
    """Return the rows of a panel, all of one width, with a border around them."""
    title, *body = rows
    lower = "╰" + "─" * (row_width(title) + 2) + "╯"
    sides = (("│ ", Role.AXIS),), ((" │", Role.AXIS),)
    return (_upper(title), *((*sides[0], *row, *sides[1]) for row in body), ((lower, Role.AXIS),))


def _upper(title: Row) -> Row:
    """Return the upper line with a title row in it, whose blanks are parts of the line."""
    spans = [(part, role) for text, role in title for part in _BLANKS.split(text) if part]
    drawn = [
        (f" {'─' * (len(text) - 2)} ", Role.AXIS) if _BLANKS.fullmatch(text) else (text, role) for text, role in spans
    ]
    return (("╭ ", Role.AXIS), *drawn, (" ╮", Role.AXIS))
