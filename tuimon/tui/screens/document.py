"""Document: rows of text that are scrolled."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.draw.rows import fit_row, row_width
from tuimon.model.views import Role, Row
from tuimon.text import fit
from tuimon.tui.box import CellGrid
from tuimon.tui.screens.wheel import Wheel

_ASIDE = 20
"""Cells by which rows are shifted."""


class Document(Wheel, CellGrid):
    """Rows, of which as many are visible as fit; long ones can be shifted to the left."""

    DEFAULT_CSS = "Document { height: 1fr; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[Row] = ()
        self.top = self.left = 0
        """Index of the first visible row, and number of cells that are hidden at the left."""

    @property
    def last(self) -> int:
        """Largest value of `top`."""
        return max(0, len(self.rows) - self.size.height)

    @property
    def position(self) -> str:
        """Visible rows, such as "rows 1-19 of 60"; "" if all rows are."""
        count, room = len(self.rows), self.size.height
        return f"rows {self.top + 1}-{min(self.top + room, count)} of {count}" if count > room else ""

    def show(self, rows: Sequence[Row], theme: str) -> None:
        """Display these rows; the position is kept if possible."""
        self.rows = rows
        self.draw(theme)

    def draw(self, theme: str) -> None:
        """Draw the visible rows in a theme."""
        self.move()
        width, height = self.size
        if width > 1 and height > 0:
            visible = self.rows[self.top : self.top + height]
            self.paint_filled([fit_row(_shifted(row, self.left), width) for row in visible], theme)
        else:  # not laid out yet: what it showed before it was hidden is gone
            self.paint((), theme)

    def move(self, rows: int = 0, pages: int = 0) -> None:
        """Scroll down (positive) or up."""
        self.top = max(0, min(self.top + rows + pages * max(1, self.size.height - 1), self.last))

    def aside(self, by: int) -> None:
        """Shift the rows to the right (by = -1) or to the left (1)."""
        widest = max(map(row_width, self.rows), default=0)
        self.left = max(0, min(self.left + by * _ASIDE, widest - self.size.width))

    def find(self, text: str) -> None:
        """Scroll to the first row with a text, ignoring case; "": to the first row."""
        found = (i for i, row in enumerate(self.rows) if text.lower() in "".join(part for part, _ in row).lower())
        self.top = next(found, self.top) if text else 0

    @property
    def text(self) -> str:
        """All rows as text."""
        return "\n".join("".join(part for part, _ in row).rstrip() for row in self.rows)


def _shifted(row: Row, left: int) -> Row:
    """Return a row without its first cells."""
    while left > 0 and row:
        (text, role), *others = row
        kept = fit(text[left:], max(row_width(((text, role),)) - left, 0)) if left < len(text) else ""
        row, left = ((kept, role), *others) if kept else tuple(others), 0 if kept else left - len(text)
    return row or (("", Role.TEXT),)
