"""Too many tokens are clipped: an update moves the policy further than the clip range allows.

Rule: the clip fraction of the policy ratio is above `limit` for `points` points.
Source: walkinglabs training-debugging.md: above 0.4 is too high, 0.5 sustained is bad; the number of points is ours.
RLinf's clipped_ratio is left out: it is the ratio after clipping, near 1 in every run, not a fraction.
"""

from __future__ import annotations

from tuimon.analysis.rules import Threshold
from tuimon.detectors._limits import LimitDetector, beyond


class ClipFraction(LimitDetector, frozen=True):
    concept = "clip_frac"
    hint = "lower the learning rate, or make fewer updates per batch"
    id: str = "clip_fraction"
    title: str = "High clip fraction"
    limit: float = 0.4
    """Share of the tokens that are clipped."""
    points: int = 10
    """Points in a row."""

    def threshold(self, metric: str) -> Threshold | None:
        if metric.endswith("/clipped_ratio"):
            return None
        return beyond(self.limit, self.limit * 0.75, self.points)


DETECTOR = ClipFraction()
