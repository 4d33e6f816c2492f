"""One step takes far longer than any before it.

Rule: its time is `deviations` robust deviations above the usual one (the median of about the last 130 steps), above
`ratio` times it, and 1.5 times as long as any of the last 256 steps: evaluations and checkpoints recur, and only the
first of them is reported.
Source: SageMaker Debugger StepOutlier, 5 deviations; the rest is ours. Only information: it is over when it is
reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.rules import Spike
from tuimon.detectors._curves import alert, extreme, incidents, usual_level
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats
from tuimon.store import Run

_RECENT = 256
_HINT = "look at the phases of that step: a slow node or storage, a very long response, a checkpoint or an evaluation"


class _UnprecedentedSpike(Spike, frozen=True):
    """A spike that is also 1.5 times the highest of the points before it."""

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        scores, _ = Spike.scores(self, values, begin, None)
        for row in np.flatnonzero(scores >= self.high).tolist():
            before = values[max(0, begin + row - _RECENT) : begin + row]
            if len(before) and values[begin + row] < 1.5 * before.max():
                scores[row] = 0.0
        return scores, None


class StepOutlier(Struct, frozen=True):
    id: str = "step_outlier"
    title: str = "Slow step"
    deviations: float = 10.0
    """Robust deviations above the usual step time."""
    ratio: float = 4.0
    """Time of the step, relative to the usual one."""

    def check(self, run: Run) -> Iterator[Alert]:
        rule = _UnprecedentedSpike(self.deviations, self.ratio, clear_after=1)
        for curve in curves(run, "time.step"):
            meaning = meaning_of(run, curve.metric)
            for incident in incidents(curve, rule):
                duration, _ = extreme(curve, incident)
                usual, _ = usual_level(curve, incident.first)
                now, before = duration * meaning.scale, usual * meaning.scale
                yield alert(run, curve, incident, self.id, "info", "jumped", now, before, hint=_HINT, unit=meaning.unit)


DETECTOR = StepOutlier()
