"""Has a metric moved, and with what? The newest points against earlier ones, and two curves beside each other.

Shift: medians of two windows, with the rank test of Mann & Whitney ("On a test of whether one of two random variables
is stochastically larger than the other", Annals of Mathematical Statistics 18, 1947; normal approximation, ties
corrected, continuity corrected). Together: Spearman's rank correlation of the changes from point to point. Two curves
that both rise are correlated whatever they are; their changes are so only where one goes with the other.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.analysis.trend import SIGNIFICANT
from tuimon.model.points import Floats, Steps

WINDOW = 20
"""Points on each side, at most …"""
_FEWEST = 2
"""… and at the least."""
_FEWEST_CHANGES = 10


class Shift(Struct, frozen=True):
    """How the newest points differ from earlier ones."""

    before: float
    """Medians of the two windows."""
    after: float
    ratio: float
    """after / before - 1; NaN unless before > 0."""
    p_value: float
    """How probable such a difference of ranks is without one, two-sided."""
    since: int
    """Index of the first point of the earlier window."""

    @property
    def significant(self) -> bool:
        """Whether it stands out from the noise."""
        return self.p_value < SIGNIFICANT


def shift(values: Floats, since: int = 0) -> Shift | None:
    """The newest of the points from index `since` on against the oldest of them: a quarter each, 20 points at most.

    None with fewer than 8 points there, or without a finite one on either side.
    """
    count = len(values) - since
    window = min(WINDOW, count // 4)
    if since < 0 or window < _FEWEST:
        return None
    before, after = values[since : since + window], values[-window:]
    before, after = before[np.isfinite(before)], after[np.isfinite(after)]
    if not len(before) or not len(after):
        return None
    low, high = float(np.median(before)), float(np.median(after))
    return Shift(low, high, high / low - 1 if low > 0 else math.nan, _rank_test(before, after), since)


def together(steps: Steps, values: Floats, other_steps: Steps, other_values: Floats) -> tuple[float, float]:
    """(Spearman's rho of the changes from one common step to the next, its p-value); (NaN, 1) with fewer than 10.

    Steps ascending. The p-value is that of the normal approximation, rho * sqrt(n - 1).
    """
    _, here, there = np.intersect1d(steps, other_steps, return_indices=True)
    a, b = values[here], other_values[there]
    known = np.isfinite(a) & np.isfinite(b)
    a, b = np.diff(a[known]), np.diff(b[known])
    if len(a) < _FEWEST_CHANGES:
        return math.nan, 1.0
    a, b = _ranks(a) - (len(a) + 1) / 2, _ranks(b) - (len(b) + 1) / 2
    size = math.sqrt(float(a @ a) * float(b @ b))
    if size == 0:
        return math.nan, 1.0
    rho = float(a @ b) / size
    return rho, math.erfc(abs(rho) * math.sqrt(len(a) - 1) / math.sqrt(2))


def _rank_test(a: Floats, b: Floats) -> float:
    both = np.concatenate((a, b))
    n, m = len(a), len(b)
    total = n + m
    _, ties = np.unique(both, return_counts=True)
    correction = float((ties.astype(np.float64) ** 3 - ties).sum()) / (total * (total - 1))
    deviation = math.sqrt(n * m / 12 * (total + 1 - correction))
    if deviation == 0:
        return 1.0
    away = abs(float(_ranks(both)[:n].sum()) - n * (total + 1) / 2) - 0.5
    return math.erfc(max(away, 0.0) / deviation / math.sqrt(2))


def _ranks(values: Floats) -> Floats:
    """From 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[inverse]
    return ranks
