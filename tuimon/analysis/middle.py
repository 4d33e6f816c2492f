"""Medians and quantiles of some hundred values, as np.median and np.quantile give them, at a fifth of their cost: they
are asked for at every drawing."""

from __future__ import annotations

import math

import numpy as np

from tuimon.model.points import Floats


def median(values: Floats) -> float:
    """The value in the middle, or the mean of the two there. No NaN among them; NaN of none."""
    n = len(values)
    if n == 0:
        return math.nan
    ordered = np.sort(values)
    middle = float(ordered[n // 2])
    return middle if n % 2 else (float(ordered[n // 2 - 1]) + middle) / 2


def quantiles(values: Floats, *parts: float) -> tuple[float, ...]:
    """Between the two values nearest to each part of the way from the least (0) to the greatest (1), linearly (method 7
    of Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996). At least one value, no NaN among them."""
    ordered = np.sort(values)
    found = []
    for part in parts:
        at, last = part * (len(ordered) - 1), len(ordered) - 1
        below = min(int(at), last)
        low, high, rest = float(ordered[below]), float(ordered[min(below + 1, last)]), at - below
        found.append(low + (high - low) * rest if rest < 0.5 else high - (high - low) * (1 - rest))
    return tuple(found)
