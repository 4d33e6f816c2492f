"""Reward up while validation falls: the policy learns what the reward measures, not what it was meant to.

Rule: at the last `points` validations in a row, the validation is below its best by more than `part` of what it had won
(and of its noise), while the training reward stands higher than it did at that best, by more than its own noise.
Source: Gao et al. 2022 (arXiv 2210.10760): the proxy reward goes on rising while the true one falls; the figures are
ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.concepts import curves, named
from tuimon.analysis.incidents import Incidents
from tuimon.analysis.rules import Above
from tuimon.analysis.windows import BLOCK, medians
from tuimon.detectors._curves import alert, number, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_LATEST = 1024
"""Validations that are looked at."""
_HINT = "read responses of now and of the best validation; a checkpoint near that one is the better model"


class Hacking(Struct, frozen=True):
    id: str = "reward_hacking"
    title: str = "Reward up, validation down"
    part: float = 0.25
    points: int = 3

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time and validation series."""
        train = next(curves(run, "reward.train"), None)
        if train is None or len(train) < 2 * BLOCK:
            return
        concept = "reward.val" if named(run, "reward.val", "val") else "success.val"
        for curve in curves(run, concept, "val"):
            yield from self._compared(run, train, curve)

    def _compared(self, run: Run, train: Curve, validation: Curve) -> Iterator[Alert]:
        begin = max(0, len(validation) - _LATEST)
        val, steps = validation.values[begin:], validation.steps[begin:]
        if len(val) < self.points + 2 or not np.isfinite(val).all():
            return
        ends = np.searchsorted(train.steps, steps, "right")
        rewards = medians(train.values, ends - BLOCK, ends, BLOCK)
        noise = _noise(train)
        best = _best_before(val)
        spread = float(np.median(np.abs(np.diff(val)))) if len(val) > 2 else 0.0
        won = val[best] - np.minimum.accumulate(val)
        fallen = val[best] - val
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = np.where((fallen > 3 * spread) & (rewards - rewards[best] > noise), fallen / won, 0.0)
        lost[~np.isfinite(lost)] = 0.0
        rule = Above(self.part, 0.6 * self.part, self.points, self.points)
        for incident in Incidents().extended(lost, rule).found:
            at, last = int(best[incident.raised]), incident.last
            message = (
                f"{train.metric} {verb(incident, 'rises', 'rose')} from {number(rewards[at])} to"
                f" {number(rewards[last])} while {validation.metric} {verb(incident, 'falls', 'fell')} from"
                f" {number(val[at])} at step {int(steps[at])} to {number(val[last])} at step {int(steps[last])},"
            )
            moved = incident._replace(first=incident.first + begin, raised=incident.raised + begin, last=last + begin)
            yield alert(run, validation, moved, self.id, "warning", message, _HINT)


def _best_before(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """For each value, the row of the first of the highest until there."""
    highest = np.maximum.accumulate(values)
    new = np.concatenate(([True], highest[1:] > highest[:-1]))
    return np.maximum.accumulate(np.where(new, np.arange(len(values)), 0))


def _noise(curve: Curve) -> float:
    """Three deviations of the difference of two medians of a block. Of one reward: from what neighbouring ones differ
    by, over the root of 2; of a median of 16: 1.25 times that over the root of 16."""
    steps = np.diff(curve.values[-8 * BLOCK :])
    steps = steps[np.isfinite(steps)]
    if not len(steps):
        return 0.0
    one = 1.4826 * float(np.median(np.abs(steps))) / math.sqrt(2)
    return 3.0 * math.sqrt(2) * 1.25 * one / math.sqrt(BLOCK)


DETECTOR = Hacking()
