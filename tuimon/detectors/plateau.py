"""The reward has come to a stand: converged, or stuck.

Rule: the best median of nine is no better than it was `points` points before, by more than `part` of what was won in
all and half the noise; not where the reward is near its highest. Only for information: a log cannot tell which it is.
Source: SageMaker Debugger LossNotDecreasing (any decrease in 10 steps), far too short for a reward; AgentScope Tuner
doc calls plateaus ambiguous. The figures are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import Stuck
from tuimon.detectors._curves import alert, extreme_level, incidents, number
from tuimon.detectors._reward import near_ceiling
from tuimon.model.alerts import Alert
from tuimon.store import Run

_HINT = "is the reward too coarse, too hard, or the task solved? Look at zero-variance groups and entropy"


class Plateau(Struct, frozen=True):
    id: str = "plateau"
    title: str = "Reward plateau"
    points: int = 150
    part: float = 0.02

    def check(self, run: Run) -> Iterator[Alert]:
        """The plateau that it is on; those that it has left are no news."""
        for curve in curves(run, "reward.train"):
            for incident in incidents(curve, Stuck(self.points, rises=True, part=self.part))[-1:]:
                if incident.cleared is not None or near_ceiling(run):
                    continue
                best, at = extreme_level(curve, 0, incident.last, True)
                step = int(curve.steps[at])
                message = (
                    f"{curve.metric} has not risen in {self.points} points or more (best level {number(best)} at step"
                    f" {step})"
                )
                yield alert(run, curve, incident, self.id, "info", message, _HINT)


DETECTOR = Plateau()
