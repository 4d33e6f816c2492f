"""Updates move the policy too far from the one that generated the responses: their ratio is far from 1.

Rule: the mean ratio of the probabilities under the new and the old policy is above `high` or below `low` for `points`
points. Ratios of the training engine to the inference engine are left to engine_mismatch.
Source: TRL's PPO docs (val/ratio should stay near 1; 0.1 or 2 point to updates that are too large); the number of
points is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.detectors._limits import beyond, limit_alerts
from tuimon.model.alerts import Alert
from tuimon.store import Run

_MEANS = re.compile(r"(?:^|/)(?:val/|actor/|probs_|ppo_|policy_|importance_)ratio(?:[_/]mean)?$")
"""Names of mean ratios of the new to the old policy; other metrics of the concept are spreads or compare engines."""
_HINT = (
    "the policy moves too far from the one that generated the responses: make fewer updates per batch, lower the"
    " learning rate, or check the clip range"
)


class PolicyRatio(Struct, frozen=True):
    id: str = "policy_ratio"
    title: str = "Policy ratio far from 1"
    high: float = 2.0
    """Mean ratio that is too high."""
    low: float = 0.1
    """Mean ratio that is too low."""
    points: int = 3
    """Points in a row."""

    def check(self, run: Run) -> Iterator[Alert]:
        limits = (
            beyond(self.high, 0.9 * self.high, self.points),
            beyond(self.low, 1.1 * self.low, self.points, below=True),
        )
        for curve in curves(run, "ratio", all_names=True):
            if _MEANS.search(curve.metric):
                for limit in limits:
                    yield from limit_alerts(run, curve, limit, self.id, "warning", _HINT)


DETECTOR = PolicyRatio()
