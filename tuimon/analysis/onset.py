"""The point from which values grow, or at which they change, by least squares.

hinge()             a level and a rising line that meet
onset()             where values leave their level, at once or gradually
split()             two levels
sudden_change()     two levels, if the values are level before and after the change
"""

from __future__ import annotations

from operator import itemgetter

import numpy as np
from msgspec import Struct

from tuimon.analysis.windows import NINE
from tuimon.model.points import Floats

_CANDIDATES = 128
"""Maximum number of points that are tried as the onset."""
_WARM_UP = 16
"""First points that may be a level of their own, because an allocator has not yet reserved what it needs."""
_FITTED = 256
"""Maximum number of values, or of means of neighbouring ones, that onset() fits."""
_SIGNIFICANT = 16.0
"""Decrease of the squared error by an onset, relative to the mean squared error after it, from which it counts."""
_LOWEST = 0.1
"""Part of the level below which values are equal in the fit of a relative rise."""

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


def onset(values: Floats, *, falls: bool = False) -> int | None:
    """Return the index of the first value that has left its level; None if no such value stands out from the noise.

    The values before it lie on a line. They leave it by a jump or along a steeper line or, if they rise from a level
    above 0, along an exponential; the best fit decides, by relative errors in case of such a rise. The last values
    should have left the level. values: finite, at least 9 for a result.
    """
    width = -(-len(values) // _FITTED)
    if width > 1:
        begin = len(values) % width
        index = onset(values[begin:].reshape(-1, width).mean(axis=1), falls=falls)
        if index is not None and len(values) - begin - index * width > _FITTED // 2:
            return begin + index * width
        index = onset(values[-_FITTED:], falls=falls)
        return None if index is None else len(values) - _FITTED + index
    if len(values) < NINE:
        return None
    positions = np.arange(len(values), dtype=np.float64)
    candidates = positions[2:-1]
    jumps = (positions >= candidates[:, None]).astype(np.float64)
    ramps = np.maximum(positions - (candidates[:-1, None] - 1), 0.0)
    level = float(np.median(values[: len(values) // 2]))
    if falls or not level > 0:
        moved = level - values if falls else values - level
        fits = [_fit(moved, jumps), _fit(moved, ramps)]
    else:
        rise = np.maximum(values / level, _LOWEST)
        fits = [_fit(np.log(rise), jumps), _fit(np.log(rise), ramps), _fit(rise, ramps, 1 / rise)]
    best, error, gain = min(fits, key=itemgetter(1))
    return best + 2 if gain > _SIGNIFICANT * error / len(values) else None


def _fit(values: Floats, shapes: Floats, weights: Floats | float = 1.0) -> tuple[int, float, float]:
    """Return (index of the shape that, added to a line, fits best; squared error; its decrease by the shape).

    Only positive multiples of a shape count. weights: factors of the errors.
    """
    positions = np.arange(len(values), dtype=np.float64)
    lines = np.stack((np.ones(len(values)), positions)) * weights
    base, _ = np.linalg.qr(lines.T)
    shapes = shapes * weights
    shapes -= (shapes @ base) @ base.T
    weighted = values * weights
    rest = weighted - base @ (base.T @ weighted)
    gains = np.maximum(shapes @ rest, 0.0) ** 2 / (shapes**2).sum(axis=1)
    best = int(np.argmax(gains))
    gain = float(gains[best])
    return best, float(rest @ rest) - gain, gain


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
