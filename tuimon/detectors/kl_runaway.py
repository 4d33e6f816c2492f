"""The policy moves away from the reference: the KL divergence jumps to another level or is extremely high.

Rules, for the KL to the reference: the median of nine is `ratio` times the usual level (the median of about the last
130 points), `sudden` times that of the last 16 to 31 points, 6 robust deviations above it and above `floor`, for 4
points, the first 64 points ignored; or it is above `limit` for 5 points. Steady growth is normal and raises no alert.
Source: TRL how_to_train FAQ: ideally 0 to 10, summed over a response; rlwatch: z > 3 over 100 points, which fires on
any growth; the ratio and the floor are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import Runaway, Threshold
from tuimon.detectors._curves import runaway_alerts
from tuimon.detectors._limits import limit_alerts
from tuimon.model.alerts import Alert
from tuimon.store import Run

_SKIP = 64
_HINT = "raise the KL coefficient or lower the learning rate; read some responses"


class KlRunaway(Struct, frozen=True):
    id: str = "kl_runaway"
    title: str = "KL runaway"
    ratio: float = 4.0
    sudden: float = 2.2
    floor: float = 0.1
    limit: float = 10.0

    def check(self, run: Run) -> Iterator[Alert]:
        threshold = Threshold(self.limit, self.limit * 0.8, 5, 10)
        runaway = Runaway(6.0, self.ratio, self.sudden, self.floor, _SKIP)
        for curve in curves(run, "kl.ref"):
            above_limit = list(limit_alerts(run, curve, threshold, self.id, "warning", _HINT))
            yield from above_limit or runaway_alerts(run, curve, runaway, self.id, _HINT)


DETECTOR = KlRunaway()
