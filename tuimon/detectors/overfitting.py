"""Validation loss up while the training loss falls: what is learnt now is the training data itself.

Rule: at `points` validations in a row the validation loss is above its lowest by more than `part` of it, and by more
than twice what neighbouring ones differ by, while the training loss stands lower than it did at that lowest.
Source: SageMaker Debugger Overfit, ratio_threshold 0.1, patience 1; a patience of 1 fires on noise, and a constant
distance between the two losses is no overfitting, so the rise is what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.incidents import Incidents
from tuimon.analysis.rules import Above
from tuimon.analysis.windows import medians
from tuimon.detectors._curves import alert, number, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_LATEST = 1024
"""Validations that are looked at."""
_HINT = "the checkpoint of the lowest validation loss is the better model; more data, fewer epochs, more regularisation"


class Overfitting(Struct, frozen=True):
    id: str = "overfitting"
    title: str = "Overfitting"
    part: float = 0.1
    points: int = 3

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time and validation loss."""
        train = next((curve for concept in ("loss.total", "loss.sft") for curve in curves(run, concept)), None)
        if train is not None:
            for curve in curves(run, "loss.val", "val"):
                yield from self._compared(run, train, curve)

    def _compared(self, run: Run, train: Curve, validation: Curve) -> Iterator[Alert]:
        begin = max(0, len(validation) - _LATEST)
        val, steps = validation.values[begin:], validation.steps[begin:]
        if len(val) < self.points + 1 or not np.isfinite(val).all():
            return
        ends = np.searchsorted(train.steps, steps, "right")
        before = np.concatenate(([0], ends[:-1]))
        losses = medians(train.values, before, ends, 64)
        lowest = np.minimum.accumulate(val)
        new = np.concatenate(([True], lowest[1:] < lowest[:-1]))
        best = np.maximum.accumulate(np.where(new, np.arange(len(val)), 0))
        risen = val - lowest
        spread = float(np.median(np.abs(np.diff(val))))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where((risen > 2 * spread) & (losses < losses[best]), risen / np.abs(lowest), 0.0)
        ratio[~np.isfinite(ratio)] = 0.0
        rule = Above(self.part, 0.5 * self.part, self.points, self.points)
        for incident in Incidents().extended(ratio, rule).found:
            at, last = int(best[incident.raised]), incident.last
            message = (
                f"{validation.metric} {verb(incident, 'rises', 'rose')} from {number(val[at])} at step {int(steps[at])}"
                f" to {number(val[last])} at step {int(steps[last])} while {train.metric}"
                f" {verb(incident, 'falls', 'fell')} from {number(losses[at])} to {number(losses[last])},"
            )
            moved = incident._replace(first=incident.first + begin, raised=incident.raised + begin, last=last + begin)
            yield alert(run, validation, moved, self.id, "warning", message, _HINT)


DETECTOR = Overfitting()
