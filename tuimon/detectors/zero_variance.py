"""In many groups all responses get the same reward, which gives no gradient.

Rule: the share of such groups is above `limit` for `points` points; or, if only the deviation of the rewards is logged,
it is 0 for as many points. Only information if the reward is near its maximum.
Source: GRPO practice: a frac_reward_zero_std that stays over 0.5 means that the reward is too coarse; DAPO (arXiv
2503.14476) filters such groups. The number of points is ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.detectors._limits import beyond, limit_alerts
from tuimon.detectors._reward import near_ceiling
from tuimon.model.alerts import Alert
from tuimon.store import Run

_COUNTS = ("count", "rollout/dynamic_filter/")
_HINT = "the reward is too coarse, or the prompts too easy or too hard: filter such groups, or add other prompts"


class ZeroVariance(Struct, frozen=True):
    id: str = "zero_variance"
    title: str = "Zero-variance groups"
    limit: float = 0.5
    """Share of the groups without variance."""
    points: int = 10
    """Points in a row."""

    def check(self, run: Run) -> Iterator[Alert]:
        severity = "info" if near_ceiling(run) else "warning"
        shares = [c for c in curves(run, "reward.zero_std_frac") if not any(word in c.metric for word in _COUNTS)]
        for curve in shares:
            threshold = beyond(self.limit, 0.8 * self.limit, self.points)
            yield from limit_alerts(run, curve, threshold, self.id, severity, _HINT)
        if not shares:
            for curve in curves(run, "reward.std"):
                if curve.metric.endswith("reward_std"):
                    threshold = beyond(1e-6, 1e-6, self.points, below=True)
                    yield from limit_alerts(run, curve, threshold, self.id, severity, _HINT)


DETECTOR = ZeroVariance()
