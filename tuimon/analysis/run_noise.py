"""run_noise(): the noise of the results of runs, from runs that differ at most in their seed.

It is their deviation, sqrt(sum of squares / (runs - groups)), the same for all runs, or the standard error of the level
of a run if that is more. Without such runs it is the standard error.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats, Steps

LEAST_FREEDOM = 2
"""Minimum degrees of freedom from which noise is estimated."""
_KNOWN = 10**6
"""Degrees of freedom of a noise that is not estimated from the runs."""


class Noise(Struct, frozen=True, eq=False):
    """Standard deviation of the result of each run; NaN if unknown."""

    deviations: Floats
    freedom: int
    """Degrees of freedom of the deviations."""
    source: str
    """Measure of the noise: "seeds", "levels" (their standard errors), or "" if it is unknown."""


def run_noise(results: Floats, cells: Steps, errors: Floats) -> Noise:
    """Return the noise of the runs. cells: equal numbers from 0 on for runs that differ at most in their seed. errors:
    standard error of each result, NaN if unknown."""
    freedom = len(cells) - int(cells.max()) - 1
    if freedom < LEAST_FREEDOM:
        return Noise(errors, _KNOWN, "levels" if np.isfinite(errors).all() else "")
    rest = results - (np.bincount(cells, results) / np.bincount(cells))[cells]
    return Noise(np.fmax(errors, math.sqrt(float(rest @ rest) / freedom)), freedom, "seeds")


def student(probability: float, freedom: int) -> float:
    """Return the quantile of Student's distribution, by the expansion in Abramowitz & Stegun 26.7.5."""
    from statistics import NormalDist  # takes 4 ms to import, which the first frame need not wait for

    z, n = NormalDist().inv_cdf(probability), max(freedom, 1)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )
