"""A loss or a gradient norm jumps far above its usual level, for example because of a bad batch.

Rule: a value `deviations` robust deviations above the usual level (the median of about the last 130 points) and above
`ratio` times it (for a gradient norm: `gradient_ratio`). For a loss also one that is as many deviations of the local
noise above the local level (the median of the nine points before), `local_ratio` times that level, and `extremes` times
as far from it as any but a few of the last 128 points: while a loss falls fast, the last 130 points lie far above it,
and their spread is that of the fall. Over when `clear_after` points were usual again. A level that stays high becomes
the usual one, so that later spikes are seen; if it has not come back, the alert remains, as information about a new
level.
Source: ZClip (arXiv 2504.02507) clips gradients at 2.5 deviations, rlwatch warns at 3. The noise of RL has heavy tails,
so a healthy run has dozens of such values; 12 deviations and the ratios are ours. Measured for exponentially falling
losses with noise of 0.5 % to 5 %: of jumps to twice the level 95 % are reported (0 % without the local level), of
jumps to 1.5 times 52 %. Without jumps there are 0.02 alerts per 600 points for noise of 3 degrees of freedom (Student).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.concepts import curves
from tuimon.analysis.incidents import Incident
from tuimon.analysis.rules import LocalSpike, Spike
from tuimon.analysis.windows import NINE
from tuimon.detectors._curves import (
    alert,
    extreme,
    fold_rows,
    incidents,
    median_of_rows,
    usual_level,
)
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_CONCEPTS = ("loss.total", "loss.sft", "loss.policy", "loss.value", "grad_norm")
_HINT = "look at the data of that step (batch, responses); gradient clipping limits the effect of one step"
_HINT_OF_LEVEL = "look at what changed at that step: the data, the learning rate, or a collapse of the policy"
_NEWEST = 50
"""Points of the median that is the new level."""


class Spikes(Struct, frozen=True):
    id: str = "spikes"
    title: str = "Spike of loss or gradient"
    deviations: float = 12.0
    """Robust deviations above the usual or the local level."""
    ratio: float = 3.0
    """Value of a loss, relative to the usual level."""
    gradient_ratio: float = 8.0
    """Value of a gradient norm, relative to the usual level."""
    local_ratio: float = 1.5
    """Value of a loss, relative to the level of the nine points before."""
    extremes: float = 5.0
    """Distance of a loss from the local level, relative to the usual extremes."""
    clear_after: int = 8
    """Usual points in a row after which the alert is over."""

    def check(self, run: Run) -> Iterator[Alert]:
        for concept in _CONCEPTS:
            is_gradient = concept == "grad_norm"
            rule = self._gradient_rule() if is_gradient else self._loss_rule()
            for curve in curves(run, concept, all_names=is_gradient):
                for incident in incidents(curve, rule):
                    peak, step = extreme(curve, incident)
                    usual = _level_before(curve, incident.first)
                    if incident.cleared is None or _has_returned(curve, incident, rule):
                        jump = alert(run, curve, incident, self.id, "warning", "jumped", peak, usual, hint=_HINT)
                        yield replace(jump, extreme=step)
                    else:
                        now = median_of_rows(curve, len(curve) - _NEWEST, len(curve) - 1)
                        staying = incident._replace(cleared=None)
                        yield alert(run, curve, staying, self.id, "info", "moved", now, usual, hint=_HINT_OF_LEVEL)

    def _gradient_rule(self) -> Spike:
        return Spike(self.deviations, self.gradient_ratio, clear_after=self.clear_after)

    def _loss_rule(self) -> Spike:
        return LocalSpike(
            self.deviations,
            self.ratio,
            clear_after=self.clear_after,
            local_ratio=self.local_ratio,
            extremes=self.extremes,
        )


def _has_returned(curve: Curve, incident: Incident, rule: Spike) -> bool:
    """Return whether values after an incident were usual again, `rule.clear_after` in a row, by the level before it."""
    level, noise = map(np.atleast_1d, usual_level(curve, incident.first))

    def fold(state: int | None, begin: int, end: int) -> int:
        """Return the number of usual points in a row at the end; `clear_after` once there were so many."""
        streak = state or 0
        if streak >= rule.clear_after:
            return streak
        usual = ~(rule.scores_above(curve.values[begin:end], level, noise) >= rule.low)
        for is_usual in usual.tolist():
            streak = streak + 1 if is_usual else 0
            if streak >= rule.clear_after:
                break
        return streak

    quantity = "returned", rule
    return fold_rows(curve, quantity, incident.last + 1, len(curve) - 1, fold) >= rule.clear_after


def _level_before(curve: Curve, row: int) -> float:
    """Return the lower one of the usual level and the local level, with which a spike is compared."""
    return min(usual_level(curve, row)[0], median_of_rows(curve, row - NINE, row - 1))


DETECTOR = Spikes()
