"""The reward no longer rises: the run has converged or is stuck.

Rule: the best median of nine is no better than it was `points` points before, by more than `part` of the whole gain and
half the noise; not if the reward is near its maximum. The alert has the medians of the 50 points until it begins and of
the last 50. Only information: a log does not show which of the two it is.
Source: SageMaker Debugger LossNotDecreasing (any decrease in 10 steps), far too short for a reward; the AgentScope
Tuner docs call plateaus ambiguous. The numbers are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import Stuck
from tuimon.detectors._curves import (
    alert_as_worded,
    extreme_level,
    first_level,
    incidents,
    median_of_rows,
    number,
    when,
)
from tuimon.detectors._reward import near_ceiling
from tuimon.model.alerts import Alert
from tuimon.store import Run

_LEVEL_POINTS = 50
_HINT = "the reward may be too coarse or too hard, or the task solved; look at zero-variance groups and entropy"


class Plateau(Struct, frozen=True):
    id: str = "plateau"
    title: str = "Reward plateau"
    points: int = 150
    """Points without a better level."""
    part: float = 0.02
    """Part of the whole gain by which a level has to be better."""

    def check(self, run: Run) -> Iterator[Alert]:
        """Yield an alert for the plateau that the reward is on now; earlier ones are not reported."""
        for curve in curves(run, "reward.train"):
            for incident in incidents(curve, Stuck(self.points, rises=True, part=self.part))[-1:]:
                if incident.cleared is not None or near_ceiling(run):
                    continue
                before = median_of_rows(curve, incident.first - _LEVEL_POINTS + 1, incident.first)
                now = median_of_rows(curve, incident.last - _LEVEL_POINTS + 1, incident.last)
                best, _ = extreme_level(curve, 0, incident.first, highest=True)
                highest, _ = extreme_level(curve, incident.first, incident.last, highest=True)
                if now - before <= self.part * (best - first_level(curve)):
                    risen = "has hardly risen" if now > before else "has not risen"
                    words = f"{risen} {when(curve, incident)}: level {number(before)} then, {number(now)} now"
                else:  # noisy values: the usual level rises, but not above the best one
                    since = f"{number(best)} by then, {number(highest)} since"
                    words = f"has hardly exceeded its best level {when(curve, incident)}: {since}"
                message = f"{curve.metric} {words}"
                yield alert_as_worded(run, curve, incident, self.id, "info", message, _HINT)


DETECTOR = Plateau()
