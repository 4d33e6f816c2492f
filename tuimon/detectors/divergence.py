"""A loss or a gradient norm that stays far above what it was: the training diverges.

Rule: the median of nine is `ratio` times the usual level (the median of about the last 130 points) and 6 robust
deviations above it, for 4 points in a row; or, where a loss is what is learnt from (no reward is logged), `part` of
what it had fallen by is lost again. Over when it has come most of the way down again.
Source: ours; SageMaker Debugger and rlwatch know single values only. The surrogate loss of RL need not fall, so its
level tells nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves, named
from tuimon.analysis.rules import FromBest, Runaway
from tuimon.detectors._curves import alert, extreme, incidents, middle, number, percent, risen, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_LOSSES = ("loss.total", "loss.sft")
_HINT = "lower the learning rate, or go back to a checkpoint before it"


class Divergence(Struct, frozen=True):
    id: str = "divergence"
    title: str = "Divergence"
    ratio: float = 5.0
    part: float = 0.5

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time that it diverges, for each loss and gradient norm."""
        for curve in curves(run, "grad_norm", every=True):
            yield from self._exploded(run, curve)
        supervised = not named(run, "reward.train")
        for concept in (*_LOSSES, "loss.value"):
            for curve in curves(run, concept):
                risen = list(self._risen(run, curve)) if supervised else []
                yield from risen or self._exploded(run, curve)

    def _exploded(self, run: Run, curve: Curve) -> Iterator[Alert]:
        for incident in incidents(curve, Runaway(6.0, self.ratio, self.ratio)):
            yield alert(run, curve, incident, self.id, "warning", risen(curve, incident), _HINT)

    def _risen(self, run: Run, curve: Curve) -> Iterator[Alert]:
        for incident in incidents(curve, FromBest(self.part, self.part * 0.6, rises=False)):
            best = curve.values[: incident.first]
            lowest, at = extreme(curve, incident._replace(first=0, last=len(best) - 1), highest=False)
            now = middle(curve, incident.raised - 8, incident.raised)
            start = middle(curve, 0, 8)
            lost = (now - lowest) / (start - lowest) if start > lowest else math.inf
            share = f"{percent(lost)} of what it had fallen by" if lost < 1 else "all that it had fallen by"
            message = (
                f"{curve.metric} {verb(incident, 'has risen', 'rose')} from {number(lowest)} at step {at} to"
                f" {number(now)} ({share})"
            )
            yield alert(run, curve, incident, self.id, "critical" if lost >= 1 else "warning", message, _HINT)


DETECTOR = Divergence()
