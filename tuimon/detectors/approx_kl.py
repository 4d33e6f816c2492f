"""Updates that are too large: the KL divergence from the policy that wrote the responses.

Rule: the median of nine of the approximate KL to the old policy is above `limit` for `points` points.
Source: Spinning Up and Stable-Baselines3 stop an epoch at 1.5 times target_kl, which is 0.01 to 0.05: 0.075. The number
of points is ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.detectors._limits import Limit
from tuimon.model.alerts import Alert
from tuimon.store import Run

_HINT = "lower the learning rate, or make fewer updates of one batch"


class ApproxKl(Struct, frozen=True):
    id: str = "approx_kl"
    title: str = "Updates too large"
    limit: float = 0.075
    points: int = 10

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        for curve in curves(run, "kl.old"):
            limit = Limit(self.limit, self.limit * 0.7, self.points, smooth=True)
            yield from limit.alerts(run, curve, self.id, "warning", _HINT)


DETECTOR = ApproxKl()
