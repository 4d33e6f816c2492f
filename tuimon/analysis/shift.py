"""Has a metric shifted, at once or gradually? Compare the newest with earlier points.

Shift: the medians of two windows and the rank test of Mann & Whitney ("On a test of whether one of two random variables
is stochastically larger than the other", Annals of Mathematical Statistics 18, 1947; normal approximation, corrected
for ties and continuity).
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.analysis.onset import SuddenChange, sudden_change
from tuimon.analysis.trend import SIGNIFICANT
from tuimon.model.points import Floats
from tuimon.store.arrays import median

WINDOW = 20
"""Maximum number of points in each window."""
_FEWEST = 2
"""Minimum number of points in each window."""
_BESIDE = 5
"""Points on each side of a jump that have reached the levels before and after it."""
_REACHED = 0.25
"""Maximum distance of their median from that level, relative to the jump."""


class Shift(Struct, frozen=True):
    """Difference of the newest points from earlier ones."""

    before: float
    """Median of the earlier window."""
    after: float
    """Median of the newest window."""
    ratio: float
    """after / before - 1; NaN unless before > 0."""
    p_value: float
    """Probability of such a difference of ranks by chance, two-sided."""
    since: int
    """Index of the first point of the earlier window."""

    @property
    def significant(self) -> bool:
        """Whether the difference is significant."""
        return self.p_value < SIGNIFICANT


def shift(values: Floats, since: int = 0) -> Shift | None:
    """Compare the newest points with the oldest from index `since` on: a quarter each, at most 20 points.

    None with fewer than 8 points, or if a window has no finite point.
    """
    count = len(values) - since
    window = min(WINDOW, count // 4)
    if since < 0 or window < _FEWEST:
        return None
    before, after = values[since : since + window], values[-window:]
    before, after = before[np.isfinite(before)], after[np.isfinite(after)]
    if not len(before) or not len(after):
        return None
    low, high = median(before), median(after)
    return Shift(low, high, high / low - 1 if low > 0 else math.nan, _rank_test(before, after), since)


def jump(values: Floats) -> SuddenChange | None:
    """Return the change between two levels, within a few points, by which the last values differ from the first.

    None if the values rise or fall gradually, or more than once.
    """
    moved = shift(values)
    if moved is None or not moved.significant:
        return None
    change = sudden_change(values, moved.before, moved.after, len(values))
    if change is None:
        return None
    beside = values[max(change.index - _BESIDE, 0) : change.index], values[change.index : change.index + _BESIDE]
    for level, near in zip((change.before, change.after), beside, strict=True):
        known = near[np.isfinite(near)]
        if not len(known) or abs(median(known) - level) > _REACHED * abs(change.after - change.before):
            return None
    return change


def _rank_test(a: Floats, b: Floats) -> float:
    both = np.concatenate((a, b))
    n, m = len(a), len(b)
    total = n + m
    _, ties = np.unique(both, return_counts=True)
    correction = float((ties.astype(np.float64) ** 3 - ties).sum()) / (total * (total - 1))
    deviation = math.sqrt(n * m / 12 * (total + 1 - correction))
    if deviation == 0:
        return 1.0
    distance = abs(float(_ranks(both)[:n].sum()) - n * (total + 1) / 2) - 0.5
    return math.erfc(max(distance, 0.0) / deviation / math.sqrt(2))


def _ranks(values: Floats) -> Floats:
    """Return ranks from 1; equal values share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[inverse]
    return ranks
