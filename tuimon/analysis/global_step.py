"""The training step where a tracker counts rows instead.

W&B numbers the calls of log(); transformers and Lightning, which log every so many steps and evaluations besides, put
the step into each row as a metric: train/global_step, trainer/global_step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats, Steps
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify

_STEP = "progress.step"
_MOST = 2.0**53
_FALLS = 10
"""A counter falls where the run was resumed, at less than one in so many points."""


class GlobalStep(Struct, frozen=True):
    """Where the training stood, for the rows of a metric; falling where it was resumed."""

    curve: Curve
    at: Steps

    @property
    def rows_a_step(self) -> float:
        """Of what is logged, over all of the run."""
        ahead, rows = np.diff(self.at), np.diff(self.curve.steps)
        gone = int(ahead[ahead > 0].sum())
        return int(rows[ahead >= 0].sum()) / gone if gone else 1.0

    def of(self, steps: Steps) -> Steps:
        """Where the training stood at logged steps, none before the first."""
        rows = np.searchsorted(self.curve.steps, steps, "right") - 1
        found: Steps = self.at[rows[rows >= 0]]
        return found


def global_step(run: Run, busiest: Sequence[str]) -> GlobalStep | None:
    """None where what is logged as the step is the training step. busiest: the run's metrics."""
    for metric in busiest:
        meaning = classify(metric)
        if meaning.concept == _STEP and meaning.preference == 0 and meaning.split == "train":
            found = _counted(run.curve(metric))
            if found is not None:
                return found
    return None


def _counted(curve: Curve) -> GlobalStep | None:
    values: Floats = curve.values
    if not len(values) or not np.isfinite(values).all() or np.abs(values).max() > _MOST or (values % 1).any():
        return None
    at = values.astype(np.int64)
    ahead = at - curve.steps
    falls = int((np.diff(at) < 0).sum())
    if falls * _FALLS > len(at) or (abs(int(ahead[-1])) <= 1 and not np.ptp(ahead)):
        return None
    return GlobalStep(curve, at)
