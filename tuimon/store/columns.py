"""Append-only columns of points: 24 bytes a point, written by one thread, read by any.

A reader that knows a published length n may take the arrays at any time and read their first n rows: rows below n never
change, and growth makes new arrays while views of the old ones stay valid.
"""

from __future__ import annotations

import numpy as np

from tuimon.model.points import Floats, Steps

_SMALL = 16
_BULK = 256


class PointColumns:
    """steps int64, values float64, wall_times float64: arrays of one capacity, of which `length` rows are points."""

    __slots__ = ("last_step", "length", "ordered", "steps", "values", "wall_times")

    def __init__(self) -> None:
        self.steps: Steps = np.empty(0, np.int64)
        self.values: Floats = np.empty(0, np.float64)
        self.wall_times: Floats = np.empty(0, np.float64)
        self.length = 0
        self.ordered = 0
        """How many leading points have steps that never go back; equal to `length` for a well-behaved log."""
        self.last_step = 0
        """Of the point logged last; 0 without any."""

    def append(self, step: int, value: float, wall_time: float) -> None:
        """One point; the path for a live row of hundreds of metrics, kept free of array arithmetic."""
        at = self.length
        if at == len(self.wall_times):
            self._grow(1)
        self.steps[at] = step
        self.values[at] = value
        self.wall_times[at] = wall_time
        if self.ordered == at and (step >= self.last_step or at == 0):
            self.ordered = at + 1
        self.last_step = step
        self.length = at + 1

    def extend(self, steps: Steps, values: Floats, wall_times: Floats) -> None:
        """Many points at once, copied; three arrays of one length."""
        count = len(steps)
        if count == 0:
            return
        at, end = self.length, self.length + count
        if end > len(self.wall_times):
            self._grow(count)
        self.steps[at:end] = steps
        self.values[at:end] = values
        self.wall_times[at:end] = wall_times
        if self.ordered == at and (at == 0 or steps[0] >= self.last_step):
            back = steps[1:] < steps[:-1]
            self.ordered = at + int(back.argmax()) + 1 if back.any() else end
        self.last_step = int(steps[-1])
        self.length = end

    def _grow(self, count: int) -> None:
        """Room for `count` more: exactly that much for bulk, half as much again for a trickle."""
        at = self.length
        bulk = count >= _BULK and count >= at
        capacity = at + count if bulk else max(at + count, at + at // 2, _SMALL)
        for name in ("steps", "values", "wall_times"):
            old = getattr(self, name)
            new = np.empty(capacity, old.dtype)
            new[:at] = old[:at]
            setattr(self, name, new)
