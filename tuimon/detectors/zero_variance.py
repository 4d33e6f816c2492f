"""Groups whose responses are all rewarded alike: they teach nothing.

Rule: their share is above `limit` for `points` points; or, where only the deviation of the rewards is logged, that is 0
for as many. Only for information where the reward is near its highest.
Source: GRPO practice: a frac_reward_zero_std that stays over 0.5 means that the reward is too coarse; DAPO (arXiv
2503.14476) filters such groups. The number of points is ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.detectors._limits import Limit
from tuimon.detectors._reward import near_ceiling
from tuimon.model.alerts import Alert
from tuimon.store import Run

_COUNTS = ("count", "rollout/dynamic_filter/")
_HINT = "the reward is too coarse, or the prompts too easy or too hard: filter such groups, mix other prompts in"


class ZeroVariance(Struct, frozen=True):
    id: str = "zero_variance"
    title: str = "Zero-variance groups"
    limit: float = 0.5
    points: int = 10

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        severity = "info" if near_ceiling(run) else "warning"
        told = False
        for curve in curves(run, "reward.zero_std_frac"):
            if not any(word in curve.metric for word in _COUNTS):
                told = True
                limit = Limit(self.limit, 0.8 * self.limit, self.points)
                yield from limit.alerts(run, curve, self.id, severity, _HINT, "a share of all groups, ")
        if not told:
            for curve in curves(run, "reward.std"):
                if curve.metric.endswith("reward_std"):
                    limit = Limit(1e-6, 1e-6, self.points, below=True)
                    yield from limit.alerts(run, curve, self.id, severity, _HINT)


DETECTOR = ZeroVariance()
