"""The visible part of an axis, and operations to move and zoom it.

A window at the end of the data follows new data. Moved back, it stays in place; moved to the end, it follows again.
"""

from __future__ import annotations

import math

from msgspec import Struct

from tuimon.draw.numbers import format_duration
from tuimon.draw.raster import value_at
from tuimon.draw.ticks import clock_step, nice_step
from tuimon.model.views import Axis, ChartView

_CLOCKS = ("time", "duration")
_LEAST = {"step": 2.0, "time": 1.0, "duration": 1.0}
"""Minimum width of a window by kind of axis."""
_WALL_TIME_FROM = 1e8
"""Seconds from which a position on a clock is a wall time, not a duration."""
_FINEST = 1e-9
"""Minimum width on an axis of plain numbers, as a fraction of all data."""
_ROUGHEST = 1e-12
"""Minimum width as a fraction of the upper end; narrower windows have too few floats."""


class Window(Struct, frozen=True):
    """A part of an axis, in its units."""

    span: float
    """Width, > 0."""
    end: float | None = None
    """Upper end; None to follow the newest point."""

    def word(self, kind: str) -> str:
        """Return a description for the key bar. kind: `Axis.kind` of the x axis."""
        if self.end is None:
            return f"last {_position(self.span, kind)}"
        low, high = _position(self._low(self.end), kind), _position(self.end, kind)
        if kind == "duration":
            return f"{low} to {high}"
        return f"{low} to {high}" if len(low) < 8 and len(high) < 8 and "e" not in low + high else "a part"

    def limits(self, last: float, kind: str) -> tuple[float, float]:
        """Return (low, high) for data that end at `last`.

        A following window moves in steps of an eighth of its width, so that most updates only add to the drawing.
        """
        if self.end is not None:
            return self._low(self.end), self.end
        step = clock_step(self.span, 8) if kind in _CLOCKS else nice_step(self.span, 8)
        end = math.ceil(last / step - 1e-9) * step if step > 0 and math.isfinite(last / step) else last
        return self._low(end), end

    def _low(self, end: float) -> float:
        """Return the lower end, below `end` even where floats are farther apart than the width."""
        low = end - self.span
        return low if low < end else end - max(abs(end) * _ROUGHEST, self.span)


def _position(value: float, kind: str) -> str:
    """Format a position on an axis, or a part of it."""
    if kind in _CLOCKS and abs(value) < _WALL_TIME_FROM:
        return format_duration(value)
    return f"{value:.0f}" if kind == "step" and abs(value) < 1e15 else f"{value:.6g}"


def panned(view: ChartView, part: float) -> Window | None:
    """Return the window moved by a fraction of its width, > 0 towards the end; None if all data are visible."""
    if view.extent is None:
        return None
    (first, last), (low, high) = view.extent, (view.x.low, view.x.high)
    span = high - low
    if low <= first and high >= last:
        return None
    end = min(high, last) + part * span  # a following window ends a little ahead of the data
    if end >= last:
        return Window(span)
    return Window(span, max(end, first + span))


def zoomed(view: ChartView, factor: float, centre: float | None = None) -> Window | None:
    """Return the window widened (factor > 1) or narrowed (< 1) around x = centre; None if all data are visible.

    centre: None for the middle, or the end of a window that follows the data.
    """
    if view.extent is None:
        return None
    (first, last), (low, high) = view.extent, (view.x.low, view.x.high)
    follows = high >= last
    span = max((high - low) * factor, _LEAST.get(view.x.kind, (last - first) * _FINEST), abs(last) * _ROUGHEST)
    if span >= last - first:
        return None
    if centre is None:
        if follows:
            return Window(span)
        centre = (low + high) / 2
    part = min(max((centre - low) / (high - low), 0.0), 1.0)
    end = centre + (1 - part) * span
    if end >= last:
        return Window(span)
    return Window(span, max(end, first + span))


def moved_up(axis: Axis, part: float) -> tuple[float, float] | None:
    """Return the limits of a y axis moved by a fraction of its height; None if out of the range of floats."""
    return _limits(value_at(part, axis), value_at(1 + part, axis))


def stretched(axis: Axis, factor: float) -> tuple[float, float] | None:
    """Return the limits of a y axis with the same middle and `factor` times the height."""
    return _limits(value_at(0.5 - factor / 2, axis), value_at(0.5 + factor / 2, axis))


def _limits(low: float, high: float) -> tuple[float, float] | None:
    fine = (
        math.isfinite(low) and math.isfinite(high) and high - low > abs(high) * _ROUGHEST and math.isfinite(high - low)
    )
    return (low, high) if fine and low < high else None
