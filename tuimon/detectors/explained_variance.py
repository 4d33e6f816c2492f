"""The critic predicts worse than a constant, so its advantages are noise.

Rule: the median of nine of the explained variance is below `limit` for `points` points. The first 20 points are
ignored, because a new critic is untrained. Values just below 0 are those of a critic that predicts a constant, which is
all it can do when every episode has the same return, so they are no fault.
Source: walkinglabs training-debugging.md: negative explained variance; the limit and the numbers of points are ours.
"""

from __future__ import annotations

from tuimon.analysis.rules import Threshold
from tuimon.detectors._limits import LimitDetector, beyond


class ExplainedVariance(LimitDetector, frozen=True):
    concept = "value.explained_var"
    hint = "look at the value loss, the critic's learning rate and the scale of the returns"
    id: str = "explained_variance"
    title: str = "Critic worse than a constant"
    limit: float = -0.05
    """Explained variance, as a median of nine points."""
    points: int = 20
    """Points in a row."""

    def threshold(self, metric: str) -> Threshold:
        return beyond(self.limit, self.limit + 0.02, self.points, below=True, smooth=True, skip=20)


DETECTOR = ExplainedVariance()
