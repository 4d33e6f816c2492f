"""The rows of a chart from one drawing to the next."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from tuimon.draw.alike import draw_alike
from tuimon.draw.marks import Canvas
from tuimon.draw.rows import join
from tuimon.model.views import ChartView, Role, Row

Body = tuple[Sequence[Row], frozenset[str]]
"""The rows of a chart's curves with their frame, and the labels written among them."""


class KeptRows:
    """Rows whose cells are as in the last drawing are the same objects again: what follows neither compares nor paints
    them."""

    def __init__(self) -> None:
        self._canvas: Canvas | None = None
        self._left: Sequence[str] = ()
        self._rows: list[Row] = []
        self._view: ChartView | None = None
        self._key: Hashable = None
        self._body: Body = (), frozenset()

    def body(self, view: ChartView, key: Hashable, draw: Callable[[], Body]) -> Body:
        """The body of a view: that of the last one where both draw the same. key: all that `draw` minds besides."""
        if self._view is None or self._key != key or not draw_alike(self._view, view):
            self._body = draw()
        self._view, self._key = view, key
        return self._body

    def rows(self, canvas: Canvas, left: Sequence[str]) -> list[Row]:
        """The rows of a canvas, each behind its text of `left`, the gutter: the same object while it is the same."""
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
