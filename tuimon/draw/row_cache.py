"""Reuse of the rows of a chart from one drawing to the next.

Most new points of a long curve change no dot: they lie within what their column displays already. Comparing views costs
a tenth of drawing them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from tuimon.draw.marks import Canvas
from tuimon.draw.rows import join
from tuimon.model.points import Floats
from tuimon.model.views import ChartView, Line, Role, Row

Body = tuple[Sequence[Row], frozenset[str]]
"""The rows of a chart's canvas with its frame, and the labels written on the canvas."""


class RowCache:
    """Returns the same row objects for unchanged cells, so that later stages skip comparing and painting them."""

    def __init__(self) -> None:
        self._canvas: Canvas | None = None
        self._left: Sequence[str] = ()
        self._rows: list[Row] = []
        self._view: ChartView | None = None
        self._key: Hashable = None
        self._body: Body = (), frozenset()

    def body(self, view: ChartView, key: Hashable, draw: Callable[[], Body]) -> Body:
        """Return the previous body if the view draws the same, else draw it. key: everything else `draw` depends on."""
        if self._view is None or self._key != key or not draws_same(self._view, view):
            self._body = draw()
        self._view, self._key = view, key
        return self._body

    def rows(self, canvas: Canvas, left: Sequence[str]) -> list[Row]:
        """Return the rows of a canvas after the gutter texts `left`; unchanged rows are the same objects."""
        before = self._canvas
        if (
            before is not None
            and self._left is left
            and before.roles == canvas.roles
            and before.codes.shape == canvas.codes.shape
        ):
            differs = (before.codes != canvas.codes) | (before.owner != canvas.owner)
            changed = np.flatnonzero(differs.any(axis=1))
        else:
            self._rows = [()] * len(canvas.codes)
            changed = np.arange(len(canvas.codes))
        for y, row in zip(changed.tolist(), canvas.rows(changed), strict=True):
            self._rows[y] = join(((left[y], Role.AXIS),), row)
        self._canvas, self._left = canvas, left
        return list(self._rows)


def draws_same(before: ChartView, after: ChartView) -> bool:
    """Whether the canvases of two views are equal, given equal axes, size and symbols. False if in doubt."""
    if before.marks != after.marks or before.cursor != after.cursor:
        return False
    # The end of a curve is visible by its dots, and by the mark of the best checkpoint on it.
    ends = any(mark.kind == "best" for mark in after.marks)
    return len(before.lines) == len(after.lines) and all(
        _same_line(old, new, ends) for old, new in zip(before.lines, after.lines, strict=True)
    )


def _same_line(before: Line, after: Line, ends: bool) -> bool:
    if (before.role, before.behind, before.filled) != (after.role, after.behind, after.filled):
        return False
    if (before.markers, before.glyph) != (after.markers, after.glyph) or (after.filled and before.label != after.label):
        return False
    old, new = before.envelope, after.envelope
    if old is new:
        return True
    same = _same(old.low, new.low) and _same(old.high, new.high)
    if not (same and _same(old.first, new.first) and _same(old.gap_after, new.gap_after)):
        return False
    if ends or after.markers or after.glyph or after.filled:
        return _same(old.last, new.last)
    full = np.flatnonzero(np.isfinite(new.low))  # no line continues after the last column
    end = int(full[-1]) if len(full) else 0
    return _same(old.last[:end], new.last[:end])


def _same(a: Floats, b: Floats) -> bool:
    return a.tobytes() == b.tobytes()  # equal also for NaN
