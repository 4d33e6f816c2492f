"""No gradient: nothing is learnt any more.

Rule: the gradient norm is below `limit` for `points` points.
Source: SageMaker Debugger VanishingGradient, 1e-7; ms-swift#5571: GRPO runs with a gradient norm and a reward
deviation of 0. The number of points is ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.detectors._limits import Limit
from tuimon.model.alerts import Alert
from tuimon.store import Run

_HINT = "groups whose rewards are all equal give no gradient; nor do frozen weights"


class VanishingGradient(Struct, frozen=True):
    id: str = "vanishing_gradient"
    title: str = "No gradient"
    limit: float = 1e-7
    points: int = 10

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        for curve in curves(run, "grad_norm"):
            limit = Limit(self.limit, self.limit, self.points, below=True)
            yield from limit.alerts(run, curve, self.id, "warning", _HINT)


DETECTOR = VanishingGradient()
