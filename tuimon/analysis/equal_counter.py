"""at_equal_counter(): the metric of the verdict where the runs have counted as many tokens, samples or epochs.

compared at equal steps; at equal tokens (39.3 M) the level of loss is: lr2x 0.8969, base 0.9172, bs128 0.9684
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.compared_metric import ComparedMetric, level_until
from tuimon.draw.numbers import format_count, format_value
from tuimon.store import Run
from tuimon.text import clean, first_names

_AXES = ("tokens", "samples", "epoch")
"""Counters in the order of preference."""
_LEAST = 0.05
"""Relative difference of the counters at the compared step from which they are mentioned."""
_SAME = 1e-9
"""Relative difference of equal counts: epochs are sums."""
_MOST = 6
"""Number of runs that are named, the best first."""


def at_equal_counter(labels: Sequence[str], runs: Sequence[Run], metric: ComparedMetric | None) -> str:
    """Return the levels of a metric at the highest count that all runs have reached at the compared step.

    "" if the counts at this step hardly differ, if a run does not log any, or if the runs are not compared at equal
    steps. labels: names of the runs. metric: that of the verdict.
    """
    step = None if metric is None else metric.comparable_step
    if metric is None or not isinstance(step, int):
        return ""
    compared = [
        (label, run, curve, factor)
        for label, run, curve, factor, end in zip(labels, runs, metric.curves, metric.factors, metric.ends, strict=True)
        if curve is not None and end is not None and end >= step
    ]
    if len(compared) < 2:
        return ""
    for axis in _AXES:
        if not all(run.has_axis(axis) for _, run, _, _ in compared):
            continue
        scales = [run.scale(axis) for _, run, _, _ in compared]
        counts = [float(scale.positions(np.array([step]))[0]) for scale in scales]
        least = min(counts)
        if not (all(math.isfinite(count) for count in counts) and max(counts) > least * (1 + _LEAST) > 0):
            continue
        values = []
        for (label, _, curve, factor), scale in zip(compared, scales, strict=True):
            row = curve.row_near(least * (1 + _SAME), scale)
            values.append((clean(label), level_until(curve, min(int(curve.steps[row]), step)) * factor))
        values.sort(key=lambda pair: pair[1], reverse=metric.meaning.direction == "up")
        named = first_names([f"{label} {format_value(value)}" for label, value in values], _MOST)
        amount = format_value(least) if axis == "epoch" else format_count(least)
        word = step_name(compared[0][1])
        return f"compared at equal {word}s; at equal {axis} ({amount}) the level of {clean(metric.name)} is: {named}"
    return ""
