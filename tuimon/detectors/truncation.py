"""Many responses are cut off at the length limit, so the end of their answers is not rewarded.

Rule: the share of truncated responses is above `limit` for `points` points; if the log has the share that ended
properly (RLinf), that share is below 1 - `limit`.
Source: DAPO (arXiv 2503.14476), overlong reward shaping; TRL GRPO docs on completions/clipped_ratio. The numbers are
ours.
"""

from __future__ import annotations

from tuimon.analysis.rules import Threshold
from tuimon.detectors._limits import LimitDetector, beyond

_COMPLEMENTS = ("properly_ended",)
_NOT_SHARES = ("num_eos_tokens", "env_timeout")


class Truncation(LimitDetector, frozen=True):
    concept = "truncation"
    hint = "raise the limit if correct answers need it; if not, check whether the reward favours length"
    id: str = "truncation"
    title: str = "Truncated responses"
    limit: float = 0.5
    """Share of the responses that are truncated."""
    points: int = 10
    """Points in a row."""

    def threshold(self, metric: str) -> Threshold | None:
        if metric.endswith(_NOT_SHARES):
            return None
        if metric.endswith(_COMPLEMENTS):
            return beyond(1 - self.limit, 1 - 0.8 * self.limit, self.points, below=True)
        return beyond(self.limit, 0.8 * self.limit, self.points)


DETECTOR = Truncation()
