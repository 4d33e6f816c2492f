"""run_noise(): the noise of the results of runs, from runs that differ at most in their seed.

Such runs are a group. The noise of a run is

- the standard deviation of its group if that has at least 3 runs, as in Welch's t-test, so that neither a collapsed run
  of another group nor a group that is less stable changes it (the test that is recommended for seeds by Colas et al.,
  "A Hitchhiker's Guide to Statistical Comparisons of Reinforcement Learning Algorithms", 2019);
- else the deviation that is pooled over the healthy runs of all groups, sqrt(sum of squares / (runs - groups)), or over
  all runs if the healthy ones have fewer than 2 degrees of freedom. It is not used for a group of 2 of which one is not
  healthy: that has its own deviation, with 1 degree of freedom.

The pooled deviation is never less than the standard error of the level of the run, which can differ between groups. A
group's own deviation has this error in it, because the levels of its runs scatter by it, unless it is 0 (a seed without
effect): then the standard error of the level is the noise, as it is if no deviation has 2 degrees of freedom.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats, Steps

LEAST_FREEDOM = 2
"""Minimum degrees of freedom from which noise is estimated."""
_OWN = 3
"""Minimum number of runs of a group whose own deviation is its noise."""
_KNOWN = 10**6
"""Degrees of freedom of a noise that is not estimated from the runs."""
_POOLED = 0
"""Number of the pooled estimate."""
_TERMS = 300
"""Maximum number of terms of a continued fraction."""


class Noise(Struct, frozen=True, eq=False):
    """Standard deviation of the result of each run; NaN if unknown."""

    deviations: Floats
    estimates: Steps
    """Number of the estimate that the deviation of each run is from; _POOLED or one for each group."""
    freedom: Floats
    """Degrees of freedom of each estimate."""
    source: str
    """Measure of the noise: "seeds", "levels" (their standard errors), or "" if it is unknown."""

    def error(self, weights: Floats) -> tuple[float, float]:
        """Return the standard error of the sum of weights * results, and its degrees of freedom by Welch and
        Satterthwaite (Satterthwaite, "An Approximate Distribution of Estimates of Variance Components", 1946), at most
        those of the pooled estimate if that is a part of it, because it is not independent of the others."""
        variances = np.bincount(self.estimates, np.square(weights * self.deviations), len(self.freedom))
        total = float(variances.sum())
        parts = float((np.square(variances) / self.freedom).sum())
        freedom = total**2 / parts if parts > 0 else float(_KNOWN)
        return math.sqrt(total), min(freedom, float(self.freedom[_POOLED])) if variances[_POOLED] else freedom

    def is_pooled(self, rows: Steps) -> bool:
        """Return whether the deviation of one of these runs is the pooled one."""
        return self.source == "seeds" and bool((self.estimates[rows] == _POOLED).any())

    def of_runs(self, rows: Steps) -> Noise:
        """Return the noise of the runs at these positions."""
        return Noise(self.deviations[rows], self.estimates[rows], self.freedom, self.source)


def same_noise(deviations: Floats, freedom: float, source: str) -> Noise:
    """Return the noise with deviations that are all from one estimate."""
    return Noise(deviations, np.zeros(len(deviations), np.int64), np.array([freedom], np.float64), source)


def run_noise(results: Floats, cells: Steps, errors: Floats, healthy: np.ndarray | None = None) -> Noise:
    """Return the noise of the runs, see the module.

    cells: equal numbers from 0 on for runs that differ at most in their seed. errors: standard error of each result,
    NaN if unknown. healthy: whether each run is healthy; None if all are.
    """
    is_healthy = np.ones(len(cells), np.bool_) if healthy is None else healthy
    variance, freedom = _pooled(results[is_healthy], cells[is_healthy])
    if freedom < LEAST_FREEDOM:
        variance, freedom = _pooled(results, cells)
    if freedom < LEAST_FREEDOM:
        return same_noise(errors, _KNOWN, "levels" if np.isfinite(errors).all() else "")
    sizes, squares = _squares(results, cells)
    has_failed = np.bincount(cells, ~is_healthy) > 0
    is_own = (sizes >= _OWN) | ((sizes > 1) & has_failed)
    own_freedom = np.maximum(sizes - 1, 1)
    variances = np.where(is_own, squares / own_freedom, variance)
    estimates = np.where(is_own[cells], cells + 1, _POOLED)
    deviations = np.sqrt(variances[cells])
    scatters = is_own[cells] & (deviations > 0)
    deviations = np.where(scatters, deviations, np.fmax(errors, deviations))
    return Noise(deviations, estimates, np.append(float(freedom), own_freedom), "seeds")


def _pooled(results: Floats, cells: Steps) -> tuple[float, int]:
    """Return the variance that is pooled over the groups, NaN without any, and its degrees of freedom."""
    if not len(cells):
        return math.nan, 0
    sizes, squares = _squares(results, cells)
    freedom = int(np.maximum(sizes - 1, 0).sum())
    return (float(squares.sum()) / freedom if freedom else math.nan), freedom


def _squares(results: Floats, cells: Steps) -> tuple[Steps, Floats]:
    """Return the number of runs of each group, and the sum of the squares of their deviations from their mean."""
    sizes: Steps = np.bincount(cells).astype(np.int64)
    rest = results - (np.bincount(cells, results) / np.maximum(sizes, 1))[cells]
    squares: Floats = np.bincount(cells, np.square(rest)).astype(np.float64)
    return sizes, squares


def chance_of(ratio: float, freedom: float) -> float:
    """Return the probability that noise alone makes |difference / standard error| at least this ratio.

    It is the regularized incomplete beta function I(freedom / (freedom + ratio^2); freedom / 2, 1 / 2) of Student's
    distribution, by the continued fraction of Lentz's method (Press et al., "Numerical Recipes", 6.4).
    """
    if not math.isfinite(ratio) or freedom >= _KNOWN / 10:
        return math.erfc(abs(ratio) / math.sqrt(2)) if ratio == ratio else 1.0
    a, b, x = freedom / 2, 0.5, freedom / (freedom + ratio * ratio)
    if x >= 1 or x <= 0:
        return 1.0 if x >= 1 else 0.0
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(logarithm) * _fraction(a, b, x) / a
    return 1 - math.exp(logarithm) * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d or tiny)
    value = d
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return value
