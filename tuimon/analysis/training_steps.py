"""Relation of logged steps to training steps.

global_step(): some trackers count the calls of log(). Trainers that log every few steps and also log evaluations then
write the step into each row as a metric: train/global_step, trainer/global_step. If W&B was configured to use that
metric as the step, its decoder returns training steps already.

updates_per_step(): some runs count updates of the model. RLinf logs (global step - 1) * minibatches + minibatch
(runners/reasoning_runner.py): its losses have a point for each minibatch, its timers and rewards one for each global
step. A total of 60 global steps is then 240 logged steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.concepts import metrics_of
from tuimon.model.points import Floats, Steps
from tuimon.store import Curve, Run
from tuimon.store.arrays import distinct
from tuimon.vocabulary import classify, understood_metrics

_STEP = "progress.step"
_MAX_EXACT = 2.0**53
_NEWEST = 1 << 14
"""Number of newest points that are examined, because this is computed whenever the run grows."""
_FALLS = 10
"""A counter decreases where the run was resumed: at most at one in this many points."""
_TIMERS = frozenset({"time.phase", "time.step"})
_MAX_METRICS = 3
"""Metrics of each kind that are examined."""
_NEWEST_OF_METRICS = 256
"""Number of newest points of each that are examined."""


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


class Updates(Struct, frozen=True):
    """Relation of logged steps to training steps."""

    per_step: int = 1
    """Logged steps per training step; 0 if unknown, while only the first training step is logged."""
    sparse: tuple[str, ...] = ()
    """Metrics with one point for each training step."""


def updates_per_step(run: Run, busiest: Sequence[str]) -> Updates:
    """Return how many logged steps make one training step. busiest: metrics, those of the longest series first.

    Steps are updates if the timers and the rewards all have points at the same multiples only, while the busiest metric
    has a point at each step.
    """
    if not busiest:
        return Updates()
    understood = understood_metrics(run.metrics)
    named = [name for name in busiest if name in understood]
    timers = [name for name in named if classify(name).concept in _TIMERS][:_MAX_METRICS]
    rewards = [name for name in named if _is_reward(name)][:_MAX_METRICS]
    dense = run.curve(busiest[0]).steps[-_NEWEST_OF_METRICS:]
    if not timers or not rewards or len(dense) < 2 or (np.diff(dense) > 1).any():
        return Updates()
    strides = {_stride(run.curve(name).steps[-_NEWEST_OF_METRICS:], dense) for name in (*timers, *rewards)}
    if len(strides) != 1 or strides == {1}:
        return Updates()
    return Updates(strides.pop(), (*timers, *rewards))


def _is_reward(name: str) -> bool:
    meaning = classify(name)
    return meaning.concept == "reward.train" and meaning.split == "train"


def _stride(steps: Steps, dense: Steps) -> int:
    """Return n > 1 if these are consecutive multiples of n; 0 for step 0 alone while `dense` goes on; otherwise 1."""
    gaps = distinct(np.diff(steps))
    if len(gaps) == 0:
        return 0 if len(steps) == 1 and steps[0] == 0 and dense[-1] > 0 else 1
    n = int(gaps[0])
    return n if len(gaps) == 1 and n > 1 and not (steps % n).any() else 1
