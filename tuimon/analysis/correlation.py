"""Pairs of the values of two metrics at equal steps, and their correlation."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats, Steps
from tuimon.store import Curve

_LEAST = 3
"""Number of pairs from which a correlation is computed: two pairs lie on a line always."""


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
    with np.errstate(under="ignore"):  # scaled, so that no square overflows
        return float(np.corrcoef(x / np.abs(x).max(), y / np.abs(y).max())[0, 1])


def spearman(x: Floats, y: Floats) -> float:
    """Return the correlation of the ranks, where equal values have their mean rank; NaN as for `pearson`."""
    return pearson(ranks_of(x), ranks_of(y)) if len(x) >= _LEAST else math.nan


def ranks_of(values: Floats) -> Floats:
    """Return the ranks from 1 on; equal values have their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def correlation_words(x: Floats, y: Floats) -> str:
    """Return the correlation of Pearson (r) and of Spearman (rho), "-" if undefined, and the number of pairs."""
    r, rho = (f"{value:.3f}" if value == value else "-" for value in (pearson(x, y), spearman(x, y)))
    return f"r {r}  rho {rho}  n {len(x)}"
