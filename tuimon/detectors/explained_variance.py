"""A critic that is worse than a constant: its advantages are noise.

Rule: the median of nine of the explained variance is below `limit` for `points` points, the first 20 left out: a new
critic knows nothing.
Source: walkinglabs training-debugging.md: negative explained variance; the numbers of points are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.detectors._limits import Limit
from tuimon.model.alerts import Alert
from tuimon.store import Run

_HINT = "look at the value loss, the critic's learning rate and the scale of the returns"


class ExplainedVariance(Struct, frozen=True):
    id: str = "explained_variance"
    title: str = "Critic worse than a constant"
    limit: float = 0.0
    points: int = 20

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        for curve in curves(run, "value.explained_var"):
            limit = Limit(self.limit, self.limit + 0.02, self.points, below=True, smooth=True, skip=20)
            yield from limit.alerts(run, curve, self.id, "warning", _HINT)


DETECTOR = ExplainedVariance()
