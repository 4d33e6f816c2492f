"""Whether two views draw the same. Most new points of a long curve light no other dot: they lie within what their
column shows already, and comparing is a tenth of the cost of drawing."""

from __future__ import annotations

import numpy as np

from tuimon.model.points import Floats
from tuimon.model.views import ChartView, Line


def draw_alike(before: ChartView, after: ChartView) -> bool:
    """True where the canvases of two views are the same, given the same axes, size and symbols. False may be said of
    equal ones."""
    if before.marks != after.marks or before.cursor != after.cursor:
        return False
    # Where a curve ends is seen of its marked points, and of the best checkpoint's, which stands on it.
    ends = any(mark.kind == "best" for mark in after.marks)
    return len(before.lines) == len(after.lines) and all(
        _lines_alike(one, other, ends) for one, other in zip(before.lines, after.lines, strict=True)
    )


def _lines_alike(before: Line, after: Line, ends: bool) -> bool:
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
    full = np.flatnonzero(np.isfinite(new.low))  # of the last column no line leads on
    end = int(full[-1]) if len(full) else 0
    return _same(old.last[:end], new.last[:end])


def _same(a: Floats, b: Floats) -> bool:
    return a.tobytes() == b.tobytes()  # NaN included
