"""best_of_seeds(): which settings are ahead on a metric, where runs differ only in their seed.

The result of a group of such runs is the mean of their levels, all up to one step. Two groups differ by

    difference ± sqrt(sum of s[i]^2 / n[a]^2 + sum of s[i]^2 / n[b]^2)

where s is the noise of each run (`run_noise`) and n the number of runs; the difference is beyond noise if Student's t
says so (5 %).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.compared_metric import ComparedMetric
from tuimon.analysis.comparing import is_seed
from tuimon.analysis.matched_runs import combined, matched_runs
from tuimon.analysis.run_noise import run_noise, student

_CERTAIN = 0.975


class SeedMeans(Struct, frozen=True):
    """The best two groups of runs."""

    best: tuple[int, ...]
    """Positions of the runs of the best group."""
    next: tuple[int, ...]
    difference: float
    """Mean of the best group less that of the next one."""
    error: float
    """Standard error of the difference."""
    is_beyond_noise: bool
    groups: int
    """Number of groups."""
    step: int | None
    """Step up to which the levels are taken, if some runs go on; else None."""


def best_of_seeds(
    metric: ComparedMetric, settings: Sequence[tuple[str, Sequence[Any]]], projects: Sequence[str] = ()
) -> SeedMeans | None:
    """Return the best two groups; None if no runs differ only in their seed, or there are fewer than two groups.

    settings: (name, value in each run) that differ. projects: project of each run, see `project_of`; runs of different
    ones are in different groups. Without it, all are of one project.
    """
    if not any(is_seed(name) for name, _ in settings):
        return None
    step = metric.comparable_step
    levels = metric.levels_until(step)
    known = [index for index, level in enumerate(levels) if level is not None and level.is_known]
    measured = [level for level in levels if level is not None and level.is_known]
    if len(measured) < 2:
        return None
    cells = matched_runs([(name, [values[index] for index in known]) for name, values in settings]).cells
    if projects:
        numbers = {project: number for number, project in enumerate(dict.fromkeys(projects))}
        cells = combined(cells, np.array([numbers[projects[index]] for index in known], np.int64))
    sizes = np.bincount(cells)
    if not 1 < len(sizes) < len(cells):
        return None
    results, errors = np.array([level.value for level in measured]), np.array([level.error for level in measured])
    scale = float(np.abs(results).max()) or 1.0  # so that no square overflows
    noise = run_noise(results / scale, cells, errors / scale)
    means = np.bincount(cells, results / scale) / sizes
    variances = np.bincount(cells, np.square(noise.deviations)) / np.square(sizes)
    best, other = (int(group) for group in np.argsort(-means if metric.meaning.direction != "down" else means)[:2])
    error = math.sqrt(float(variances[best] + variances[other]))
    difference = float(means[best] - means[other])
    first, second = (tuple(known[row] for row in np.flatnonzero(cells == group)) for group in (best, other))
    is_beyond = abs(difference) > student(_CERTAIN, noise.freedom) * error
    goes_on = len({end for end in metric.ends if end is not None}) > 1
    limit = step if goes_on else None
    return SeedMeans(first, second, difference * scale, error * scale, is_beyond, len(sizes), limit)
