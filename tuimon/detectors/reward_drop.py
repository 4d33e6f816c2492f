"""The reward falls suddenly, or collapses.

Rule: by medians of nine, `part` of the gain since the start is lost for 3 points in a row, and at least twice the
robust deviation of the noise; if the gain is less than 4 deviations, 8 deviations are used as the gain. Critical when
90 % is lost. Over when less than 60 % of that part is lost for 10 points.
Source: the AgentScope Tuner docs name sudden drops as a warning sign; the numbers are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import FromBest
from tuimon.detectors._checkpoints import checkpoint_before
from tuimon.detectors._curves import (
    alert,
    extreme_level,
    first_level,
    from_onsets,
)
from tuimon.model.alerts import Alert
from tuimon.store import Run

_CRITICAL = 0.9
"""Lost part of the gain from which on an alert is critical."""
_HINT = "go back to {checkpoint}; look at KL, entropy, length and the weight sync at that step"


class RewardDrop(Struct, frozen=True):
    id: str = "reward_drop"
    title: str = "Reward drop or collapse"
    part: float = 0.5
    """Part of the gain since the start that is lost."""

    def check(self, run: Run) -> Iterator[Alert]:
        for concept in ("reward.train", "success.train"):
            for curve in curves(run, concept):
                for incident in from_onsets(curve, FromBest(self.part, 0.6 * self.part, rises=True), falls=True):
                    start = first_level(curve)
                    best, _ = extreme_level(curve, 0, max(0, incident.first - 1), True)
                    low, _ = extreme_level(curve, incident.first, incident.last, False)
                    lost = (best - low) / (best - start) if best > start else math.inf
                    severity = "critical" if lost >= _CRITICAL else "warning"
                    hint = _HINT.format(checkpoint=checkpoint_before(run, int(curve.steps[incident.first])))
                    yield alert(run, curve, incident, self.id, severity, "fallen", low, best, hint=hint)


DETECTOR = RewardDrop()
