"""hinge(): the point from which a level begins to grow, by the least squares of two lines that meet there."""

from __future__ import annotations

import numpy as np

from tuimon.model.points import Floats

_CANDIDATES = 128
"""Maximum number of points that are tried as the onset."""
_WARM_UP = 16
"""First points that may be a level of their own, because an allocator has not yet reserved what it needs."""


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
