"""Responses repeat themselves.

Rule: the share of repetition is above `limit` for `points` points.
Source: walkinglabs training-debugging.md: a repeat ratio above 0.2; the number of points is ours.
"""

from __future__ import annotations

from tuimon.analysis.rules import Threshold
from tuimon.detectors._limits import LimitDetector, beyond


class DegenerateText(LimitDetector, frozen=True):
    concept = "degenerate"
    hint = "read some responses and check whether the reward favours repetition"
    id: str = "degenerate_text"
    title: str = "Repeating text"
    limit: float = 0.2
    """Share of repetition."""
    points: int = 3
    """Points in a row."""

    def threshold(self, metric: str) -> Threshold:
        return beyond(self.limit, self.limit * 0.75, self.points)


DETECTOR = DegenerateText()
