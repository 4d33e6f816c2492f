"""Updates are too large: the KL divergence from the policy that wrote the responses is high.

Rule: the median of nine of the approximate KL to the old policy is above `limit` for `points` points.
Source: Spinning Up and Stable-Baselines3 stop an epoch at 1.5 times target_kl, which is 0.01 to 0.05: 0.075. The number
of points is ours.
"""

from __future__ import annotations

from tuimon.analysis.rules import Threshold
from tuimon.detectors._limits import LimitDetector, beyond


class ApproxKl(LimitDetector, frozen=True):
    concept = "kl.old"
    hint = "lower the learning rate, or make fewer updates per batch"
    id: str = "approx_kl"
    title: str = "Updates too large"
    limit: float = 0.075
    """KL to the old policy (nats), as a median of nine points."""
    points: int = 10
    """Points in a row."""

    def threshold(self, metric: str) -> Threshold:
        return beyond(self.limit, self.limit * 0.7, self.points, smooth=True)


DETECTOR = ApproxKl()
