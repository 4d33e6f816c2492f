"""Whether a run counts updates of the model where others count training steps.

RLinf's x is (global step - 1) * minibatches + minibatch (runners/reasoning_runner.py): its losses have a point for each
minibatch, its timers and rewards one for each global step. A total of 60 global steps is then 240 of what is logged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.model.points import Steps
from tuimon.store import Run
from tuimon.store.distinct import distinct
from tuimon.vocabulary import classify

_TIMERS = frozenset({"time.phase", "time.step"})
_REWARDS = frozenset({"reward.train"})
_ASKED = 3
"""Metrics of each kind that are looked at."""
_NEWEST = 256
"""Points of each that are looked at."""


class Updates(Struct, frozen=True):
    """How many logged steps make one training step."""

    each: int = 1
    """0: not known yet, while only the first training step is logged."""
    sparse: tuple[str, ...] = ()
    """Metrics with one point for each training step."""


def updates_a_step(run: Run, busiest: Sequence[str]) -> Updates:
    """busiest: the run's metrics, those of the longest series first.

    Steps are updates when the timers and the rewards all have a point at every so many steps, and only there, while the
    busiest metric has one at each.
    """
    if not busiest:
        return Updates()
    timers = [name for name in busiest if classify(name).concept in _TIMERS][:_ASKED]
    rewards = [name for name in busiest if _is_reward(name)][:_ASKED]
    dense = run.curve(busiest[0]).steps[-_NEWEST:]
    if not timers or not rewards or len(dense) < 2 or (np.diff(dense) > 1).any():
        return Updates()
    strides = {_stride(run.curve(name).steps[-_NEWEST:], dense) for name in (*timers, *rewards)}
    if len(strides) != 1 or strides == {1}:
        return Updates()
    return Updates(strides.pop(), (*timers, *rewards))


def _is_reward(name: str) -> bool:
    meaning = classify(name)
    return meaning.concept in _REWARDS and meaning.split == "train"


def _stride(steps: Steps, dense: Steps) -> int:
    """The n > 1 of whose multiples these are consecutive ones; 0 for the step 0 alone while the dense have gone on;
    1 for anything else."""
    apart = distinct(np.diff(steps))
    if len(apart) == 0:
        return 0 if len(steps) == 1 and steps[0] == 0 and dense[-1] > 0 else 1
    n = int(apart[0])
    return n if len(apart) == 1 and n > 1 and not (steps % n).any() else 1
