"""The training reward rises while validation falls: the policy exploits the reward instead of solving the task.

Rule: at `points` validations in a row, the validation is below its best by more than `part` of its gain so far (and by
more than its noise), while the training reward is higher than it was at that best, by more than its own noise. The
alert begins at the step of that best, from which both series are compared.
Source: Gao et al. 2022 (arXiv 2210.10760): the proxy reward keeps rising while the true one falls; the numbers are
ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tuimon.analysis.concepts import curves, metrics_of
from tuimon.analysis.rules import Threshold
from tuimon.analysis.windows import BLOCK, medians
from tuimon.detectors._curves import alert
from tuimon.detectors._validation import newest_validations
from tuimon.model.alerts import Alert, Change
from tuimon.store import Curve, Run

_HINT = "compare the responses of now and of the best validation; the checkpoint near the latter is the better model"


class RewardHacking(Struct, frozen=True):
    id: str = "reward_hacking"
    title: str = "Reward up, validation down"
    part: float = 0.25
    """Part of its gain that the validation has lost."""
    points: int = 3
    """Validations in a row."""

    def check(self, run: Run) -> Iterator[Alert]:
        train = next(curves(run, "reward.train"), None)
        if train is None or len(train) < 2 * BLOCK:
            return
        concept = "reward.val" if metrics_of(run, "reward.val", "val") else "success.val"
        for curve in curves(run, concept, "val"):
            yield from self._compare(run, train, curve)

    def _compare(self, run: Run, train: Curve, validation: Curve) -> Iterator[Alert]:
        newest = newest_validations(train, validation, self.points + 2, higher_is_better=True)
        if newest is None:
            return
        values, best, ends = newest.values, newest.best, newest.train_ends
        rewards = medians(train.values, ends - BLOCK, ends, BLOCK)
        gain = values[best] - np.minimum.accumulate(values)
        fallen = values[best] - values
        with np.errstate(divide="ignore", invalid="ignore"):
            hacked = (fallen > 3 * newest.typical_change) & (rewards - rewards[best] > _noise_of_difference(train))
            scores = np.where(hacked, fallen / gain, 0.0)
        rule = Threshold(self.part, 0.6 * self.part, self.points, self.points)
        alerts: dict[int, Alert] = {}
        for incident, first, last in newest.incidents(scores, rule):
            reward = Change(train.metric, "risen", float(rewards[last]), float(rewards[first]))
            now, before = float(values[last]), float(values[first])
            from_best = incident._replace(first=newest.offset + first)
            # Of several incidents after one best value, only the last: an alert is identified by its step.
            alerts[first] = alert(
                run, validation, from_best, self.id, "warning", "fallen", now, before, hint=_HINT, related=(reward,)
            )
        yield from alerts.values()


def _noise_of_difference(curve: Curve) -> float:
    """Return three standard deviations of the difference of two medians of 16 values.

    The deviation of one value is that of neighbouring differences over the root of 2; the deviation of a median of 16
    is 1.25 times that over the root of 16.
    """
    steps = np.diff(curve.values[-8 * BLOCK :])
    steps = steps[np.isfinite(steps)]
    if not len(steps):
        return 0.0
    deviation = 1.4826 * float(np.median(np.abs(steps))) / math.sqrt(2)
    return 3.0 * math.sqrt(2) * 1.25 * deviation / math.sqrt(BLOCK)


DETECTOR = RewardHacking()
