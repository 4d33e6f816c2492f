"""The training step where a tracker counts rows instead.

Some trackers number the calls of log(); trainers that log every so many steps and evaluations besides put the step into
each row as a metric: train/global_step, trainer/global_step. Where W&B is told so, its decoder has the steps already.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.concepts import named
from tuimon.model.points import Floats, Steps
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify

_STEP = "progress.step"
_MOST = 2.0**53
_NEWEST = 1 << 14
"""Points that are looked at: it is asked at every growth of the run."""
_FALLS = 10
"""A counter falls where the run was resumed, at less than one in so many points."""


class GlobalStep(Struct, frozen=True):
    """Where the training stood, for the newest rows of a metric; falling where it was resumed. Arrays of one length,
    but for the restarts, which are positions in them."""

    steps: Steps
    """As they are logged."""
    at: Steps
    wall_times: Floats
    restarts: npt.NDArray[np.int64]
    first: int
    """Of all rows."""

    @property
    def rows_a_step(self) -> float:
        """Of what is logged."""
        ahead, rows = np.diff(self.at), np.diff(self.steps)
        gone = int(ahead[ahead > 0].sum())
        return int(rows[ahead >= 0].sum()) / gone if gone else 1.0

    def of(self, steps: Steps) -> Steps:
        """Where the training stood at logged steps, none before the first."""
        rows = np.searchsorted(self.steps, steps, "right") - 1
        found: Steps = self.at[rows[rows >= 0]]
        return found


def global_step(run: Run) -> GlobalStep | None:
    """None where what is logged as the step is the training step."""
    counters = (name for name in named(run, _STEP) if classify(name).preference == 0 and name in run.main_metrics)
    return next((found for name in counters if (found := _counted(run.curve(name))) is not None), None)


def _counted(curve: Curve) -> GlobalStep | None:
    older = max(len(curve) - _NEWEST, 0)
    values, steps = curve.values[older:], curve.steps[older:]
    if not (len(values) and _counts(values) and _counts(curve.values[:1])):
        return None
    at = values.astype(np.int64)
    ahead = at - steps
    falls = int((np.diff(at) < 0).sum())
    if falls * _FALLS > len(at) or (abs(int(ahead[-1])) <= 1 and not np.ptp(ahead)):
        return None
    restarts = curve.restarts[curve.restarts > older] - older
    return GlobalStep(steps, at, curve.wall_times[older:], restarts, int(curve.values[0]))


def _counts(values: Floats) -> bool:
    """Whether they are whole numbers, all of them exact."""
    return bool(np.isfinite(values).all() and np.abs(values).max() <= _MOST and not (values % 1).any())
