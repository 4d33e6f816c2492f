"""The policy moves away from the reference: the KL divergence jumps, grows far above its settled level, or is extreme.

Rules, for the KL to the reference: the median of nine is `ratio` times the usual level (the median of about the last
130 points), `sudden` times that of the last 16 to 31 points, 6 robust deviations above it and above `floor`, for 4
points, the first 64 points ignored; or, after 32 points, it is `growth` times the usual level and four fifths of this
times that of the last 16 to 31 points, which growth from 0 with the steps or their square does not reach; or it is
`growth` times the level on which it had settled at half of the points so far (64 points whose quarters differ by a
factor of at most 2, at least a hundredth of `floor`) and above `floor`, for 5 points; or it is above `limit` for 5
points. Growth from 0, and growth with the number of steps, are normal and raise no alert. Critical from `critical`
times that level on, if it is also above 10 times `floor`. If the entropy has halved in the same time, it is a part of
the same incident (_incidents.py).
Source: TRL how_to_train FAQ: ideally 0 to 10, summed over a response; rlwatch: z > 3 over 100 points, which fires on
any growth; the other numbers are ours. Healthy learners reach 3 times a settled level.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.incidents import Incident
from tuimon.analysis.level_rules import AgainstSettled
from tuimon.analysis.rules import Runaway, Threshold
from tuimon.detectors._curves import (
    alert,
    changes_from_settled,
    incidents,
    merged,
    reached_level,
    runaways,
)
from tuimon.detectors._limits import limit_alert
from tuimon.model.alerts import Alert
from tuimon.store import Run

_SKIP, _SKIP_OF_JUMP = 64, 32
_SPREAD = 2.0
_HINT = "raise the KL coefficient or lower the learning rate; read some responses"


class KlRunaway(Struct, frozen=True):
    id: str = "kl_runaway"
    title: str = "KL runaway"
    ratio: float = 4.0
    """Level of the KL, relative to the usual one."""
    sudden: float = 2.2
    """Level of the KL, relative to that of the last 16 to 31 points."""
    floor: float = 0.1
    """Level of the KL (nats) below which no rise counts."""
    limit: float = 10.0
    """KL (nats) that is always an alert."""
    growth: float = 10.0
    """Level of the KL, relative to the level on which it had settled, or to the usual one in a short run."""
    critical: float = 100.0
    """Level of the KL, relative to the usual one, from which on the alert is critical."""

    def check(self, run: Run) -> Iterator[Alert]:
        threshold = Threshold(self.limit, self.limit * 0.8, 5, 10)
        runaway = Runaway(6.0, self.ratio, self.sudden, self.floor, _SKIP)
        early = Runaway(6.0, self.growth, 0.8 * self.growth, self.floor, _SKIP_OF_JUMP)
        growth = AgainstSettled(self.growth, self.growth / 2, _SPREAD, least=self.floor / 100, floor=self.floor)
        for curve in curves(run, "kl.ref"):
            changes: list[tuple[Incident, float | None]] = [(i, None) for i in incidents(curve, threshold)]
            changes += runaways(curve, runaway)
            changes += runaways(curve, early)
            changes += changes_from_settled(curve, growth)
            for incident, usual in merged(changes):
                if usual is None:
                    yield limit_alert(run, curve, incident, threshold, self.id, "warning", _HINT)
                    continue
                level = reached_level(curve, incident, highest=True)
                severity = "critical" if level >= max(self.critical * usual, 10 * self.floor) else "warning"
                yield alert(run, curve, incident, self.id, severity, "risen", level, usual, hint=_HINT)


DETECTOR = KlRunaway()
