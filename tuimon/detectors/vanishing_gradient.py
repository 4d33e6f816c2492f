"""The gradient is almost zero, so nothing is learned.

Rule: the gradient norm is below `limit` for `points` points.
Source: SageMaker Debugger VanishingGradient, 1e-7; ms-swift#5571: GRPO runs with a gradient norm and a reward
deviation of 0. The number of points is ours.
"""

from __future__ import annotations

from tuimon.analysis.rules import Threshold
from tuimon.detectors._limits import LimitDetector, beyond


class VanishingGradient(LimitDetector, frozen=True):
    concept = "grad_norm"
    hint = "look for groups whose rewards are all equal, frozen weights, or a loss that does not depend on the weights"
    id: str = "vanishing_gradient"
    title: str = "No gradient"
    limit: float = 1e-7
    """Gradient norm."""
    points: int = 10
    """Points in a row."""

    def threshold(self, metric: str) -> Threshold:
        return beyond(self.limit, self.limit, self.points, below=True)


DETECTOR = VanishingGradient()
