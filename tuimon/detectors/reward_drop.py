"""The reward loses what was won: a sudden drop, or a collapse.

Rule: by medians of nine, `part` of what was won since the start is lost again for 3 points in a row, and at least twice
the robust deviation of the noise; where less than 4 of these was won, 8 stand for the win. Critical when 90 % is lost.
Over when less than 60 % of that part is lost for 10 points.
Source: AgentScope Tuner doc names sudden drops as what to look for; the figures are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import FromBest
from tuimon.detectors._curves import alert, extreme_level, first_level, incidents, number, percent, verb
from tuimon.model.alerts import Alert
from tuimon.store import Run

_ALL = 0.9
_HINT = "go back to a checkpoint before it; look at KL, entropy, length and the weight sync at that step"


class RewardDrop(Struct, frozen=True):
    id: str = "reward_drop"
    title: str = "Reward drop or collapse"
    part: float = 0.5

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        for concept in ("reward.train", "success.train"):
            for curve in curves(run, concept):
                for incident in incidents(curve, FromBest(self.part, 0.6 * self.part, rises=True)):
                    start = first_level(curve)
                    best, at = extreme_level(curve, 0, incident.first, True)
                    low, _ = extreme_level(curve, incident.first, incident.last, False)
                    step = int(curve.steps[at])
                    lost = (best - low) / (best - start) if best > start else math.inf
                    share = f"{percent(lost)} of what was won" if lost < 1 else "all that was won"
                    message = (
                        f"{curve.metric} {verb(incident, 'has fallen', 'fell')} from {number(best)} at step {step} to"
                        f" {number(low)} ({share})"
                    )
                    severity = "critical" if lost >= _ALL else "warning"
                    yield alert(run, curve, incident, self.id, severity, message, _HINT)


DETECTOR = RewardDrop()
