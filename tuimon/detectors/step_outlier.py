"""A step that takes far longer than any before it.

Rule: its time is `deviations` robust deviations above the usual one (the median of about the last 130 steps), above
`ratio` times it, and above any of the last 256 steps by half: evaluations and checkpoints come again and are no news
after the first.
Source: SageMaker Debugger StepOutlier, 5 deviations; the rest is ours. Only for information: it is over when
it is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import Spike
from tuimon.detectors._curves import alert, extreme, incidents, level_at, number
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats
from tuimon.store import Run

_RECENT = 256
_HINT = "look at the phases of that step: a slow node, storage, a long response, a checkpoint"


class _Unheard(Spike, frozen=True):
    """A spike that is 1.5 times the highest of the points before it, too."""

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        found, _ = Spike.scores(self, values, begin, None)
        for row in np.flatnonzero(found >= self.high).tolist():
            before = values[max(0, begin + row - _RECENT) : begin + row]
            if len(before) and values[begin + row] < 1.5 * before.max():
                found[row] = 0.0
        return found, None


class StepOutlier(Struct, frozen=True):
    id: str = "step_outlier"
    title: str = "A slow step"
    deviations: float = 10.0
    ratio: float = 4.0

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert an outlier."""
        rule = _Unheard(self.deviations, self.ratio, clear_after=1)
        for curve in curves(run, "time.step"):
            for incident in incidents(curve, rule):
                took, _ = extreme(curve, incident)
                level, _ = level_at(curve, incident.first)
                message = f"{curve.metric} was {number(took)} s, {took / level:.3g} times the usual {number(level)} s,"
                yield alert(run, curve, incident, self.id, "info", message, _HINT)


DETECTOR = StepOutlier()
