"""Pairs of the values of two metrics at equal steps, and their correlation."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats, Steps
from tuimon.store import Curve

_LEAST = 3
"""Number of pairs from which a correlation is computed: two pairs lie on a line always."""
_NORMAL_95 = 1.96
"""Phi^-1(0.975)."""


class Pairs(Struct, frozen=True, eq=False):
    """Finite values of two metrics at the steps that both have. All arrays have the same length."""

    steps: Steps
    """Ascending, without duplicates."""
    x: Floats
    y: Floats


def pairs(x: Curve, y: Curve) -> Pairs:
    """Return the pairs of two curves. Of several values at a step the last one counts; without steps there are none."""
    if x.ordinal or y.ordinal:
        return Pairs(np.empty(0, np.int64), np.empty(0), np.empty(0))
    (x_steps, x_rows), (y_steps, y_rows) = _last_rows(x), _last_rows(y)
    steps, in_x, in_y = np.intersect1d(x_steps, y_steps, assume_unique=True, return_indices=True)
    xs, ys = x.values[x_rows[in_x]], y.values[y_rows[in_y]]
    finite = np.isfinite(xs) & np.isfinite(ys)
    return Pairs(steps[finite], xs[finite], ys[finite])


def _last_rows(curve: Curve) -> tuple[Steps, Steps]:
    """Return the different steps and the row of the last value at each."""
    last = np.flatnonzero(np.append(np.diff(curve.steps) != 0, True)) if len(curve) else np.empty(0, np.int64)
    return curve.steps[last], last


def pearson(x: Floats, y: Floats) -> float:
    """Return the linear correlation; NaN for fewer than three pairs, and if all values of x or of y are equal."""
    if len(x) < _LEAST or x.min() == x.max() or y.min() == y.max():
        return math.nan
    x, y = _centred(x), _centred(y)
    return min(max(float(x @ y) / math.sqrt(float(x @ x) * float(y @ y)), -1.0), 1.0)


def _centred(values: Floats) -> Floats:
    """Return the deviations from the mean in units of the largest magnitude, so that no square overflows."""
    values = values / np.abs(values).max()
    values = values - values.mean()
    scaled: Floats = values / np.abs(values).max()
    return scaled


def spearman(x: Floats, y: Floats) -> float:
    """Return the correlation of the ranks, where equal values have their mean rank; NaN as for `pearson`."""
    return pearson(ranks_of(x), ranks_of(y)) if len(x) >= _LEAST else math.nan


def spearman_bound(count: int) -> float:
    """Return the rank correlation that independent values of `count` pairs exceed in magnitude in 5 % of the cases.

    Fieller, Hartley & Pearson, "Tests for rank correlation coefficients" (1957).
    """
    return math.tanh(_NORMAL_95 * math.sqrt(1.06 / (count - 3))) if count > 3 else 1.0


class RankCorrelation(Struct, frozen=True):
    """Rank correlation of two numbers of runs."""

    rho: float
    count: int
    """Number of runs."""
    bound: float
    """Magnitude that independent values exceed in 5 % of the cases; 1 or more if there are too few runs."""
    is_within_blocks: bool
    """Whether runs are compared only with those of the same block."""

    @property
    def is_beyond_chance(self) -> bool:
        return abs(self.rho) > self.bound


def blocked_spearman(x: Floats, y: Floats, blocks: Steps) -> RankCorrelation | None:
    """Return the correlation of the ranks within blocks; None if no block has different values of x and of y.

        rho = sum over blocks of sum (r - mean r)(s - mean s) / sqrt(sum of squares of r - mean r * same of s)

    r and s are the ranks of x and y in the block. Without a relation the variance of the numerator is the sum over
    blocks of the product of both sums of squares / (n - 1), n being the number of values in the block. One block is
    Spearman's correlation.
    """
    blocks = np.unique(blocks, return_inverse=True)[1]
    counts = np.bincount(blocks)
    r, s = _ranks_within(x, blocks, counts), _ranks_within(y, blocks, counts)
    r_squares, s_squares = np.bincount(blocks, r * r), np.bincount(blocks, s * s)
    used = (r_squares > 0) & (s_squares > 0)
    if not used.any():
        return None
    scale = math.sqrt(float(r_squares[used].sum()) * float(s_squares[used].sum()))
    rho = float(np.bincount(blocks, r * s)[used].sum()) / scale
    count = int(counts[used].sum())
    if used.sum() == 1:
        bound = spearman_bound(count)
    else:
        bound = _NORMAL_95 * math.sqrt(float((r_squares * s_squares)[used] @ (1 / (counts[used] - 1)))) / scale
    return RankCorrelation(min(max(rho, -1.0), 1.0), count, bound, len(counts) > 1)


def _ranks_within(values: Floats, blocks: Steps, counts: Steps) -> Floats:
    """Return the ranks of the values in their block, less the mean rank of the block."""
    order = np.unique(values, return_inverse=True)[1]
    ranks = ranks_of((blocks * len(values) + order).astype(np.float64))
    centred: Floats = ranks - (np.bincount(blocks, ranks) / counts)[blocks]
    return centred


def ranks_of(values: Floats) -> Floats:
    """Return the ranks from 1 on; equal values have their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def correlation_words(x: Floats, y: Floats) -> str:
    """Return the correlation of Pearson (r) and of Spearman (rho), "-" if undefined, and the number of pairs."""
    r, rho = (f"{value:.3f}" if value == value else "-" for value in (pearson(x, y), spearman(x, y)))
    return f"r {r}  rho {rho}  n {len(x)}"
