"""global_step(): the training steps of a run whose tracker counts the calls of log().

Trainers that log every few steps and also log evaluations then write the step into each row as a metric:
train/global_step, trainer/global_step. If W&B was configured to use that metric as the step, its decoder returns
training steps already.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.concepts import metrics_of
from tuimon.model.points import Floats, Steps
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify

_STEP = "progress.step"
_MAX_EXACT = 2.0**53
_NEWEST = 1 << 14
"""Number of newest points that are examined, because this is computed whenever the run grows."""
_FALLS = 10
"""A counter decreases where the run was resumed: at most at one in this many points."""


class GlobalStep(Struct, frozen=True):
    """Training steps of the newest rows of a metric; they decrease where the run was resumed.

    Arrays of one length, except for the restarts, which are positions in them.
    """

    logged_steps: Steps
    """Steps as logged."""
    training_steps: Steps
    wall_times: Floats
    restarts: npt.NDArray[np.int64]
    first: int
    """First training step of all rows."""

    @property
    def rows_per_step(self) -> float:
        """Logged steps per training step."""
        advance, rows = np.diff(self.training_steps), np.diff(self.logged_steps)
        total = int(advance[advance > 0].sum())
        return int(rows[advance >= 0].sum()) / total if total else 1.0

    def training_steps_at(self, logged_steps: Steps) -> Steps:
        """Return the training steps at logged steps; those before the first row are left out."""
        rows = np.searchsorted(self.logged_steps, logged_steps, "right") - 1
        steps: Steps = self.training_steps[rows[rows >= 0]]
        return steps


def global_step(run: Run) -> GlobalStep | None:
    """Return the training steps; None if the logged step is the training step."""
    counters = (name for name in metrics_of(run, _STEP) if classify(name).preference == 0 and name in run.main_metrics)
    return next((steps for name in counters if (steps := _from_counter(run.curve(name))) is not None), None)


def _from_counter(curve: Curve) -> GlobalStep | None:
    older = max(len(curve) - _NEWEST, 0)
    values, logged = curve.values[older:], curve.steps[older:]
    if not (len(values) and _are_counts(values) and _are_counts(curve.values[:1])):
        return None
    training = values.astype(np.int64)
    ahead = training - logged
    falls = int((np.diff(training) < 0).sum())
    if falls * _FALLS > len(training) or (abs(int(ahead[-1])) <= 1 and not np.ptp(ahead)):
        return None
    restarts = curve.restarts[curve.restarts > older] - older
    return GlobalStep(logged, training, curve.wall_times[older:], restarts, int(curve.values[0]))


def _are_counts(values: Floats) -> bool:
    """Return whether the values are whole numbers that floats represent exactly."""
    return bool(np.isfinite(values).all() and np.abs(values).max() <= _MAX_EXACT and not (values % 1).any())
