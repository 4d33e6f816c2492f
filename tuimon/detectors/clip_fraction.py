"""Too many tokens at the clip range: the policy moves further in an update than it is allowed to.

Rule: the clip fraction of the policy ratio is above `limit` for `points` points.
Source: walkinglabs training-debugging.md: above 0.4 is too high, 0.5 sustained is bad; the number of points is ours.
RLinf's clipped_ratio is the ratio after clipping, near 1 in every run, and no fraction.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.detectors._limits import Limit
from tuimon.model.alerts import Alert
from tuimon.store import Run

_HINT = "lower the learning rate, or make fewer updates of one batch"


class ClipFraction(Struct, frozen=True):
    id: str = "clip_fraction"
    title: str = "Clip fraction"
    limit: float = 0.4
    points: int = 10

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        for curve in curves(run, "clip_frac"):
            if not curve.metric.endswith("/clipped_ratio"):
                limit = Limit(self.limit, self.limit * 0.75, self.points)
                yield from limit.alerts(run, curve, self.id, "warning", _HINT)


DETECTOR = ClipFraction()
