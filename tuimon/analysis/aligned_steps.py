"""Curves of metrics whose source counts steps differently, on the steps of the run's main sources.

RLinf's console counts global steps where its trackers count updates of the model, and SB3's monitor.csv counts
episodes. Charts side by side need one count: a point gets the main step of its wall time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

import numpy as np
from msgspec.structs import replace

from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.analysis.system_metrics import system_metrics
from tuimon.model.points import Floats, Steps
from tuimon.store import Curve, Run

_aligned: WeakKeyDictionary[Curve, tuple[Curve, Curve]] = WeakKeyDictionary()
"""Curve of a metric -> (main curve, aligned curve)."""


def counts_alike(run: Run, metric: str) -> bool:
    """Return whether the steps of a metric can be compared with those of the run's main sources."""
    main = run.main_metrics
    return not main or metric in main


def aligned(run: Run, metric: str) -> Curve:
    """Return the curve of a metric with the steps of the main sources, or as logged if these are unknown.

    Raises KeyError if the run has no such metric.
    """
    curve = run.curve(metric)
    if counts_alike(run, metric) or curve.ordinal or not len(curve):
        return curve
    main = _main_curve(run)
    if main is None:
        return curve
    known = _aligned.get(curve)
    if known is not None and known[0] is main:
        return known[1]
    steps = _by_time(curve.wall_times, main)
    result = curve if steps is None else replace(curve, steps=steps, superseded=0)
    if result is not curve:
        _aligned[curve] = main, result
    return result


def lacks_training_steps(run: Run, metric: str) -> bool:
    """Return whether a metric comes from a log of machines beside the training, whose steps are those of the log."""
    return metric in system_metrics(run) and not counts_alike(run, metric)


def with_training_steps(run: Run, metric: str) -> Curve:
    """Return the curve of a metric; one from a log of machines has the training steps at its wall times, if known, and
    the numbers of its points without a training.

    Raises KeyError if the run has no such metric.
    """
    if run.counts_no_steps:
        curve = run.curve(metric)
        return replace(curve, steps=np.arange(len(curve)))
    return aligned(run, metric) if lacks_training_steps(run, metric) else run.curve(metric)


def training_steps_at(run: Run, wall_times: Floats) -> Steps | None:
    """Return the steps of the run's main sources at the wall times of a curve; None if these are unknown."""
    main = _main_curve(run)
    return None if main is None or not len(wall_times) else _by_time(wall_times, main)


def step_name(run: Run) -> str:
    """Return what the logged steps of a run count."""
    return progress_inputs(run).step_name


def common_step_name(runs: Sequence[Run]) -> str:
    """Return what the training steps of several runs count; "step" if it differs."""
    return common_name(map(step_name, runs))


def common_name(names: Iterable[str]) -> str:
    """Return what all of these names of steps are; "step" if they differ."""
    different = set(names)
    return different.pop() if len(different) == 1 else "step"


def _main_curve(run: Run) -> Curve | None:
    """Return the longest training curve of the main sources; None without one, or if its steps are positions."""
    machine = system_metrics(run)
    names = (name for name in run.busiest_metrics if name in run.main_metrics and name not in machine)
    main = next(map(run.curve, names), None)
    return None if main is None or not len(main) or main.ordinal else main


def _by_time(times: Floats, main: Curve) -> Steps | None:
    """Return the steps of the main curve at the wall times, interpolated; None if a wall time is unknown."""
    clock = main.wall_times
    if not (np.isfinite(times).all() and np.isfinite(clock).all()) or clock[-1] <= clock[0]:
        return None
    if times[-1] < clock[0] or times[0] > clock[-1]:
        return None
    order = np.maximum.accumulate(clock)
    steps = np.interp(np.maximum.accumulate(times), order, main.steps.astype(np.float64))
    return np.asarray(np.round(steps).astype(np.int64))
