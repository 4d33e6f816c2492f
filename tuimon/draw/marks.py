"""The canvas of a chart, and marks on it: events, the cursor, arrows for values outside the limits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.draw.raster import Cells, Owners, dot_rows, unit_height
from tuimon.model.views import ChartView, Mark, Role, Row
from tuimon.text import cell_width, clean

_BLANK = ord(" ")

_GLYPHS: dict[str, tuple[str, Role]] = {
    "checkpoint": ("◇", Role.MUTED),
    "restart": ("┊", Role.FAINT),
    "note": ("╎", Role.ACCENT),
    "evaluation": ("△", Role.MUTED),
    "alert": ("⚑", Role.WARNING),
    "best": ("★", Role.GOOD),
    "nan": ("✗", Role.CRITICAL),
    "infinity": ("✗", Role.CRITICAL),
}
"""Kind -> (glyph, role), in drawing order. All glyphs are one cell wide."""

_UNOBTRUSIVE = ("checkpoint", "evaluation")
"""Kinds that are drawn in blank cells only."""
_LONGEST_LABEL = 24


class Canvas(Struct, eq=False):
    """A grid of cells, each with a code point and an owner: `roles[owner]` is its role, owner -1 a blank."""

    codes: Cells
    owner: Owners
    roles: list[Role]

    def put(self, row: int, cell: int, glyph: str, role: Role) -> None:
        """Set the glyph and role of a cell."""
        if role not in self.roles:
            self.roles.append(role)
        self.codes[row, cell] = ord(glyph)
        self.owner[row, cell] = self.roles.index(role)

    def write(self, row: int, cell: int, text: str, role: Role) -> None:
        """Write a text of narrow characters if its cells and the next ones on both sides are blank."""
        end = cell + len(text)
        room = self.codes[row, max(cell, 0) : end + 1]
        if cell >= 0 and end <= self.codes.shape[1] and (room == _BLANK).all():
            for offset, character in enumerate(text):
                self.put(row, cell + offset, character, role)

    def draw_outside(self, outside: npt.NDArray[np.int32], index: int) -> None:
        """Draw arrows at the edges for columns with values outside the limits. outside: (cells, dots across)."""
        for row, code, arrow in ((0, -1, "↑"), (-1, 1, "↓")):
            cells = ((outside == code) | (outside == 2)).any(axis=1)
            self.codes[row, cells] = ord(arrow)
            self.owner[row, cells] = index

    def rows(self, chosen: npt.NDArray[np.intp] | None = None) -> list[Row]:
        """Return the canvas, or some of its rows, as rows of spans; a blank belongs to the span on its left."""
        codes, owner = (self.codes, self.owner) if chosen is None else (self.codes[chosen], self.owner[chosen])
        height, width = codes.shape
        text = codes.astype("<u4").tobytes().decode("utf-32-le")
        indices = np.arange(height * width).reshape(height, width)
        owned = np.where(codes == _BLANK, indices[:, :1], indices)
        np.maximum.accumulate(owned, axis=1, out=owned)
        owner = owner.take(owned)
        cuts = np.flatnonzero(owner[:, 1:] != owner[:, :-1]) if width > 1 else np.empty(0, dtype=np.intp)
        cut_rows, cut_cells = np.divmod(cuts, max(width - 1, 1))
        bounds = np.searchsorted(cut_rows, np.arange(height + 1))
        cells = (cut_cells + 1).tolist()
        rows: list[Row] = []
        roles = [*self.roles, Role.AXIS]  # index -1: a row that begins with blanks
        for y in range(height):
            edges = [0, *cells[bounds[y] : bounds[y + 1]], width]
            owners = owner[y, edges[:-1]].tolist()
            line = text[y * width : (y + 1) * width]
            rows.append(tuple((line[a:b], roles[o]) for a, b, o in zip(edges, edges[1:], owners, strict=False)))
        return rows


def glyph_of(kind: str) -> str:
    """Return the glyph of a kind of marks."""
    return _GLYPHS[kind][0]


def draw_marks(canvas: Canvas, view: ChartView) -> None:
    """Draw the marks of a view that are within its x limits.

    NaN is at the bottom of its column, infinity and alerts at the top, restarts and notes are vertical lines in the
    background, a note with its sign near the top, the best checkpoint is on its curve; checkpoints are at the top and
    evaluations at the bottom if the cell is blank.
    Labels are written in blank cells only.
    """
    height, width = canvas.codes.shape
    present = {mark.kind for mark in view.marks}
    labels: list[tuple[int, int, str, Role]] = []
    for kind, (glyph, role) in _GLYPHS.items():
        if kind not in present:
            continue
        for cell, label in _label_by_cell([mark for mark in view.marks if mark.kind == kind], view, width).items():
            if kind in ("restart", "note"):
                for row in np.flatnonzero(canvas.codes[:, cell] == _BLANK).tolist():
                    canvas.put(row, cell, glyph, role)
                row = 0
                if kind == "note":  # the first row is for alerts, the last for NaN
                    sign = clean(label)
                    canvas.put(min(1, height - 1), cell, sign if len(sign) == cell_width(sign) == 1 else glyph, role)
                    continue
            else:
                row = 0 if kind in ("alert", "infinity", "checkpoint") else height - 1
                if kind == "best":
                    row = _row_of_curve(view, cell, width, height, row)
                if kind not in _UNOBTRUSIVE or canvas.codes[row, cell] == _BLANK:
                    canvas.put(row, cell, glyph, role)
            if label and width >= 40:
                labels.append((row, cell, label, Role.MUTED if role is Role.FAINT else role))
    for row, cell, label, role in labels:  # after all marks, which are more important
        _write_label(canvas, row, cell, label, role)


def draw_cursor(canvas: Canvas, view: ChartView, x: float) -> None:
    """Draw a vertical line at x over the background, but not over curves; nothing if x is outside the limits."""
    background = [index for index, line in enumerate(view.lines) if line.behind]
    for cell in _label_by_cell([Mark(x, "cursor")], view, canvas.codes.shape[1]):
        free = (canvas.codes[:, cell] == _BLANK) | np.isin(canvas.owner[:, cell], background)
        for row in np.flatnonzero(free).tolist():
            canvas.put(row, cell, "│", Role.ACCENT)


def _write_label(canvas: Canvas, row: int, cell: int, label: str, role: Role) -> None:
    label = clean(label, _LONGEST_LABEL)
    if cell_width(label) != len(label):
        return  # the canvas cannot hold wide characters
    if cell + 1 + len(label) < canvas.codes.shape[1]:
        canvas.write(row, cell + 1, label, role)
    else:
        canvas.write(row, cell - len(label), label, role)


def _label_by_cell(marks: Iterable[Mark], view: ChartView, width: int) -> dict[int, str]:
    """Return cell -> label of its first mark, for marks within the x limits."""
    marks = [mark for mark in marks if view.x.low <= mark.x <= view.x.high]
    parts = unit_height(np.array([mark.x for mark in marks], dtype=np.float64), view.x)
    cells = np.clip(np.floor(parts * width), 0, width - 1).astype(int).tolist()
    places: dict[int, str] = {}
    for cell, mark in zip(cells, marks, strict=True):
        places.setdefault(cell, mark.label)
    return places


def _row_of_curve(view: ChartView, cell: int, width: int, height: int, otherwise: int) -> int:
    """Return the row of the best checkpoint's curve (the one drawn as dots, if any) nearest to the cell."""
    for line in sorted(view.lines, key=lambda line: not line.markers)[:1]:
        full = np.flatnonzero(np.isfinite(line.envelope.last))
        if len(full):
            columns = len(line.envelope.last)
            centres = (full + 0.5) * width / columns - 0.5
            nearest = full[[int(np.argmin(np.abs(centres - cell)))]]
            row = dot_rows(line.envelope.last[nearest], view.y, height * 4)[0] // 4
            return int(min(max(row, 0), height - 1))
    return otherwise
