"""The reward no longer rises: the run has converged or is stuck.

Rule: the mean of 50 points, and that halfway, differ from the one `points` points before by no more than `part` of the
gain since the start, or four tenths of the noise; not if the reward is near its maximum. The alert begins with these
points. Over when the mean has left the level before them by twice as much. Only information: a log does not show which
of the two it is.
Source: SageMaker Debugger LossNotDecreasing (any decrease in 10 steps), far too short for a reward; the AgentScope
Tuner docs call plateaus ambiguous. The numbers are ours: of 60 rewards that approach their end exponentially, in 500
points of 5.5 time constants with noise of 6 % of the gain, all have the alert.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import LEVEL, Flat
from tuimon.detectors._curves import (
    alert,
    first_level,
    incidents,
    mean_of_rows,
    usual_level,
)
from tuimon.detectors._reward import near_ceiling
from tuimon.model.alerts import Alert
from tuimon.store import Run

_RISEN = 2.0
"""Gain, relative to the noise, from which on the reward has risen before, so that it may have converged."""
_HINT = "the reward may be too coarse, or the prompts too hard; look at zero-variance groups and entropy"


class Plateau(Struct, frozen=True):
    id: str = "plateau"
    title: str = "Reward plateau"
    points: int = 150
    """Points over which the level stays the same."""
    part: float = 0.05
    """Part of the gain since the start by which a level has to differ."""

    def check(self, run: Run) -> Iterator[Alert]:
        """Yield an alert for the plateau that the reward is on now; earlier ones are not reported."""
        for curve in curves(run, "reward.train"):
            for incident in incidents(curve, Flat(self.points, part=self.part))[-1:]:
                if incident.cleared is not None or near_ceiling(run):
                    continue
                flat = incident._replace(first=incident.first - self.points)
                before = mean_of_rows(curve, flat.first, flat.first + LEVEL - 1)
                now = mean_of_rows(curve, len(curve) - LEVEL, len(curve) - 1)
                has_risen = before - first_level(curve) > _RISEN * usual_level(curve, incident.first)[1]
                hint = "" if has_risen else _HINT
                yield alert(run, curve, flat, self.id, "info", "flat", now, before, hint=hint)


DETECTOR = Plateau()
