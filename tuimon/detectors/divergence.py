"""The training diverges: a loss or a gradient norm stays far above its earlier level.

Rule: the median of nine is `ratio` times the usual level (the median of about the last 130 points) and 6 robust
deviations above it, for 4 points in a row; or, in supervised training (no reward is logged), a loss has lost `part` of
its decrease since the start. Over when most of the rise is undone. A rise to less than `least` of what a supervised
loss was at its start is none: a loss that has reached 1e-7 often multiplies for some steps.
Source: ours; SageMaker Debugger and rlwatch check single values only. The surrogate loss of RL need not fall, so its
level says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tuimon.analysis.concepts import curves, metrics_of
from tuimon.analysis.rules import FromBest, Runaway
from tuimon.analysis.windows import NINE
from tuimon.detectors._curves import (
    alert,
    extreme,
    from_onsets,
    median_of_rows,
    number,
    reached_level,
    runaway_alerts,
    share_percent,
    verb,
)
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_LOSSES = ("loss.total", "loss.sft")
_HINT = "lower the learning rate, or go back to an earlier checkpoint"


class Divergence(Struct, frozen=True):
    id: str = "divergence"
    title: str = "Divergence"
    ratio: float = 5.0
    """Level of a loss or gradient norm, relative to the usual one."""
    part: float = 0.5
    """Part of its decrease since the start that a supervised loss has lost."""
    least: float = 0.01
    """Level, relative to the start of a supervised loss, below which no rise counts."""

    def check(self, run: Run) -> Iterator[Alert]:
        for curve in curves(run, "grad_norm", all_names=True):
            yield from self._runaways(run, curve)
        supervised = not metrics_of(run, "reward.train")
        for concept in (*_LOSSES, "loss.value"):
            for curve in curves(run, concept):
                risen = list(self._risen(run, curve)) if supervised else []
                start = curve.values[:NINE]
                floor = self.least * float(np.fmax.reduce(start)) if supervised and len(start) == NINE else 0.0
                yield from risen or self._runaways(run, curve, floor)

    def _runaways(self, run: Run, curve: Curve, floor: float = 0.0) -> Iterator[Alert]:
        runaway = Runaway(6.0, self.ratio, self.ratio, floor if math.isfinite(floor) else 0.0)
        return runaway_alerts(run, curve, runaway, self.id, _HINT)

    def _risen(self, run: Run, curve: Curve) -> Iterator[Alert]:
        for incident in from_onsets(curve, FromBest(self.part, self.part * 0.6, rises=False)):
            lowest, step = extreme(curve, incident._replace(first=0, last=incident.first - 1), highest=False)
            now, start = reached_level(curve, incident, highest=True), median_of_rows(curve, 0, 8)
            lost = (now - lowest) / (start - lowest) if start > lowest else math.inf
            share = f"{share_percent(lost)} of its decrease" if lost < 1 else "all of its decrease"
            message = (
                f"{curve.metric} {verb(incident, 'has risen', 'rose')} from {number(lowest)} at step {step} to"
                f" {number(now)} ({share} lost)"
            )
            yield alert(run, curve, incident, self.id, "critical" if lost >= 1 else "warning", message, _HINT)


DETECTOR = Divergence()
