"""The part of an axis that charts show, and how it is moved: arithmetic on limits, without a screen.

A window at the end of the data has no end of its own: it follows them. One that is moved back stays where it is; one
that is moved to the end follows again.
"""

from __future__ import annotations

import math

from msgspec import Struct

from tuimon.draw.raster import value_at
from tuimon.draw.ticks import clock_step, nice_step
from tuimon.model.views import Axis, ChartView

_CLOCKS = ("time", "duration")
_LEAST = {"step": 2.0, "time": 1.0, "duration": 1.0}
"""The narrowest window, by the kind of the axis; of plain numbers a part of all there is."""
_FINEST = 1e-9


class Window(Struct, frozen=True):
    """A part of an axis, in its units."""

    span: float
    """How much is shown; > 0."""
    end: float | None = None
    """Up to where; None: up to the newest point, whatever comes."""

    @property
    def word(self) -> str:
        """For the line of keys."""
        return "following" if self.end is None else "held back"

    def limits(self, last: float, kind: str) -> tuple[float, float]:
        """From where to where, if the data end at `last`.

        A following window moves by an eighth of its width, so that a growing run is an append and no slide."""
        if self.end is not None:
            return self.end - self.span, self.end
        step = clock_step(self.span, 8) if kind in _CLOCKS else nice_step(self.span, 8)
        end = math.ceil(last / step - 1e-9) * step if step > 0 and math.isfinite(last / step) else last
        return end - self.span, end


def panned(view: ChartView, part: float) -> Window | None:
    """The window of a chart moved by a part of its width, > 0 towards the end. None: all is shown and stays so."""
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


def zoomed(view: ChartView, factor: float, at: float | None = None) -> Window | None:
    """The window of a chart made wider (factor > 1) or narrower (< 1) around x = at, which stays in its place; without
    it, around the middle, or, while the window follows, around its end. None: all is shown."""
    if view.extent is None:
        return None
    (first, last), (low, high) = view.extent, (view.x.low, view.x.high)
    follows = high >= last
    span = max((high - low) * factor, _LEAST.get(view.x.kind, (last - first) * _FINEST), abs(last) * 1e-12)
    if span >= last - first:
        return None
    if at is None:
        if follows:
            return Window(span)
        at = (low + high) / 2
    part = min(max((at - low) / (high - low), 0.0), 1.0)
    end = at + (1 - part) * span
    if end >= last:
        return Window(span)
    return Window(span, max(end, first + span))


def at_end(view: ChartView, window: Window | None) -> Window | None:
    """A window as wide as this one that follows."""
    return None if window is None else Window(window.span)


def at_begin(view: ChartView, window: Window | None) -> Window | None:
    """One as wide that begins with the data."""
    if window is None or view.extent is None:
        return window
    return Window(window.span, view.extent[0] + window.span)


def moved_up(axis: Axis, part: float) -> tuple[float, float] | None:
    """The limits of a y axis moved by a part of its height; None where no float is left."""
    return _limits(value_at(part, axis), value_at(1 + part, axis))


def stretched(axis: Axis, factor: float) -> tuple[float, float] | None:
    """The limits of a y axis around the same middle, of more (factor > 1) or less height."""
    return _limits(value_at(0.5 - factor / 2, axis), value_at(0.5 + factor / 2, axis))


def _limits(low: float, high: float) -> tuple[float, float] | None:
    fine = math.isfinite(low) and math.isfinite(high) and high - low > abs(high) * 1e-12 and math.isfinite(high - low)
    return (low, high) if fine and low < high else None
