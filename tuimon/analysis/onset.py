"""The point from which values grow, or at which they change, by least squares.

hinge()             a level and a rising line that meet
split()             two levels
sudden_change()     two levels, if the values are level before and after the change
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats

_CANDIDATES = 128
"""Maximum number of points that are tried as the onset."""
_WARM_UP = 16
"""First points that may be a level of their own, because an allocator has not yet reserved what it needs."""

_MAX_POINTS = 8192
"""Maximum number of points, the newest, in which a sudden change is searched unless more are asked for."""
_FEWEST = 4
"""Minimum number of points before and after a sudden change."""
_STEADY = 0.15
"""Maximum difference of the halves of a level, relative to the change."""


class SuddenChange(Struct, frozen=True):
    """A change from one level to another within a point or two."""

    index: int
    """Index of the first point of the new level."""
    before: float
    """Median before the change."""
    after: float
    """Median after the change."""


def hinge(values: Floats) -> int:
    """Return the index from which a level grows: values[:index] are level, the rest is a rising line. All finite.

    The first 16 points are not fitted, but belong to the rising line if they lie on it.
    """
    skip = min(_WARM_UP, len(values) // 8)
    fitted = values[skip:] - values[-1]
    if len(fitted) < 3:
        return 0
    positions = np.arange(len(fitted))
    onsets = np.arange(0, len(fitted) - 2, -(-len(fitted) // _CANDIDATES))
    rises = np.maximum(positions - onsets[:, None], 0).astype(np.float64)
    rises -= rises.mean(axis=1)[:, None]
    shares = rises @ (fitted - fitted.mean())
    best = int(np.argmax(np.maximum(shares, 0.0) ** 2 / np.square(rises).sum(axis=1)))
    if best:
        return skip + int(onsets[best])
    slope, middle = shares[0] / np.square(rises[0]).sum(), (len(fitted) - 1) / 2
    errors = values - values[-1] - (fitted.mean() + slope * (np.arange(len(values)) - skip - middle))
    on_line = np.abs(errors[:skip]) <= 4 * max(float(errors[skip:].std()), slope)
    return skip - int(np.argmin(on_line[::-1])) if not on_line.all() else 0


def split(values: Floats) -> int:
    """Return the index that divides finite values best into two levels; 0 if there is only one value."""
    counts = np.arange(1, len(values))
    excess = np.cumsum(values - values.mean())[:-1]
    return int(np.argmax(excess**2 / (counts * (len(values) - counts)))) + 1 if len(values) > 1 else 0


def sudden_change(values: Floats, before: float, after: float, max_points: int = _MAX_POINTS) -> SuddenChange | None:
    """Return the change from about `before` to about `after`; None if it is gradual, or there are several.

    Values far outside of these levels (a slow first step, a checkpoint) have no more influence than others. Only the
    last `max_points` are examined.
    """
    offset = max(0, len(values) - max_points)
    rows = np.flatnonzero(np.isfinite(values[offset:])) + offset
    known, change = values[rows], abs(after - before)
    if len(known) < 2 * _FEWEST or change == 0:
        return None
    index = split(np.clip(known, min(before, after) - change / 2, max(before, after) + change / 2))
    if not _FEWEST <= index <= len(known) - _FEWEST:
        return None
    levels = []
    for level in (known[:index], known[index:]):
        halves = [float(np.median(half)) for half in np.array_split(level, 2)]
        if abs(halves[1] - halves[0]) > _STEADY * change:
            return None
        levels.append(float(np.median(level)))
    return SuddenChange(int(rows[index]), levels[0], levels[1])
